/** Finds what a reader of the journal would fail at: a file of it that is none, or that may not be read. */
import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";
import { nodeDisk } from "../../daemon/journal/disk.ts";
import { journalFiles } from "../../daemon/journal/file-names.ts";
import { shellArgument } from "../../protocol/text.ts";
import { aside } from "./advice.ts";
import { irregular } from "./odd-file.ts";

export interface OddFile {
  /** The beginning of a sentence, such as `PATH is a folder, not a regular file`. */
  readonly what: string;
  /** What to do about it, and the shell line that does it; null: it takes another user. */
  readonly say: string;
  readonly line: string | null;
}

/** Returns the first odd file of the journal in `dir`, which is a folder; null if each can be read. */
export function oddJournalFile(dir: string): OddFile | null {
  const shut = unreadable(dir, constants.R_OK | constants.X_OK);
  if (shut !== null) return shut;
  const { segments, snapshots, manifests } = journalFiles(nodeDisk, dir);
  for (const { name } of [...segments, ...snapshots, ...manifests]) {
    const path = join(dir, name);
    const what = irregular(path);
    if (what !== null) return { what, say: "put it aside", line: aside(path) };
    const closed = unreadable(path, constants.R_OK);
    if (closed !== null) return closed;
  }
  return null;
}

function unreadable(path: string, mode: number): OddFile | null {
  try {
    accessSync(path, mode);
    return null;
  } catch {
    const what = `you may not read ${path}`;
    const stat = statSync(path, { throwIfNoEntry: false });
    // A daemon removed it since its name was read.
    if (stat === undefined) return null;
    if (stat.uid !== process.getuid?.())
      return { what, say: `it belongs to user ${stat.uid}: make it yours`, line: null };
    return {
      what,
      say: "allow it",
      line: `chmod u+r${stat.isDirectory() ? "wx" : "w"} ${shellArgument(path)}`,
    };
  }
}
