/** What is said of a daemon that may open too few files. */

import { limits } from "../protocol/limits.ts";
import type { StatsReply } from "../protocol/schemas/daemon.ts";

/** A sentence, and the shell line that mends it. */
export interface FewFiles {
  readonly text: string;
  readonly line: string;
}

/** Returns null if the daemon may open enough files. */
export function fewFiles({ filesFree }: Pick<StatsReply, "filesFree">): FewFiles | null {
  if (filesFree === undefined) return null;
  const text = `the daemon began with room for ${filesFree} open files (ulimit -n), and needs ${limits.descriptorsWanted}: with less, edits of many sessions are refused instead of waiting`;
  return { text, line: "ulimit -n 256 && kite down && kite up" };
}
