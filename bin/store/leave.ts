/** `kite store leave` and `kite store rejoin`: the ways out of a store, and of another home's place in it. */
import type { StoreLeaveReply } from "../../protocol/schemas/store.ts";
import { type AskPerson, isYes, refuseAgent } from "../context/person.ts";
import { type Client, type ProcessContext, print, printJson, screenOf } from "../context/process-context.ts";
import { asPerson, exitCodes, fail, granted, reported, ask as request } from "../context/with-daemon.ts";
import { takeSetting } from "../settings/config.ts";
import { tilde } from "../view/places.ts";
import { minute } from "../view/store.ts";
import { clean, counted, listed } from "../view/text.ts";
import { busyText } from "./join.ts";
import { restartDaemon } from "./restart.ts";
import { copyTimeoutMs, counts, noteLines, type StoreFlags, say } from "./share.ts";

export interface LeaveFlags extends StoreFlags {
  readonly away?: boolean;
}

/** Returns the exit code. `ask` is null without a terminal. */
export async function leave(
  world: ProcessContext,
  flags: LeaveFlags,
  ask: AskPerson | null,
): Promise<number> {
  const json = flags.json === true;
  const refused = await refuseAgent(world, json, "store");
  if (refused !== null) return refused;
  let left: StoreLeaveReply | null = null;
  const code = await asPerson(
    world,
    json,
    async client => {
      left = await leaveStore(world, client, flags, ask);
      return left === null ? exitCodes.failed : exitCodes.done;
    },
    { name: "kite store" },
  );
  if (left === null || flags.dryRun === true) return left === null ? code : exitCodes.done;
  const reply: StoreLeaveReply = left;
  return reported(world, json, async () => {
    await takeSetting(world, "store");
    await restartDaemon(world);
    if (json) printJson(world, reply);
    else say(world, leftLines(reply));
    return exitCodes.done;
  });
}

/** Returns what was copied back; null: the person did not confirm it. */
async function leaveStore(
  world: ProcessContext,
  client: Client,
  { yes = false, json = false, dryRun = false, away = false }: LeaveFlags,
  ask: AskPerson | null,
): Promise<StoreLeaveReply | null> {
  const before = await request(client, "store_leave", { dryRun: true, away });
  if (dryRun && json) printJson(world, before);
  if (!json) say(world, plan(world, before, away));
  if (dryRun) return before;
  const busy = await busyText(world);
  if (busy !== null) {
    fail(world, json, "store_busy", busy);
    return null;
  }
  if (!yes) {
    if (ask === null || json) {
      fail(world, json, "usage", "leave asks at a terminal; to answer beforehand: --yes");
      return null;
    }
    if (!isYes(await ask("Leave the store? [y/N] "))) {
      print(world, ["Nothing changed."]);
      return null;
    }
  }
  return granted<StoreLeaveReply>(
    await client.request("store_leave", { away }, { timeoutMs: copyTimeoutMs }),
  );
}

function plan(world: ProcessContext, reply: StoreLeaveReply, away: boolean): string[] {
  const { projects, tasks, context, unread, storeAsOf, leftBefore = false } = reply;
  if (leftBefore)
    return [
      "This machine left the store already. What is left to do: its setting goes, and the daemon begins anew.",
    ];
  const { home, now } = screenOf(world);
  const named = projects.map(({ project, as }) => `${tilde(project, home)} (${as})`);
  return [
    projects.length === 0 ? "No project is shared." : `Shared projects: ${clean(listed(named, 0))}.`,
    storeAsOf === null
      ? "Nothing of the store is known on this machine, as the daemon did not reach it since it began and no copy is left: nothing is copied back."
      : `What is copied back: ${counts(tasks, context)}. The store keeps them for the others, and debates, done tasks and read messages.`,
    ...(unread === 0
      ? []
      : [
          `${counted(unread, "message")} that your agents have not read ${unread === 1 ? "comes" : "come"} along.`,
        ]),
    ...othersLines(reply, "come back as ready"),
    ...(away
      ? [`The store is not asked${knownText(storeAsOf, now)}. The others see this machine as lost.`]
      : []),
  ];
}

/** What would be done twice. */
function othersLines({ others }: StoreLeaveReply, become: string): string[] {
  if (others === undefined) return [];
  const named = others.tasks.slice(0, othersShownMax).map(({ number, agent }) => `#${number} (${agent})`);
  const what = clean(listed(named, others.count - named.length));
  return [
    `Agents of other machines go on with these in the store, and here they ${become}: ${what}. So that nobody does them twice, cancel them here: kite task cancel NUMBER`,
  ];
}

const othersShownMax = 10;

function knownText(asOf: number | null | undefined, now: number): string {
  if (asOf === null) return "";
  return `: this is what the daemon knew of it${asOf === undefined ? "" : ` as of ${minute(asOf, now)}`}`;
}

function leftLines(reply: StoreLeaveReply): string[] {
  const { tasks, context, told, leftBefore = false } = reply;
  const back = leftBefore ? "" : `: ${counts(tasks, context)} are back`;
  return [
    `This machine left the store${back}. The daemon began anew.`,
    ...(told
      ? []
      : ["The store does not know it: after five minutes without a sign of life the others see it as lost."]),
    ...noteLines(reply),
    ...othersLines(reply, "are ready, too"),
    "The password stays in store.secret of Kite's directory, if it is there: remove it if you need it no more.",
  ];
}

/** Returns the exit code. */
export async function rejoin(
  world: ProcessContext,
  { yes = false, json = false }: StoreFlags,
  ask: AskPerson | null,
): Promise<number> {
  const refused = await refuseAgent(world, json, "store");
  if (refused !== null) return refused;
  if (!yes) {
    if (ask === null || json)
      return fail(world, json, "usage", "rejoin asks at a terminal; to answer beforehand: --yes");
    const question = "Give this directory of Kite a new id? The store sees it as a new machine then. [y/N] ";
    if (!isYes(await ask(question))) {
      print(world, ["Nothing changed."]);
      return exitCodes.failed;
    }
  }
  const code = await asPerson(
    world,
    json,
    async client => {
      const { node } = await request(client, "store_rejoin", {});
      if (json) printJson(world, { ok: true, node });
      return exitCodes.done;
    },
    { name: "kite store" },
  );
  if (code !== exitCodes.done) return code;
  return reported(world, json, async () => {
    await restartDaemon(world);
    if (!json) say(world, ["This home has an id of its own in the store now. The daemon began anew."]);
    return exitCodes.done;
  });
}
