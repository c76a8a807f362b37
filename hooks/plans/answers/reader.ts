/** Who reads an answer, and by which tools it writes to others and declares. */
import type { Event } from "../event.ts";

export interface Reader {
  /** The agent's directory. */
  readonly cwd: string;
  /** A teammate within its lead's process: the client offers it SendMessage, and none of Kite's tools. */
  readonly isTeammate: boolean;
  /** Its client asks about all calls of a message before the first of them runs. */
  readonly asksAllFirst?: true;
}

export function readerOf({ worker, client }: Event, cwd: string): Reader {
  const asks = client.limits.asksAllFirst ? ({ asksAllFirst: true } as const) : {};
  return { cwd, isTeammate: worker.isTeammate, ...asks };
}

/** How the reader writes to another agent. */
export function howToWrite({ isTeammate }: Pick<Reader, "isTeammate">): string {
  return isTeammate ? "SendMessage within your team, else kite message send" : "kite message send";
}

/** What stands between a request to declare and the command for it: the tool that does the same, if the reader has it. */
export function declareBy({ isTeammate }: Pick<Reader, "isTeammate">): string {
  return isTeammate ? ":" : " with the tool kite_declare, or:";
}
