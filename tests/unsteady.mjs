// Which failed files may run once more, and which were unsteady before.
//
// A file may fail on a machine that is busy. It then runs once more by itself; if it passes, it counts, and the run
// names it as unsteady. That is no excuse where a failure is a find, nor for many files at once, nor for a file again
// and again.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The most files of one run that may run once more. */
export const unsteadyMax = 3;

/**
 * Files whose failure is a find: they draw what they try, or hold what must never be lost. Histories of real daemons over a store
 * meet a planted bug now and then alone, since sockets and processes take their own time.
 */
const finds = /^tests\/(?:simulation|journal)\/|property|random|(?<!^tests\/store\/)planted|guard|tidy/;

/** Returns the failed files that may run once more, and for the others why they may not. */
export function excuses(failed, before) {
  const refused = failed.flatMap(({ path }) => {
    if (finds.test(path)) return [`${path}: a failure there is a find`];
    if (before.has(path)) return [`${path}: it was unsteady in one of the last reports already`];
    return [];
  });
  const again = failed.filter(({ path }) => !refused.some(reason => reason.startsWith(`${path}:`)));
  if (again.length <= unsteadyMax) return { again, refused };
  return {
    again: [],
    refused: [...refused, `${again.length} files failed, at most ${unsteadyMax} may run once more`],
  };
}

/** Returns the files that were unsteady in the reports that are kept, those of this run left out. */
export function unsteadyBefore(root, present) {
  const all = join(root, ".reports");
  const found = new Set();
  for (const name of readdirSync(all)) {
    const path = join(all, name, "summary.json");
    if (join(all, name) === present) continue;
    for (const file of unsteadyIn(path)) found.add(file);
  }
  return found;
}

function unsteadyIn(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).unsteady.map(file => file.path);
  } catch (error) {
    // A run that was interrupted left no summary.
    if (error.code === "ENOENT") return [];
    throw error;
  }
}
