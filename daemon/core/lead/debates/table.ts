/**
 * The debates and their indexes: the only file that adds, removes or changes them.
 *
 * Invariants: a debate is a value, which a change replaces; every debate is in every index it belongs to; there are at
 * most `limits.debatesMax`, and `limits.debatesPerProjectMax` of a project, of which the oldest closed ones make room.
 */
import type { DebateEntryKind } from "../../../../protocol/lead/debate.ts";
import type { Limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/lock.ts";
import { assert } from "../../assert.ts";
import { endOf, scopeOf } from "../../ids.ts";
import { addToSet, removeFromSet } from "../../sets.ts";
import { SortedKeys } from "../../sorted-keys.ts";

export interface Debates {
  readonly limits: Limits;
  /** Debates by id, in the order of their numbers. */
  readonly all: Map<string, Debate>;
  /** The number of the last debate opened. */
  count: number;
  /** derived: see `IdIndex`; every key begins with its project, see `scopeOf`. */
  readonly ids: SortedKeys;
  readonly ends: SortedKeys;
  /** derived: sort keys by project, and those of all closed debates. */
  readonly byProject: Map<string, SortedKeys>;
  readonly closed: SortedKeys;
  /** derived: ids of open debates by project, and by the sessions of their participants and of all that spoke. */
  readonly open: Map<string, Set<string>>;
  readonly bySession: Map<string, Set<string>>;
}

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

export function noDebates(limits: Limits): Debates {
  const [byProject, open, bySession] = [new Map(), new Map(), new Map()];
  const [ids, ends, closed] = [new SortedKeys(), new SortedKeys(), new SortedKeys()];
  return { limits, all: new Map(), count: 0, ids, ends, byProject, closed, open, bySession };
}

/** Adds a debate whose number is the highest. Returns the oldest closed ones, which were too many and are dropped. */
export function addDebate(debates: Debates, debate: Debate): Debate[] {
  debates.all.set(debate.id, debate);
  const scope = scopeOf(debate.project);
  debates.ids.add(scope + debate.id);
  debates.ends.add(scope + endOf(debate.id));
  const list = debates.byProject.get(debate.project);
  if (list === undefined) debates.byProject.set(debate.project, new SortedKeys(sortKeyOf(debate)));
  else list.add(sortKeyOf(debate));
  addStatus(debates, debate);
  const dropped: Debate[] = [];
  const own = oldestTooMany(debates, debate.project);
  if (own !== undefined) dropped.push(removeDebate(debates, own));
  while (debates.all.size > debates.limits.debatesMax && debates.closed.first !== undefined)
    dropped.push(removeDebate(debates, debateAt(debates, debates.closed.first)));
  return dropped;
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
  removeStatus(debates, debateOf(debates, next.id));
  debates.all.set(next.id, next);
  addStatus(debates, next);
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
      : debate.entries.map(said => ({ ...said, by: moved(said.by) }));
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
  return debateOf(debates, place.slice(place.indexOf(" ") + 1));
}

/** Returns the debate's sort key, by age. */
function sortKeyOf({ n, id }: Debate): string {
  return `${n.toString(36).padStart(8, "0")} ${id}`;
}

function removeDebate(debates: Debates, debate: Debate): Debate {
  removeStatus(debates, debate);
  debates.all.delete(debate.id);
  const scope = scopeOf(debate.project);
  debates.ids.delete(scope + debate.id);
  debates.ends.delete(scope + endOf(debate.id));
  const list = debates.byProject.get(debate.project);
  list?.delete(sortKeyOf(debate));
  if (list?.size === 0) debates.byProject.delete(debate.project);
  return debate;
}

function addStatus(debates: Debates, debate: Debate): void {
  if (debate.verdict !== null) {
    debates.closed.add(sortKeyOf(debate));
    return;
  }
  addToSet(debates.open, debate.project, debate.id);
  for (const session of speakersOf(debate)) addToSet(debates.bySession, session, debate.id);
}

function removeStatus(debates: Debates, debate: Debate): void {
  debates.closed.delete(sortKeyOf(debate));
  removeFromSet(debates.open, debate.project, debate.id);
  for (const session of speakersOf(debate)) removeFromSet(debates.bySession, session, debate.id);
}

/** Returns the sessions of the participants, of who opened the debate and of all that spoke in it. */
function speakersOf({ openedBy, participants, entries }: Debate): Set<string> {
  const rows = [openedBy, ...participants.map(({ row }) => row), ...entries.map(({ by }) => by)];
  return new Set(rows.flatMap(row => (row === null ? [] : [row.id])));
}
