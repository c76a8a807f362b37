/** The list of the state's tables: those of the base, and those that lead agents. */
import type { Limits } from "../../protocol/limits.ts";
import { type BaseState, type BaseTables, emptyBaseState } from "./base-state.ts";
import { branchRows } from "./branches/table.ts";
import { contextRows } from "./context-index.ts";
import { declarationRows } from "./declarations/table.ts";
import { riskRows, writeRows } from "./files/table.ts";
import { checkRows } from "./lead/checks/table.ts";
import { debateRows } from "./lead/debates/table.ts";
import { mergeRows, mergeThereRows } from "./lead/merges/table.ts";
import { roleRows, sentRoleRows } from "./lead/roles/table.ts";
import { spawnRows } from "./lead/spawns/table.ts";
import { memberRows, teammateRows } from "./lead/teams/table.ts";
import { lockRows } from "./locks/snapshot.ts";
import { noteRows } from "./messages/notice-table.ts";
import { freezeRows, messageRows } from "./messages/snapshot.ts";
import { leaseRows } from "./nodes/table.ts";
import { outboxRows } from "./outbox/table.ts";
import type { Points } from "./points.ts";
import { replyRows } from "./retries.ts";
import type { Rows } from "./rows.ts";
import { sessionRows } from "./sessions/snapshot.ts";
import { stashRows } from "./stashes/table.ts";
import { taskRows } from "./tasks/snapshot.ts";

/** In the order in which a snapshot has their lists. */
const tables = {
  sessions: sessionRows,
  teammates: teammateRows,
  roles: roleRows,
  rolesSent: sentRoleRows,
  members: memberRows,
  locks: lockRows,
  tasks: taskRows,
  writes: writeRows,
  risks: riskRows,
  notes: noteRows,
  declarations: declarationRows,
  branches: branchRows,
  context: contextRows,
  debates: debateRows,
  messages: messageRows,
  freezes: freezeRows,
  checks: checkRows,
  spawns: spawnRows,
  merges: mergeRows,
  mergesThere: mergeThereRows,
  stashes: stashRows,
  leases: leaseRows,
  outbox: outboxRows,
  replies: replyRows,
};

/** The tables whose fields come first in the header of a snapshot, in this order. */
const firstHeads: readonly TableName[] = [
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

type Listed = typeof tables;
type OwnTables = {
  readonly [N in keyof Listed as Listed[N] extends { readonly empty: unknown } ? N : never]: TableOf<
    Listed[N]
  >;
};
type TableOf<Rows> = Rows extends { empty(limits: Limits): infer Table } ? Table : never;

/** The whole state. */
export interface State extends BaseState, OwnTables {}

/** The name of a table of the state. */
export type TableName = keyof BaseTables | keyof OwnTables;

/** What a snapshot has of each table; a missing one does not compile. */
export const rowsOf: { readonly [N in TableName]: Rows<State[N], State> } = tables;

/** The tables in the order of their fields in the header of a snapshot. */
export const headOrder: ReadonlySet<TableName> = new Set([
  ...firstHeads,
  ...(Object.keys(tables) as TableName[]),
]);

/** Returns the state before the first entry. */
export function newState(points: readonly Points<State>[], rules: number, bounds: Limits): State {
  return { ...emptyBaseState(points, rules, bounds), ...emptyTables(bounds) };
}

/** Returns the tables that the base does not know. */
function emptyTables(bounds: Limits): OwnTables {
  const made = Object.entries(tables).flatMap(([name, rows]) =>
    "empty" in rows ? [[name, rows.empty(bounds)] as const] : [],
  );
  return Object.fromEntries(made) as unknown as OwnTables;
}
