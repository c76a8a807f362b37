/** `kite store join URL`: checks a store, writes the setting, begins the daemon anew, and goes on with the project. */
import { loadConfig } from "../../daemon/config/config.ts";
import { readStoreAddress } from "../../daemon/store/address.ts";
import type { AskSecret } from "../context/person.ts";
import { type AskPerson, isYes, refuseAgent } from "../context/person.ts";
import { type ProcessContext, print, printJson } from "../context/process-context.ts";
import { atWork, exitCodes, fail, reported } from "../context/with-daemon.ts";
import { writeSetting } from "../settings/config.ts";
import { clean, listed } from "../view/text.ts";
import { keepPassword, lackText, lookLines, reachStore } from "./look.ts";
import { restartDaemon } from "./restart.ts";
import { type StoreFlags, say, share } from "./share.ts";

interface Questions {
  readonly ask: AskPerson | null;
  readonly secret: AskSecret | null;
}

/** Returns the exit code. The questions are null without a terminal. */
export async function join(
  world: ProcessContext,
  url: string,
  flags: StoreFlags,
  questions: Questions,
): Promise<number> {
  const json = flags.json === true;
  // The line is not repeated: it may have a password.
  const refused = await refuseAgent(world, json, "store", { line: "kite store join URL" });
  if (refused !== null) return refused;
  return reported(world, json, () => joinStore(world, url, flags, questions));
}

async function joinStore(
  world: ProcessContext,
  url: string,
  flags: StoreFlags,
  { ask, secret }: Questions,
): Promise<number> {
  const { yes = false, json = false } = flags;
  const address = readStoreAddress(url);
  if ("ok" in address) return fail(world, json, address.code, address.error);
  const { env, paths } = world;
  const before = (await loadConfig({ env, paths })).values.store;
  if (before !== "" && before !== address.text)
    return fail(world, json, "other_store", "another store is set; leave that first: kite store leave");
  const busy = await busyText(world);
  if (busy !== null) return fail(world, json, "store_busy", busy);
  const { look, typed } = await reachStore(world, address, json ? null : secret);
  const lack = lackText(look);
  if (lack !== null) return fail(world, json, "store_away", lack);
  if (!json) say(world, [`${address.text}: ${lookLines(look).join("; ")}.`]);
  if (!yes) {
    if (ask === null || json)
      return fail(world, json, "usage", "join asks at a terminal; to answer beforehand: --yes");
    if (!isYes(await ask("Point this machine's daemon at it? Projects are shared one by one. [y/N] "))) {
      print(world, ["Nothing changed."]);
      return exitCodes.failed;
    }
  }
  if (typed !== null) keepPassword(world, typed);
  await writeSetting(world, "store", address.text);
  await restartDaemon(world);
  if (json) {
    printJson(world, { ok: true, store: address.text, look });
    return exitCodes.done;
  }
  say(world, ["The daemon began anew with the store. It shares the projects that you name, and no others:"]);
  return share(world, flags, ask);
}

/** Returns why nothing may be moved now, or null. */
export async function busyText(world: ProcessContext): Promise<string | null> {
  const names = await atWork(world);
  if (names.length === 0) return null;
  const who = clean(listed(names.slice(0, 8), Math.max(0, names.length - 8)));
  return `at work: ${who}; wait until they have answered, and run this again`;
}
