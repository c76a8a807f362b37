/** Files that sessions of the nodes changed: what the shared log has of them, and which of them are the same on two nodes. */
import { sameFilesOf } from "../../../daemon/core/branches/same-files.ts";
import { type BranchFile, type BranchRow, uncommitted } from "../../../daemon/core/branches/table.ts";
import { nodeOf } from "../../../daemon/core/nodes/shared-ids.ts";
import { sharedIdOf } from "../../../daemon/core/outbox/publish.ts";
import type { State } from "../../../daemon/core/state.ts";
import type { Command, CoreEvent } from "../../../daemon/core/tables/entries.ts";
import type { Session } from "../../../daemon/core/tables/sessions.ts";
import type { Random } from "../random.ts";
import type { Node } from "./node.ts";

const paths = ["a.ts", "src/b.ts", "src/c.ts"] as const;
const contents = ["1".repeat(40), "2".repeat(40), null, uncommitted] as const;

/** A look at the session's branch finds these files; none: it was merged, or its work was taken back. */
export function changeFiles(random: Random, node: Node, { id: session }: Session): void {
  const isMerged = random.chance(0.2);
  const files = paths.flatMap((path): BranchFile[] =>
    isMerged || random.chance(0.3) ? [] : [[path, random.pick(contents)]],
  );
  node.do({ type: "branch_files", session, files });
}

/** Everything that the node's sessions changed is merged, or they end. */
export function mergeOrEnd(random: Random, node: Node): void {
  for (const session of [...node.log.state.sessions.live.keys()])
    if (random.chance(0.5)) node.do({ type: "branch_files", session, files: [] });
    else node.do({ type: "session_end", session, incarnation: null, cause: "ended" });
}

/** Yields how the files of a session differ in the shared log from what its own node's log has: its first terminal's id has them. */
export function* untoldFiles(own: State, session: Session, shared: State, id: string): Generator<string> {
  const [first] = session.incarnations;
  const isFirst = first !== undefined && sharedIdOf(own.outbox, session.id, first.begun) === id;
  const [here, there] = [
    isFirst ? own.branches.bySession.get(session.id) : undefined,
    shared.branches.bySession.get(id),
  ].map(filesText);
  if (here !== there) yield `${id} changed ${here}, and in the shared log ${there}`;
}

function filesText(row: BranchRow | undefined): string {
  return row === undefined ? "no file" : row.files.map(file => file.join(" ")).join(", ");
}

/** A file of two sessions, whichever is named first. */
interface Pair {
  readonly file: string;
  readonly sessions: readonly string[];
}

function keyOf({ file, sessions }: Pair): string {
  return [file, ...[...sessions].sort()].join(" ");
}

/** What events told of files that are the same on two nodes. */
export class SameFilesTold {
  /** Those that began and are not over. */
  #open = new Map<string, Pair>();
  /** How many began, and how many were over, so far. */
  readonly counts = { same_file_began: 0, same_file_ended: 0 };

  /** Hears of an entry of the shared log. Throws if an event says what was so already. */
  hear(events: readonly CoreEvent[], command: Command): void {
    for (const { event } of events) {
      if (event.event !== "same_file_began" && event.event !== "same_file_ended") continue;
      this.counts[event.event] += 1;
      for (const file of event.files)
        this.#take(event.event, { file, sessions: event.sides.map(({ id }) => id) });
    }
    if (command.type === "relayed" && command.command.type === "session_continue")
      this.#moved(command.command);
  }

  #take(name: "same_file_began" | "same_file_ended", pair: Pair): void {
    const key = keyOf(pair);
    if (this.#open.has(key) === (name === "same_file_began"))
      throw new Error(`${name} of ${key} comes twice`);
    if (name === "same_file_began") this.#open.set(key, pair);
    else this.#open.delete(key);
  }

  /** A session goes on under another id with what it has. */
  #moved({ from, also = [], session }: { from: string; also?: readonly string[]; session: string }): void {
    const ids = [from, ...also];
    const moved = [...this.#open.values()].map(({ file, sessions }) => ({
      file,
      sessions: sessions.map(id => (ids.includes(id) ? session : id)),
    }));
    this.#open = new Map(moved.map(pair => [keyOf(pair), pair]));
  }

  /** Yields what two nodes do not see alike, what events did not tell, and notices of what is over. */
  *wrong(state: State): Generator<string> {
    const rows = [...state.branches.bySession.values()];
    const is = new Set(rows.flatMap((one, i) => rows.slice(i + 1).flatMap(two => sameFiles(one, two))));
    for (const mine of rows)
      for (const { path: file, other } of sameFilesOf(state, mine)) {
        const key = keyOf({ file, sessions: [mine.session, other.session] });
        if (!is.has(key)) yield `${mine.session} sees the same file ${key}, which is none`;
      }
    for (const row of rows) yield* unseen(state, row, is);
    for (const key of is) if (!this.#open.has(key)) yield `no event told that ${key} began`;
    for (const key of this.#open.keys()) if (!is.has(key)) yield `no event told that ${key} is over`;
    yield* overNotes(state, is);
  }

  /** Yields what is left after all were merged or have ended. */
  *left({ notes, branches }: State): Generator<string> {
    for (const { session } of branches.bySession.values()) yield `${session} still has files`;
    for (const key of this.#open.keys()) yield `${key} is left`;
    for (const { session, notes: waiting } of notes.pending.values())
      for (const { note } of waiting)
        if (note.what === "same_file") yield `${session} is told that ${note.other} changed ${note.file}`;
  }
}

/** Yields same files that the session does not see, and the other one does. */
function* unseen(state: State, row: BranchRow, is: ReadonlySet<string>): Generator<string> {
  const seen = new Set(
    [...sameFilesOf(state, row)].map(({ path: file, other }) =>
      keyOf({ file, sessions: [row.session, other.session] }),
    ),
  );
  for (const key of is)
    if (key.split(" ").slice(1).includes(row.session) && !seen.has(key))
      yield `${row.session} does not see ${key}`;
}

/** Returns the files that both changed, worked out anew: of two nodes and one project, and not to one content. */
function sameFiles(one: BranchRow, two: BranchRow): string[] {
  if (one.project !== two.project || nodeOf(one.session) === nodeOf(two.session)) return [];
  return one.files.flatMap(([file, blob]) => {
    const other = two.files.find(([path]) => path === file);
    const isOne = other === undefined || (other[1] === blob && blob !== uncommitted);
    return isOne ? [] : [keyOf({ file, sessions: [one.session, two.session] })];
  });
}

/** Yields each notice of a same file that is over: it waits in the shared log, and nobody has read it. */
function* overNotes({ notes }: State, is: ReadonlySet<string>): Generator<string> {
  for (const { session, notes: waiting } of notes.pending.values())
    for (const { note } of waiting) {
      if (note.what !== "same_file") continue;
      const { file, other } = note;
      if (!is.has(keyOf({ file, sessions: [session, note.session] })))
        yield `${session} is told that ${other} changed ${file}`;
    }
}
