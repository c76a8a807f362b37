/** The log as the store has it, applied once more by the core: what really happened in a history. */
import { apply, dueAt } from "../../daemon/core/apply.ts";
import { ownIdOf } from "../../daemon/core/nodes/shared-ids.ts";
import { check } from "../../daemon/core/slices.ts";
import { emptyState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Due, Entry, Reply } from "../../daemon/core/tables/entries.ts";
import { Replay } from "../../daemon/engine/replay.ts";
import { FileJournal } from "../../daemon/journal/file-journal.ts";
import { loadCopy } from "../../daemon/sharing/copy-file.ts";
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

/** What was read of a store's log, and applied. */
interface Applied {
  readonly entries: Entry[];
  readonly state: State;
  readonly byRequest: Map<string, readonly Answered[]>;
  readonly wrong: string[];
  early: number;
}

function nothingApplied(): Applied {
  return { entries: [], state: emptyState(), byRequest: new Map(), wrong: [], early: 0 };
}

const applied = new WeakMap<Store, Promise<Applied>>();
/** The proxies of all machines are in this process: whoever applies more at once makes their statements late. */
const entriesAtOnce = 100;

/** Reads the whole log, and applies what was not applied before. The state goes on with the next call. */
export async function readSharedLog(store: Store): Promise<SharedLog> {
  const before = applied.get(store) ?? Promise.resolve(nothingApplied());
  const next = before.catch(nothingApplied).then(log => goOn(store, log));
  applied.set(store, next);
  const { entries, state, byRequest, wrong, early } = await next;
  const late = early > earlyMax ? [`${early} ends of timers were proposed that were not due`] : [];
  return { state, entries: [...entries], byRequest, wrong: [...wrong, ...late, ...check(state)] };
}

async function goOn(store: Store, known: Applied): Promise<Applied> {
  const last = known.entries.at(-1);
  const found = await readEntries(store, last?.seq ?? 0);
  const [first, ...others] = found;
  const isSame = last === undefined || JSON.stringify(first) === JSON.stringify(last);
  // A standby took over that lacked entries.
  if (!isSame) return goOn(store, nothingApplied());
  for (const [i, entry] of (last === undefined ? found : others).entries()) {
    if (i % entriesAtOnce === entriesAtOnce - 1) await new Promise(resolve => setImmediate(resolve));
    add(known, entry);
  }
  return known;
}

function add(log: Applied, entry: Entry): void {
  const { entries, state, byRequest, wrong } = log;
  const { origin, command } = entry;
  entries.push(entry);
  const { reply } = apply(state, entry);
  if (command.type === "elapse" && reply?.ok === false && isEarly(state, command.due)) log.early += 1;
  if (command.type === "void") wrong.push(`entry ${command.seq} threw in a daemon`);
  const retry = "retry" in command ? command.retry : undefined;
  if (retry === undefined || reply === null) return;
  const key = requestKey(origin.node, retry.by, retry.requestId);
  byRequest.set(key, [...(byRequest.get(key) ?? []), { entry, reply }]);
}

/** Whether an end that was refused was not due. One of a silent machine may have been overtaken by its renewal. */
function isEarly(state: State, due: Due): boolean {
  return due.what !== "node_silent" && !due.what.startsWith("lost_") && dueAt(state, due) !== null;
}

/** Returns the entries from this place on. */
function readEntries(store: Store, from: number): Promise<Entry[]> {
  return store.query(async connection => {
    const rows = await connection.query(
      "SELECT seq, node, epoch, n, at, command FROM kite.entries WHERE seq >= $1 ORDER BY seq",
      [from],
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
export function copyOf({ home }: Machine): State | null {
  return loadCopy(home.paths.storeCopy)?.state ?? null;
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
