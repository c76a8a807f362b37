/**
 * The debates and their indexes: the only file that adds, removes or changes them.
 *
 * Invariants: a debate is a value, which a change replaces. Every debate is in every index it belongs to. There are at most
 * `limits.debatesMax`, and `limits.debatesPerProjectMax` of a project: the oldest closed ones make room.
 */

import type { DebateEntryKind } from "../../../../protocol/lead/debate.ts";
import type { Limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import type { Actor, Retry } from "../../frame/actors.ts";
import { assert } from "../../frame/collections.ts";
import { idAt, idIndexes, placeOf, Records, sets, sorted, sortedBy } from "../../frame/records.ts";
import { numberHead, valueList } from "../../frame/saved-rows.ts";

export interface Debate {
  readonly id: string;
  /** Its number; an older debate has a smaller one. */
  readonly n: number;
  readonly project: string;
  readonly question: string;
  /** Null: a person. */
  readonly openedBy: ActorRow | null;
  /** Wall time in milliseconds, as all times of debates. */
  readonly openedAt: number;
  /** Two or more, each by a name of its own. */
  readonly hypotheses: readonly { readonly name: string; readonly claim: string }[];
  readonly participants: readonly Participant[];
  /** In the order of the log; the number of an entry is its position, from 1. */
  readonly entries: readonly DebateEntry[];
  /** Null: the debate is open. */
  readonly verdict: Verdict | null;
}

export interface Participant {
  readonly row: ActorRow;
  /** The message that told it of the debate last; null if none did. */
  readonly told: string | null;
}

export interface DebateEntry {
  readonly kind: DebateEntryKind;
  readonly hypothesis: string;
  /** The number of the challenge that an answer answers; else null. */
  readonly answers: number | null;
  /** Whether evidence speaks against the hypothesis. */
  readonly against: boolean;
  /** Null: conceded without words. */
  readonly text: string | null;
  readonly by: ActorRow | null;
  readonly at: number;
}

export interface Verdict {
  readonly name: string;
  readonly because: string;
  readonly by: ActorRow | null;
  /** Whether a person closed the debate although something was missing. */
  readonly forced: boolean;
  /** Whether its agent closed the debate alone in the project, so that the challenge or answer of another is missing. */
  readonly alone: boolean;
  readonly at: number;
}

export const debateRecords = new Records("all", (debate: Debate) => debate.id, {
  ...idIndexes,
  /** Sort keys by project, and those of all closed debates. */
  byProject: sortedBy((debate: Debate) => debate.project, placeOf),
  closed: sorted(debate => (debate.verdict === null ? null : placeOf(debate))),
  /** Ids of open debates by project, and by the sessions of their participants and of all that spoke. */
  open: sets(({ project, verdict }) => (verdict === null ? project : null)),
  bySession: sets(debate => (debate.verdict === null ? speakersOf(debate) : null)),
});

/** Debates by id, in the order of their numbers. */
export interface Debates extends ReturnType<typeof debateRecords.empty> {
  readonly limits: Limits;
  /** The number of the last debate opened. */
  count: number;
}

function noDebates(limits: Limits): Debates {
  return { ...debateRecords.empty(), limits, count: 0 };
}

/** Adds a debate whose number is the highest. Returns the oldest closed ones, which were too many and are dropped. */
export function addDebate(debates: Debates, debate: Debate): Debate[] {
  debateRecords.put(debates, debate);
  const own = oldestTooMany(debates, debate.project);
  if (own !== undefined) debateRecords.drop(debates, own);
  const dropped = debateRecords.makeRoom(debates, debates.limits.debatesMax, debates.closed);
  return own === undefined ? dropped : [own, ...dropped];
}

/** Returns the project's oldest closed debate if the project has too many. It has few, so this may visit each. */
function oldestTooMany(debates: Debates, project: string): Debate | undefined {
  const places = debates.byProject.get(project);
  if (places === undefined || places.size <= debates.limits.debatesPerProjectMax) return undefined;
  for (const place of places.from("")) {
    const debate = debateAt(debates, place);
    if (debate.verdict !== null) return debate;
  }
  return undefined;
}

/** Replaces a debate by what became of it. */
export function putDebate(debates: Debates, next: Debate): void {
  debateRecords.put(debates, next);
}

/** Gives a session's main agent, in all open debates, the id under which its process goes on: it stays one actor. */
export function moveSpeaker(debates: Debates, before: string, after: string): void {
  for (const id of [...(debates.bySession.get(before) ?? [])]) {
    const debate = debateOf(debates, id);
    const isMain = (row: ActorRow | null, session: string) => row?.id === session && row.agent === null;
    const moved = <T extends ActorRow | null>(row: T): T =>
      isMain(row, before) ? { ...row, id: after } : row;
    // An ended session had the other id, if any participant has it.
    const others = debate.participants.filter(({ row }) => !isMain(row, after));
    const participants = others.map(one => ({ ...one, row: moved(one.row) }));
    // If that session spoke, too, what both said stays theirs: an answered challenge never becomes unanswered.
    const isAnother = debate.entries.some(({ by }) => isMain(by, after));
    const entries = isAnother
      ? debate.entries
      : debate.entries.map(entry => ({ ...entry, by: moved(entry.by) }));
    putDebate(debates, { ...debate, openedBy: moved(debate.openedBy), participants, entries });
  }
}

export function debateOf(debates: Debates, id: string): Debate {
  const debate = debates.all.get(id);
  assert(debate !== undefined, () => `no debate ${id}`);
  return debate;
}

/** Returns the debate of a sort key. */
export function debateAt(debates: Debates, place: string): Debate {
  return debateOf(debates, idAt(place));
}

/** Returns the sessions of the participants, of who opened the debate and of all that spoke in it. */
function speakersOf({ openedBy, participants, entries }: Debate): string[] {
  const rows = [openedBy, ...participants.map(({ row }) => row), ...entries.map(({ by }) => by)];
  return [...new Set(rows.flatMap(row => (row === null ? [] : [row.id])))];
}

export const debateRows = {
  empty: noDebates,
  head: numberHead("debateCount", "count", true),
  lists: { debates: valueList((debates: Debates) => debates.all, addDebate) },
};

// The log's commands for debates.

/** Opens a debate. */
export interface DebateOpen {
  /** Null: a person. */
  readonly by: Actor | null;
  /** The project that a person names; ignored if a session opens it, which has its own. */
  readonly project: string;
  readonly question: string;
  readonly hypotheses: readonly { readonly name: string; readonly claim: string }[];
  /** Names, as recipients of messages have them; null: the live actors of the project. */
  readonly participants: readonly string[] | null;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** Makes an entry; `debate` is an id or a part of one. */
export interface DebateEnter {
  readonly by: Actor | null;
  readonly debate: string;
  /** The project whose short names count for a person; absent: whole ids alone. */
  readonly project?: string;
  readonly entry: NewEntry;
  readonly wallMs: number;
  readonly retry?: Retry;
}

export type NewEntry =
  | { readonly kind: "challenge"; readonly hypothesis: string; readonly text: string }
  | {
      readonly kind: "evidence";
      readonly hypothesis: string;
      readonly text: string;
      readonly against: boolean;
    }
  /** `challenge`: the number of the entry that it answers. */
  | { readonly kind: "answer"; readonly challenge: number; readonly text: string }
  | { readonly kind: "concede"; readonly hypothesis: string; readonly text: string | null };

/** Closes a debate with `verdict`, the name of a hypothesis. `force`: although something is missing. */
export interface DebateClose {
  readonly by: Actor | null;
  readonly debate: string;
  readonly project?: string;
  readonly verdict: string;
  readonly because: string;
  readonly force: boolean;
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** These commands by name. */
export interface DebateCommands {
  debate_open: DebateOpen;
  debate_enter: DebateEnter;
  debate_close: DebateClose;
}

declare module "../../tables/entries.ts" {
  interface Commands extends DebateCommands {}
}
