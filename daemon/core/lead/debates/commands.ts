/** The log's commands for debates. */
import type { Actor } from "../../actor.ts";
import type { Retry } from "../../origin.ts";

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
