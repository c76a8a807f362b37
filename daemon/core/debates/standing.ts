/**
 * What was said of each hypothesis, and what a debate lacks before it can close.
 *
 * Invariants: a debate closes with a hypothesis that is not conceded, whose challenges are all answered, and whose
 * rivals were each challenged or conceded; or a person forces it. The entries for that always have room.
 */
import type { MissingRow } from "../../../protocol/debate.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Debate } from "./table.ts";

export interface Standing {
  readonly name: string;
  readonly conceded: boolean;
  /** The number of challenges. */
  readonly challenges: number;
  /** The numbers of the challenges that no entry answers. */
  readonly unanswered: readonly number[];
}

/** Returns the standing of every hypothesis, in their order. */
export function standingsOf({ hypotheses, entries }: Pick<Debate, "hypotheses" | "entries">): Standing[] {
  const answered = new Set(entries.map(entry => entry.answers));
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

/** Returns what the debate lacks before it can close with `verdict`; empty: nothing. */
export function missingFor(debate: Debate, verdict: string): MissingRow[] {
  return standingsOf(debate).flatMap(({ name, conceded, challenges, unanswered }): MissingRow[] => {
    if (name === verdict)
      return unanswered.map(challenge => ({ hypothesis: name, challenge, next: "answer" as const }));
    const isOpen = !conceded && challenges === 0;
    return isOpen ? [{ hypothesis: name, challenge: null, next: "challenge" as const }] : [];
  });
}

/** Whether these entries leave room for a challenge to each hypothesis and an answer to each challenge. */
export function leavesRoom(debate: Pick<Debate, "hypotheses" | "entries">): boolean {
  const needed = standingsOf(debate).map(({ conceded, challenges, unanswered }) =>
    conceded ? 0 : challenges === 0 ? 2 : unanswered.length,
  );
  return debate.entries.length + needed.reduce((sum, one) => sum + one, 0) <= limits.debateEntriesMax;
}
