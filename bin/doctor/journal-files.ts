/** Finds what a reader of the journal would fail at: a file of it that is none, or that may not be read. */
import { constants } from "node:fs";
import { join } from "node:path";
import { journalFiles, nodeDisk } from "../../daemon/journal/disk.ts";
import { type OddFile, oddFile, oddFolder } from "./odd-file.ts";

/** Returns the first odd file of the journal in `dir`, which is a folder; null if each can be read. */
export function oddJournalFile(dir: string): OddFile | null {
  const shut = oddFolder(dir);
  if (shut !== null) return shut;
  const { segments, snapshots, manifests } = journalFiles(nodeDisk, dir);
  for (const { name } of [...segments, ...snapshots, ...manifests]) {
    const odd = oddFile(join(dir, name));
    if (odd !== null) return odd;
  }
  return null;
}

/** Returns what keeps a daemon from writing the journal in `dir`, which it can read; null if nothing does. */
export function unwritableJournal(dir: string): OddFile | null {
  const shut = oddFolder(dir, constants.W_OK);
  if (shut !== null) return shut;
  const last = journalFiles(nodeDisk, dir).segments.at(-1);
  return last === undefined ? null : oddFile(join(dir, last.name), constants.W_OK);
}
