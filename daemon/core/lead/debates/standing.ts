/**
 * What was said of each hypothesis, and what a debate lacks before it can close.
 *
 * Invariants: a debate closes with a hypothesis that is not conceded, whose challenges are all answered, and whose
 * rivals were each challenged or conceded; or a person forces it. No agent settles a debate with itself:
 * - an answer counts if another actor made it than the one that made the challenge;
 * - an agent closes a debate in which another actor than itself, and another than the one that opened it, made a
 *   challenge; a person is another actor to everybody, also to other persons.
 * An agent that is alone in its project needs no other one, and the verdict says so (`alone.ts` says who is alone). So
 * there is always a way on: what is missing can be done by the agent itself, or by another one that is there, or a
 * person forces the debate to close. The entries for that always have room.
 */
import type { MissingRow } from "../../../../protocol/lead/debate.ts";
import { limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { isPerson } from "../../nodes/people.ts";
import type { Debate, DebateEntry } from "./table.ts";

export interface Standing {
  readonly name: string;
  readonly conceded: boolean;
  /** The number of challenges. */
  readonly challenges: number;
  /** The numbers of the challenges that no entry of another actor answers. */
  readonly unanswered: readonly number[];
}

/** Who closes a debate, and whether it is alone in the project, so that its own answers count. */
export interface Closer {
  readonly by: ActorRow | null;
  readonly alone: boolean;
}

type DebateText = Pick<Debate, "hypotheses" | "entries">;

/** Whether the two are different actors; a person differs from everybody. */
export function isOther(one: ActorRow | null, other: ActorRow | null): boolean {
  return isPerson(one) || isPerson(other) || one?.id !== other?.id || one?.agent !== other?.agent;
}

/** Returns the standing of every hypothesis, in their order. `alone`: answers of the challenger itself count. */
export function standingsOf(debate: DebateText, alone = false): Standing[] {
  const answered = answeredIn(debate.entries, alone);
  const { hypotheses, entries } = debate;
  return hypotheses.map(({ name }) => {
    const challenges = entries.flatMap(({ kind, hypothesis }, i) =>
      kind === "challenge" && hypothesis === name ? [i + 1] : [],
    );
    return {
      name,
      conceded: entries.some(entry => entry.kind === "concede" && entry.hypothesis === name),
      challenges: challenges.length,
      unanswered: challenges.filter(n => !answered.has(n)),
    };
  });
}

/** Returns what the debate lacks before `closer` can close it with `verdict`; empty: nothing. */
export function missingFor(debate: Debate, verdict: string, closer: Closer): MissingRow[] {
  const { by, alone } = closer;
  const rows = standingsOf(debate, alone).flatMap(
    ({ name, conceded, challenges, unanswered }): MissingRow[] => {
      if (name === verdict) {
        return unanswered.map(challenge => {
          const others = !alone && !isOther(debate.entries[challenge - 1]?.by ?? null, by);
          return { hypothesis: name, challenge, next: "answer" as const, others };
        });
      }
      const isOpen = !conceded && challenges === 0;
      return isOpen ? [{ hypothesis: name, challenge: null, next: "challenge" as const, others: false }] : [];
    },
  );
  if (isPerson(by) || alone) return rows;
  const others = !isChallengedByOther(debate.entries, by);
  if (!others && (isPerson(debate.openedBy) || isChallengedByOther(debate.entries, debate.openedBy)))
    return rows;
  return [...rows, { hypothesis: verdict, challenge: null, next: "challenge", others }];
}

/** Whether these entries leave room for what the debate needs to close, whoever is there then. */
export function leavesRoom({ hypotheses, entries }: DebateText): boolean {
  const anyhow = standingsOf({ hypotheses, entries }, true);
  const needed = standingsOf({ hypotheses, entries }).map(({ conceded, challenges, unanswered }, i) => {
    if (conceded) return 0;
    // A challenge needs an answer, and that of an agent alone may need another one later.
    return challenges === 0 ? 3 : unanswered.length + (anyhow[i]?.unanswered.length ?? 0);
  });
  const sum = needed.reduce((total, one) => total + one, isChallengedByTwo(entries) ? 0 : 3);
  return entries.length + sum <= limits.debateEntriesMax;
}

/** Returns the numbers of the challenges that are answered: by another actor, or, if `alone`, by anybody. */
function answeredIn(entries: readonly DebateEntry[], alone: boolean): Set<number> {
  const answered = new Set<number>();
  for (const { answers, by } of entries)
    if (answers !== null && (alone || isOther(entries[answers - 1]?.by ?? null, by))) answered.add(answers);
  return answered;
}

function isChallengedByOther(entries: readonly DebateEntry[], actor: ActorRow | null): boolean {
  return entries.some(({ kind, by }) => kind === "challenge" && isOther(by, actor));
}

/** Whether two actors made challenges, so that every actor was challenged by another one. */
function isChallengedByTwo(entries: readonly DebateEntry[]): boolean {
  const first = entries.find(({ kind }) => kind === "challenge");
  return first !== undefined && (isPerson(first.by) || isChallengedByOther(entries, first.by));
}
