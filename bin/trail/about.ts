/** What `kite explain` can explain. */
import type { TrailLine } from "../../daemon/trail/line.ts";
import type { LockHistory } from "./lock-history.ts";

export const kinds = ["task", "agent", "file"] as const;
export type Kind = (typeof kinds)[number];

/** One reading of the command's argument: it sees every line of the trail, oldest first. */
export interface About {
  /** Whether the trail, the daemon or the file system knows it. */
  readonly isKnown: boolean;
  /** Takes the next line; `history` knows the lines before it. */
  add(line: TrailLine, history: LockHistory): void;
}
