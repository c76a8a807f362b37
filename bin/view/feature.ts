/** What a feature adds to the rows and screens of agents: the point that views offer. */
import type { EventLine } from "../../protocol/events.ts";
import type { AgentRow, SessionRow } from "../../protocol/session-rows.ts";
import type { Field } from "./fields.ts";
import type { Cell } from "./table.ts";

/** A session's main agent, or another agent within it. */
export type OneAgent = SessionRow | AgentRow;

/** Returns the name under which a view shows a file. */
export type FileName = (path: string) => string;

/** Each part is asked of all features in the order of their list. */
export interface AgentFeature {
  /** Returns the state of an agent that somebody has to look at, in place of its plain one; null: the plain one. */
  trouble?(agent: OneAgent): Exclude<Cell, string> | null;
  /** Whether a person has to look at the agent. */
  needsPerson?(agent: OneAgent): boolean;
  /** Whether a session has a line of its own for it, however quiet it is. */
  isShown?(session: SessionRow): boolean;
  /** Returns what to do about an agent, called `name`. */
  advice?(agent: OneAgent, name: string, session: SessionRow): readonly string[];
  /** Returns where a session comes from. */
  origin?(session: SessionRow): readonly string[];
  /** Returns the command that opens the session's screen in a person's terminal; null: the feature knows none. */
  opens?(session: SessionRow): string | null;
  /** Returns how the agent is, in more words than its plain status; null: nothing is known. */
  life?(agent: OneAgent): string | null;
  /** Whether the agent leads others. */
  leads?(agent: OneAgent): boolean;
  /** Returns the fields of `kite agent`. */
  fields?(session: SessionRow, agent: OneAgent | undefined): readonly Field[];
  /** Returns an event of the feature as one line; null: it is no such event, or does not concern a person. */
  sentence?(event: EventLine, file: FileName): string | null;
}

/** What a session's main agent waits for a person for. */
export const attention: AgentFeature = {
  fields: (session, agent) => [["needs you", agent === session ? session.attention : null]],
};
