/** The list of the state's slices: those of the base, and those that lead agents. */
import type { Limits } from "../../protocol/limits.ts";
import { type BaseState, type BaseTables, emptyBaseState } from "./base-state.ts";
import { contextRows } from "./context-index.ts";
import { declarationRows } from "./declarations/table.ts";
import { riskRows, writeRows } from "./files/table.ts";
import { checkRows } from "./lead/checks/table.ts";
import { debateRows } from "./lead/debates/table.ts";
import { mergeRows } from "./lead/merges/table.ts";
import { roleRows } from "./lead/roles/table.ts";
import { spawnRows } from "./lead/spawns/table.ts";
import { memberRows, teammateRows } from "./lead/teams/table.ts";
import { lockRows } from "./locks/snapshot.ts";
import { noteRows } from "./messages/notice-table.ts";
import { freezeRows, messageRows } from "./messages/snapshot.ts";
import type { Points } from "./points.ts";
import { replyRows } from "./retries.ts";
import { sessionRows } from "./sessions/snapshot.ts";
import type { Rows } from "./slice.ts";
import { stashRows } from "./stashes/table.ts";
import { taskRows } from "./tasks/snapshot.ts";

/** In the order in which a snapshot has their lists. */
const slices = {
  sessions: sessionRows,
  teammates: teammateRows,
  roles: roleRows,
  members: memberRows,
  locks: lockRows,
  tasks: taskRows,
  writes: writeRows,
  risks: riskRows,
  notes: noteRows,
  declarations: declarationRows,
  context: contextRows,
  debates: debateRows,
  messages: messageRows,
  freezes: freezeRows,
  checks: checkRows,
  spawns: spawnRows,
  merges: mergeRows,
  stashes: stashRows,
  replies: replyRows,
};

/** The slices whose fields come first in the header of a snapshot, in this order. */
const firstHeads: readonly Slice[] = [
  "sessions",
  "locks",
  "tasks",
  "context",
  "debates",
  "spawns",
  "merges",
  "messages",
  "freezes",
];

type Slices = typeof slices;
type OwnTables = {
  readonly [N in keyof Slices as Slices[N] extends { readonly empty: unknown } ? N : never]: TableOf<
    Slices[N]
  >;
};
type TableOf<Rows> = Rows extends { empty(limits: Limits): infer Table } ? Table : never;

/** The whole state. */
export interface State extends BaseState, OwnTables {}

/** A slice of the state, by the name of its table. */
export type Slice = keyof BaseTables | keyof OwnTables;

/** What a snapshot has of each table; a missing one does not compile. */
export const rowsOf: { readonly [N in Slice]: Rows<State[N], State> } = slices;

/** The tables in the order of their fields in the header of a snapshot. */
export const headOrder: ReadonlySet<Slice> = new Set([...firstHeads, ...(Object.keys(slices) as Slice[])]);

/** Returns the state before the first entry. */
export function newState(points: readonly Points<State>[], rules: number, bounds: Limits): State {
  return { ...emptyBaseState(points, rules, bounds), ...emptyTables(bounds) };
}

/** Returns the tables that the base does not know. */
function emptyTables(bounds: Limits): OwnTables {
  const tables = Object.entries(slices).flatMap(([name, slice]) =>
    "empty" in slice ? [[name, slice.empty(bounds)] as const] : [],
  );
  return Object.fromEntries(tables) as unknown as OwnTables;
}
