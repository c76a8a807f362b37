/** The log as the store has it, applied once more by the core: what really happened in a history. */
import { apply } from "../../daemon/core/apply.ts";
import { check } from "../../daemon/core/check.ts";
import type { Command, Due, Entry } from "../../daemon/core/commands.ts";
import { emptyState } from "../../daemon/core/empty-state.ts";
import { ownIdOf } from "../../daemon/core/nodes/shared-ids.ts";
import type { Reply } from "../../daemon/core/outcome.ts";
import type { State } from "../../daemon/core/state.ts";
import { dueAt } from "../../daemon/core/timers.ts";
import { Replay } from "../../daemon/engine/replay.ts";
import { FileJournal } from "../../daemon/journal/file-journal.ts";
import { loadCopy } from "../../daemon/sharing/copy-file.ts";
import { readStoreAddress } from "../../daemon/store/address.ts";
import type { Machine, Store } from "./machines.ts";

/** A command of a client, with what the log answered. */
export interface Answered {
  readonly entry: Entry;
  readonly reply: Reply;
}

export interface SharedLog {
  readonly state: State;
  readonly entries: readonly Entry[];
  /** By node, sender and `requestId`: each time that the request is in the log. */
  readonly byRequest: ReadonlyMap<string, readonly Answered[]>;
  /** Sentences on what no log may have. */
  readonly wrong: readonly string[];
}

/** Returns what `byRequest` has a request under. */
export function requestKey(node: string, sender: string, requestId: string): string {
  return [node, sender, requestId].join("\n");
}

/** A daemon whose clock is ahead of the store's proposes no end of a timer early, or hardly any. */
const earlyMax = 3;

/** Reads and applies the whole log. */
export async function readSharedLog(store: Store): Promise<SharedLog> {
  const entries = await readEntries(store);
  const state = emptyState();
  const byRequest = new Map<string, Answered[]>();
  const wrong: string[] = [];
  let early = 0;
  for (const entry of entries) {
    const { origin, command } = entry;
    const { reply } = apply(state, entry);
    if (command.type === "elapse" && reply?.ok === false && isEarly(state, command.due)) early += 1;
    if (command.type === "void") wrong.push(`entry ${command.seq} threw in a daemon`);
    const retry = "retry" in command ? command.retry : undefined;
    if (retry === undefined || reply === null) continue;
    const key = requestKey(origin.node, retry.by, retry.requestId);
    byRequest.set(key, [...(byRequest.get(key) ?? []), { entry, reply }]);
  }
  if (early > earlyMax) wrong.push(`${early} ends of timers were proposed that were not due`);
  wrong.push(...check(state));
  return { state, entries, byRequest, wrong };
}

/** Whether an end that was refused was not due. One of a silent machine may have been overtaken by its renewal. */
function isEarly(state: State, due: Due): boolean {
  return due.what !== "node_silent" && !due.what.startsWith("lost_") && dueAt(state, due) !== null;
}

function readEntries(store: Store): Promise<Entry[]> {
  return store.query(async connection => {
    const rows = await connection.query(
      "SELECT seq, node, epoch, n, at, command FROM kite.entries ORDER BY seq",
    );
    return rows.map(([seq, node, epoch, n, at, text]) => ({
      seq: Number(seq),
      at: Number(at),
      origin: { node: String(node), epoch: Number(epoch), n: Number(n) },
      command: JSON.parse(String(text)) as Command,
    }));
  });
}

/** Returns the state behind entry `seq`. */
export function stateAt(entries: readonly Entry[], seq: number): State {
  const state = emptyState();
  for (const entry of entries) if (entry.seq <= seq) apply(state, entry);
  return state;
}

/** Returns the shared state as the machine's daemon knew it when it was stopped, or null if it kept none. */
export function copyOf({ home, address }: Machine): State | null {
  const found = readStoreAddress(address);
  return "ok" in found ? null : (loadCopy(home.paths.storeCopy, found.text)?.state ?? null);
}

/** Returns the sessions that the log has of a machine, by the names that its own log has. */
export function sessionsOf({ sessions }: State, { node }: Machine): string[] {
  return [...sessions.live.values()]
    .filter(session => session.node === node)
    .map(({ id }) => ownIdOf(id) ?? id)
    .sort();
}

/** Returns what the log calls a machine's session, or null if it does not have it. */
export function sharedIdAt({ sessions }: State, { node }: Machine, id: string): string | null {
  for (const session of sessions.live.values())
    if (session.node === node && ownIdOf(session.id) === id) return session.id;
  return null;
}

/** Reads a machine's own log. Its daemon must have ended. */
export async function readOwnState({ home }: Machine): Promise<State> {
  const journal = new FileJournal({ dir: home.paths.journal });
  const replay = new Replay(await journal.loadSnapshot());
  await journal.open(replay.after, () => {}, replay.add);
  await journal.close();
  if (replay.mustRepeat()) throw new Error("the machine's own log has void entries");
  return replay.recovered.state;
}
