/** Checks the store that machines share: whether it can be reached and used, its clock, the nodes, and what stays here. */
import { LocalError } from "../../client/errors.ts";
import { loadConfig } from "../../daemon/config/config.ts";
import { readStoreAddress } from "../../daemon/store/address.ts";
import { readNode, storeConnection } from "../../daemon/store/private-files.ts";
import type { StoreLook } from "../../daemon/store/store.ts";
import type { StoreShowReply } from "../../protocol/schemas/store.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { pollsText, storelessText, storeText } from "../view/store.ts";
import { clean, counted, duration } from "../view/text.ts";
import type { Check } from "./results.ts";
import { fail, ok, restart, warn } from "./results.ts";

const check = "store";

/** Returns no row where no store is set. */
export async function checkSharedStore(world: ProcessContext): Promise<Check[]> {
  const { env, paths } = world;
  const { store } = (await loadConfig({ env, paths })).values;
  if (store === "") return storeless(world);
  const address = readStoreAddress(store);
  if ("ok" in address) return [fail(check, address.error, "set it anew: kite store join URL")];
  const node = readNode(paths);
  const own = "ok" in node || node.is === "copied" ? [fail(check, node.error, "kite store rejoin")] : [];
  const connection = storeConnection(address, paths);
  if ("ok" in connection) return [...own, fail(check, connection.error)];
  const shown = await showOf(world);
  const { lookAtStore } = await import("../../daemon/store/store.ts");
  const reached = await lookAtStore(connection).then(lookChecks, error => errorCheck(error, shown));
  const details = new Set(reached.map(({ detail }) => detail));
  return [...own, ...reached, ...(shown === null ? [] : daemonChecks(world, shown, details))];
}

async function storeless(world: ProcessContext): Promise<Check[]> {
  const shown = await showOf(world);
  return shown === null || shown.store !== null || shown.projects.length === 0
    ? []
    : [warn(check, storelessText, "kite store")];
}

function lookChecks(look: StoreLook): Check[] {
  const { server, tables, aheadMs, roundTripMs, isDurable } = look;
  const lack = lackText(look);
  if (lack !== null) return [fail(check, lack)];
  const level = tables === null ? "no tables yet" : `tables of format ${tables.format}`;
  const rows = [ok(check, `PostgreSQL ${server} answers in ${roundTripMs} ms, ${level}`)];
  if (Math.abs(aheadMs) >= clockSkewMs)
    rows.push(warn(check, skewText(aheadMs), "set the clock of the machine that is wrong (timedatectl)"));
  if (!isDurable)
    rows.push(
      warn(
        check,
        "the server loses what it confirmed if its power fails: fsync is off",
        "set fsync = on there",
      ),
    );
  return rows;
}

const mend = "start its server, or see whether its address is right (kite config) and reached from here";

const pollsAdvice =
  "name the server itself in the address, if it can be reached: kite config set store URL && kite down && kite up";

/** `shown`: what the daemon says; null: none answers, and then nobody coordinates edits. */
function errorCheck(error: unknown, shown: StoreShowReply | null): Check[] {
  if (!(error instanceof Error) || !/^Store(?:Away|Unfit)$/.test(error.name)) throw error;
  const goesOn = shown !== null && shown.store !== null && shown.store.uncoordinated === undefined;
  const edits = goesOn ? "edits are still coordinated, and " : "";
  // The others say by themselves what to do.
  return error.name === "StoreAway"
    ? [fail(check, error.message, `${mend}; ${edits}tasks and messages come back with it`)]
    : [fail(check, error.message)];
}

/** `details`: what other rows say, which is not said twice. */
function daemonChecks(world: ProcessContext, shown: StoreShowReply, details: ReadonlySet<string>): Check[] {
  const { store, nodes, projects, local } = shown;
  if (store === null)
    return [warn(check, "the running daemon began before the store was set", restart("begin it anew"))];
  const text = storeText(store, world.now());
  const isSaid = store.is === "opening" && store.why !== null && details.has(store.why);
  // Who looks now may reach the server though the daemon finds no use of it.
  const level = store.is === "refused" || store.is === "opening" ? fail : warn;
  const state = text === null || isSaid ? [] : [level(check, text)];
  const names = nodes.map(({ machine, is, renewedAgoMs, version }) => {
    const silent = is === "here" ? "" : `, ${is} for ${duration(renewedAgoMs)}`;
    return clean(`${machine} (Kite ${version}${silent})`);
  });
  const versions = new Set(nodes.map(({ version }) => version));
  return [
    ...state,
    ...(names.length === 0 ? [] : [ok(check, `${counted(names.length, "machine")}: ${names.join(", ")}`)]),
    ...(versions.size > 1
      ? [warn(check, "the machines have different versions of Kite", "update the older ones")]
      : []),
    ...(store.polls === true ? [warn(check, pollsText, pollsAdvice)] : []),
    ok(check, `${counted(projects.length, "project")} shared`),
    ...local.map(({ project, name, why }) =>
      name === null
        ? warn(check, why ?? `${project} stays on this machine`)
        : ok(check, `${project} is not shared; to share it: kite store share`),
    ),
  ];
}

async function showOf({ connect, cwd }: ProcessContext): Promise<StoreShowReply | null> {
  try {
    const client = await connect({ name: "kite doctor", reconnect: false });
    try {
      const reply = await client.request("store_show", { cwd });
      return reply.ok ? reply : null;
    } finally {
      client.close();
    }
  } catch (error) {
    // The row of the daemon says why it cannot be asked.
    if (error instanceof LocalError) return null;
    throw error;
  }
}

// What a store lacks, for who joins it as for the checks.

/** The first version of PostgreSQL that Kite is made for. */
const serverMin = 13;

/** Returns why the store cannot be joined as it is, with what to do, or null. */
export function lackText({ server, tables, isHidden, lacks, user, schema }: StoreLook): string | null {
  if (Number.parseInt(server, 10) < serverMin)
    return `the store is PostgreSQL ${server}, and Kite needs ${serverMin} or later: let its administrator update it`;
  if (tables !== null && !tables.isKnown)
    return `the store has tables of format ${tables.format}, which this program does not know: update Kite`;
  if (lacks.length === 0) return null;
  const may = `the store's user ${clean(user)} may not: ${lacks.join(", ")}`;
  const role = clean(nameIn(user));
  if (tables === null && !isHidden)
    return `${may}; let its administrator make the schema for it: CREATE SCHEMA ${schema} AUTHORIZATION ${role}`;
  const grants = `GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`;
  return `${may}; let its administrator give it the rights: ${grants}`;
}

/** Returns a name as a statement writes it. */
function nameIn(user: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(user) ? user : `"${user.replaceAll('"', '""')}"`;
}

/** A store's clock that differs by more is worth a word. */
export const clockSkewMs = 5_000;

export function skewText(aheadMs: number): string {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  return `its clock is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} this machine's: times of tasks and messages are the store's`;
}
