/** What the page and its server say to each other. Everything is JSON on loopback, behind a token. */

import type { DebateRow } from "../../protocol/lead/debate.ts";
import type { JsonValue } from "../../protocol/schemas/context.ts";
import type { WipeRow } from "../../protocol/schemas/rescue.ts";
import type { Rows as QueryRows } from "../row-list.ts";

type Target =
  | "sessions"
  | "locks"
  | "refusals"
  | "tasks"
  | "holds"
  | "messages"
  | "context"
  | "writes"
  | "risks"
  | "declarations"
  | "spawns"
  | "merges"
  | "checks"
  | "teams"
  | "elsewhere"
  | "merges_elsewhere";

/** What a view may show; a topic is a target of `query`, or stands in for one. */
export interface Rows extends Pick<QueryRows, Target> {
  readonly debates: DebateRow;
  /** What was wiped in the last hour and is still lost. */
  readonly wiped: WipeRow;
  readonly notices: NoticeRow;
  /** What sessions are about, as their clients say: for a person alone. */
  readonly titles: TitleRow;
}

/**
 * What stands above every view: why what the page shows is not what Kite holds agents to, and how the store is that
 * machines share. Reasons: Kite is off somewhere, it only observes, its settings do not count.
 */
interface NoticeRow {
  readonly text: string;
  /** It is about the store that machines share, as the daemon sees it: without the daemon it does not hold. */
  readonly isOfStore?: true;
  /** It is no trouble. */
  readonly isFine?: true;
}

interface TitleRow {
  readonly id: string;
  readonly title: string;
}

export type Topic = keyof Rows;

/** The key of each topic's row, by which the page replaces one. */
export const keyOf: { readonly [T in Topic]: (row: Rows[T]) => string } = {
  sessions: row => row.id,
  locks: row => `${row.project}\n${row.path}`,
  refusals: row => `${row.at} ${row.id} ${row.type} ${row.file}`,
  tasks: row => row.id,
  holds: row => row.hold,
  // Each log numbers its own.
  messages: row => `${row.id} ${row.at}`,
  context: row => `${row.project}\n${row.key}`,
  writes: row => row.path,
  risks: row => `${row.file}\n${row.sides.map(side => side.worktree).join("\n")}`,
  declarations: row => `${row.id}/${row.agent ?? ""}`,
  spawns: row => row.id,
  merges: row => row.id,
  checks: row => `${row.project}\n${row.worktree}\n${row.name}`,
  teams: row => `${row.project}\n${row.team}`,
  elsewhere: row => row.id,
  merges_elsewhere: row => `${row.machine}\n${row.project}\n${row.id}`,
  debates: row => row.id,
  wiped: row => row.wipe,
  notices: row => row.text,
  titles: row => row.id,
};

export const topics = Object.keys(keyOf) as readonly Topic[];

/** Whether a text of an address is a topic. */
export function isTopic(text: string): text is Topic {
  return Object.hasOwn(keyOf, text);
}

/** Who looks: a person sees all projects and may act, anybody else sees one project. */
export interface Viewer {
  readonly isPerson: boolean;
  /** The one project that is shown; null: all. */
  readonly project: string | null;
  /** The project of the directory in which `kite web` began; null: none. */
  readonly here: string | null;
  /** What paths begin with that the page writes as `~`. */
  readonly home: string;
  /** What the person is called. */
  readonly user: string;
}

/** A line of the stream. Times are wall time of this machine, in milliseconds. */
export type StreamLine =
  | { readonly kind: "hello"; readonly viewer: Viewer; readonly version: string }
  /** Rows that are new or have changed, and keys of rows that are gone. `isWhole`: all others are gone, too. */
  | {
      readonly kind: "rows";
      readonly topic: Topic;
      readonly at: number;
      readonly set: readonly unknown[];
      readonly gone: readonly string[];
      readonly isWhole: boolean;
    }
  /** The daemon does not answer; what the page has is as of before. */
  | { readonly kind: "away"; readonly why: string }
  | { readonly kind: "back"; readonly version: string };

/** What a person asks for; the server runs the command of the same name. Texts are bounded by that command. */
export type Deed =
  /** `file`: an absolute path, or a resource. */
  | { readonly deed: "unlock"; readonly file: string; readonly project: string }
  | { readonly deed: "thaw"; readonly hold: string; readonly project: string }
  | { readonly deed: "answer"; readonly message: string; readonly text: string; readonly project: string }
  /** `to`: null is everyone in the project. */
  | { readonly deed: "send"; readonly to: string | null; readonly text: string; readonly project: string }
  /** `needs`: numbers or ids, `labels`: behind commas. */
  | {
      readonly deed: "task_add";
      readonly description: string;
      readonly needs: string;
      readonly labels: string;
      readonly risk: string;
      readonly project: string;
    }
  | {
      readonly deed: "task_release" | "task_approve" | "task_cancel";
      readonly task: string;
      readonly project: string;
    };

/** What came of a deed: what its command said. */
export interface DeedReply {
  readonly ok: boolean;
  readonly text: string;
}

/** A shared value, or why it cannot be read. */
export type SharedValue =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly error: string };

/** The bounds of the page and its server. Durations end in `Ms`, sizes in `Bytes`, counts in `Max`. */
export const bounds = {
  /** How long a code works, and how many unused ones do at a time. */
  codeMs: 60_000,
  codesMax: 8,
  /** How long a client may take to send the head of a request, and the whole of it. */
  headMs: 10_000,
  requestMs: 30_000,
  /** Open streams, connections, and what a request may carry. */
  streamsMax: 32,
  connectionsMax: 200,
  /** Connections that have not shown the token. Of more, the oldest is closed. */
  strangersMax: 100,
  bodyBytes: 64 * 1024,
  /** A page that reads slower than it is told is told again when it has read. */
  unreadBytes: 4 * 1024 * 1024,
  /** Least time between two looks at the daemon. */
  lookMs: 250,
  /** Pause before the next try to reach a daemon that is away, and the interval of blank lines on a stream. */
  retryMs: 1_000,
  blankMs: 15_000,
  /** Tasks, and projects whose debates are looked at. */
  tasksMax: 5_000,
  projectsMax: 20,
  /** Shortest and longest range of the timeline. */
  rangeMsMin: 1_000,
  rangeMs: 7 * 24 * 3_600_000,
  /** Holds, waits and other things of a timeline, its lanes, and ranges whose lines are kept between two questions. */
  timelineItemsMax: 20_000,
  lanesMax: 200,
  rangesKeptMax: 4,
  /** What a snapshot has of the timeline, and how many shared values it has if it has any. */
  snapshotMs: 3_600_000,
  snapshotValuesMax: 500,
} as const;
