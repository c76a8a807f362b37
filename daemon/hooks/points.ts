/** Where other parts of the daemon join in the events of hooks. Each is asked in the order of the list of slices. */

import type { SentText } from "../../hooks/seam/actions.ts";
import type { FileNote, HookAction, News } from "../../hooks/seam/slices.ts";
import type { Actor, FileRef, Written } from "../core/frame/actors.ts";
import type { Command } from "../core/tables/entries.ts";
import type { Whose } from "../core/tables/messages.ts";
import type { Spelled } from "../core/tables/naming.ts";
import type { Recorder } from "../trail/trail.ts";
import type { Delivery } from "./notices.ts";
import type { Led } from "./wake.ts";

/** An agent's sign of life; `agent` is null for the main agent. */
type Sign = Extract<HookAction, { do: "heartbeat" }> & { readonly whose: Whose };

type TeammateSign = Sign & { readonly teammate: NonNullable<Sign["teammate"]> };

/** What a session's process says of it: its name, and a command that follows its beginning. */
export interface Introduction {
  readonly name: string;
  readonly command: Command;
}

/** A shell line that has ended. */
export interface EndedLine {
  readonly actor: Actor;
  readonly toolUseId: string;
  /** The name of its first program; null: unknown. */
  readonly program: string | null;
  /** Files that are held or have uncommitted work, and that changed while it ran. */
  readonly changed: readonly Written[];
  /** When it was known to have ended: the files' writers were noted then, or before. */
  readonly wallMs: number;
}

/** A write that a tool reported and that has ended. */
interface EndedWrite {
  readonly actor: Actor;
  readonly file: Spelled;
  readonly tool: string | null;
  /** When it was known to have ended: with this time the file's writer is noted. */
  readonly wallMs: number;
  /** The file's text as the tool sent it; null: the event does not have it. */
  readonly text: SentText | null;
}

/** Uncommitted work of others that a denied shell line would have wiped. */
export interface SparedWork {
  /** Whose line it was. */
  readonly actor: Actor;
  /** The command in short form: `git stash push`. */
  readonly command: string;
  /** How many files it has in all, and of the first ones where each is: its path from the top of its worktree. */
  readonly count: number;
  readonly files: readonly { readonly worktree: string; readonly file: string }[];
}

/** What a slice does at events of hooks. It is made with what it needs, and gets no event: what follows may outlive that. */
export interface HookPart {
  /** An event told where the session's client keeps its files, whether or not Kite is off for it. */
  homeTold?(session: string, home: string): void;
  /** Whether a known session begins anew, since its event came from elsewhere than its record says. */
  isElsewhere?(session: string, cwd: string): boolean;
  /** Returns the directory in which a session that comes back begins. */
  beginsIn?(session: string, cwd: string): Promise<string>;
  /** What the process of a session that begins says of it; null: nothing. */
  introduction?(session: string, pid: number): Introduction | null;
  /** A sign of life says that the agent is a teammate. */
  teammate?(sign: TeammateSign): void;
  /** An agent gave a sign of life, and its presence shows it. */
  alive?(sign: Sign): void;
  /** An agent's presence has changed: the last word after a sign of life, and after the end of an agent. */
  changed?(whose: Whose): void;
  /** The turn of a session's main agent is over. */
  turnOver?(session: string): void;
  /** A person prompted the session's main agent. */
  prompted?(session: string): void;
  /** An agent's model has lost what it was told. */
  contextLost?(actor: Actor): void;
  /** A client told that a member of a team is idle. */
  teamIdle?(team: string): void;
  /** What else a session waits for that stops, and whether it waits although no person watches it. */
  waitsFor?(session: string): Partial<Led> & { readonly isAlone?: boolean };
  /**
   * An event of the agent waits for its answer, and begins no write and no shell line: their ends have points of their own. What
   * follows happens later: the answer does not wait for it.
   */
  eventWaits?(actor: Actor): void;
  /** What an agent is told beside its messages and notes; asked only for agents that `Pending` has. */
  news?(actor: Whose, delivery: Delivery): readonly News[];
  /** Notes may go into an answer now. Resolves when what would take their place is noted, or after a short while. */
  beforeNotes?(actor: Actor): Promise<void> | undefined;
  /** Returns the notes of a session with what is looked up when they are told. */
  completed?(session: string, notes: readonly FileNote[]): Promise<readonly FileNote[]>;
  /** A shell line has ended. What follows from that happens later: the event's other actions do not wait for it. */
  lineEnded?(line: EndedLine): void;
  /** A shell line was denied that would have wiped work. What follows from that happens later: the answer does not wait for it. */
  spared?(work: SparedWork, recorder: Recorder): void;
  /**
   * Writes of these files are granted, and their answer waits. Resolves with the paths of those that have uncommitted work of
   * which there is no copy; undefined: there are none.
   */
  writesBegin?(files: readonly FileRef[]): Promise<readonly string[]> | undefined;
  /** A write has ended. What follows from that happens later: the event's other actions do not wait for it. */
  written?(write: EndedWrite): void;
  /** A session has ended. */
  sessionGone?(session: string): void;
  /** The main agent of the team in which the actor is a teammate; null: it is in none. */
  leadOf?(actor: Pick<Actor, "session" | "agent">): Whose | null;
  /** A signal stopped the session's process, or it runs on. */
  processStopped?(session: string, isStopped: boolean): void;
}

/** The slices, in their order. */
export type HookPoints = readonly HookPart[];
