/** The wire of debates: requests, replies and rows. */

/** What an entry is: a doubt, a finding, the answer to a challenge, or the end of a hypothesis. */
export type DebateEntryKind = "challenge" | "evidence" | "answer" | "concede";

/** What a debate lacks before it can close: an answer to a challenge, or a challenge to a rival. */
export interface MissingRow {
  readonly hypothesis: string;
  /** The challenge that is unanswered; null: the hypothesis was never challenged. */
  readonly challenge: number | null;
  /** What to do: `answer` the challenge; `challenge` the hypothesis, or concede it. */
  readonly next: "answer" | "challenge";
}
