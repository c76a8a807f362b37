/** Finds what a reader of the journal would fail at: a file of it that is none, or that may not be read. */
import { constants } from "node:fs";
import { join } from "node:path";
import { nodeDisk } from "../../daemon/journal/disk.ts";
import { journalFiles } from "../../daemon/journal/file-names.ts";
import { type OddFile, oddFile, unreadable } from "./odd-file.ts";

/** Returns the first odd file of the journal in `dir`, which is a folder; null if each can be read. */
export function oddJournalFile(dir: string): OddFile | null {
  const shut = unreadable(dir, constants.R_OK | constants.X_OK);
  if (shut !== null) return shut;
  const { segments, snapshots, manifests } = journalFiles(nodeDisk, dir);
  for (const { name } of [...segments, ...snapshots, ...manifests]) {
    const path = join(dir, name);
    const odd = oddFile(path);
    if (odd !== null) return odd;
  }
  return null;
}
