/** The list of the state's tables: those of the base, and those that lead agents. */

import type { Limits } from "../../protocol/limits.ts";
import type { Anchor } from "./frame/actors.ts";
import { formList, head, numberHead, pairList, type Rows, valueList } from "./frame/saved-rows.ts";
import { type Debate, debateRecords, debateRows } from "./lead/tables/debates.ts";
import { mergeRows, mergeThereRows } from "./lead/tables/merges.ts";
import { checkRows, memberRows, roleRows, sentRoleRows, teammateRows } from "./lead/tables/roles.ts";
import { spawnRows } from "./lead/tables/spawns.ts";
import { addFreeze } from "./locks/freezes.ts";
import { lockRows } from "./locks/holds.ts";
import { addMessage, type NewMessage } from "./messages/inbox.ts";
import { sharingRows } from "./sharing.ts";
import { type BaseState, type BaseTables, emptyBaseState, replyRows } from "./tables/base-state.ts";
import { contextRows } from "./tables/context.ts";
import { declarationRows } from "./tables/declarations.ts";
import type { Points } from "./tables/entries.ts";
import { headRows } from "./tables/heads.ts";
import { type Freezes, type Message, type Messages, noteRows } from "./tables/messages.ts";
import { addSession, type Ended, type NameSource, type Session, type Sessions } from "./tables/sessions.ts";
import { taskRows } from "./tables/tasks.ts";
import { commitRows, riskRows, stashRows, writeRows } from "./tables/uncommitted.ts";

// What a snapshot has of messages and freezes.

const messageRows = {
  head: head(
    ({ count, sent }: Messages) => ({ messageCount: count, sent: [...sent] }),
    (messages, { messageCount, sent }) => {
      messages.count = messageCount;
      for (const [by, times] of sent) messages.sent.set(by, times);
    },
  ),
  lists: { messages: formList((messages: Messages) => messages.all, plainMessage, addMessage) },
};

const freezeRows = {
  head: numberHead("editHoldCount", "count"),
  lists: { editHolds: valueList((freezes: Freezes) => freezes.all, addFreeze) },
};

export function plainMessage(message: Message): NewMessage {
  return {
    id: message.id,
    order: message.order,
    project: message.project,
    from: message.from,
    text: message.text,
    bytes: message.bytes,
    replyTo: message.replyTo,
    thread: message.thread,
    urgent: message.urgent,
    broadcast: message.broadcast,
    at: message.at,
    letters: [...message.letters.values()],
  };
}

// What a snapshot has of sessions.

export type StoredSession = Omit<Session, "agents" | "endedAgents" | "namedBy"> & {
  /** Absent: the client, in snapshots from before sources of names. */
  readonly namedBy?: NameSource;
  readonly agents?: readonly (readonly [string, string])[];
  /** Absent: none, as under rules level 1. */
  readonly endedAgents?: readonly (readonly [string, string])[];
};

/** `anchors` is missing if the processes are not known. */
type StoredEnd = readonly [id: string, at: number, anchors?: readonly Anchor[]];

const sessionRows = {
  head: head(
    (sessions: Sessions) => ({ ended: [...sessions.ended].map(plainEnd) }),
    (sessions, { ended }) => {
      for (const [id, at, anchors = null] of ended) sessions.ended.set(id, { at, anchors });
    },
  ),
  lists: {
    sessions: formList((sessions: Sessions) => sessions.live, plainSession, readSession),
    keptNames: pairList(
      ({ keptNames }: Sessions) => keptNames,
      ({ keptNames }, [id, kept]) => keptNames.set(id, kept),
    ),
    idle: {
      write: (sessions: Sessions) => [...sessions.idle],
      read: (sessions: Sessions, id: string) => sessions.idle.add(id),
    },
  },
};

export function readSession(sessions: Sessions, session: StoredSession): void {
  const { namedBy = "client", agents, endedAgents } = session;
  addSession(sessions, {
    ...session,
    namedBy,
    agents: new Map(agents),
    endedAgents: new Map(endedAgents),
  });
}

function plainEnd([id, { at, anchors }]: readonly [string, Ended]): StoredEnd {
  return anchors === null ? [id, at] : [id, at, anchors];
}

export function plainSession({ endedAgents, ...session }: Session): StoredSession {
  const plain = { ...session, agents: [...session.agents] };
  return endedAgents.size === 0 ? plain : { ...plain, endedAgents: [...endedAgents] };
}

/** The debates as a store has them, whose rows are read one by one. */
export const storedDebates = debateRecords;
export type StoredDebate = Debate;

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
  context: contextRows,
  debates: debateRows,
  messages: messageRows,
  freezes: freezeRows,
  checks: checkRows,
  spawns: spawnRows,
  merges: mergeRows,
  mergesThere: mergeThereRows,
  stashes: stashRows,
  commits: commitRows,
  heads: headRows,
  // Only a copy of a shared project has parts, and a copy is kept as rows.
  parts: { lists: {} },
  sharings: sharingRows,
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
