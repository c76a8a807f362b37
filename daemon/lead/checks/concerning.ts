/** Which checks matter after a change of files. Globs come from a file that any agent may write: matching takes turns. */
import { limits } from "../../../protocol/limits.ts";
import { anyGlob } from "../../config/glob.ts";
import type { Check } from "./setting.ts";

/**
 * Returns the checks that matter after a change of `files` (paths from the top of the worktree). Each turn of the event loop
 * takes `limits.checkGlobTurnSteps` steps, or one file; `next` waits for the next turn. If matching all checks may take
 * more than `limits.checkGlobSteps` steps, the checks that are beyond it matter.
 */
export async function concerning<C extends Pick<Check, "when">>(
  checks: readonly C[],
  files: readonly string[],
  next: () => Promise<void> = () => new Promise(resolve => void setImmediate(resolve)),
): Promise<readonly C[]> {
  const matter: C[] = [];
  const filesLength = lengthOf(files);
  let left: number = limits.checkGlobSteps;
  let turn = 0;
  for (const check of checks) {
    const { when } = check;
    // The matcher takes pattern times path steps at most.
    const width = when === null ? 0 : lengthOf(when);
    const isBeyond = width * filesLength > left;
    if (when === null || isBeyond) {
      matter.push(check);
      continue;
    }
    left -= width * filesLength;
    const isMatch = anyGlob(when);
    for (const file of files) {
      turn += width * file.length;
      if (turn > limits.checkGlobTurnSteps) {
        await next();
        turn = width * file.length;
      }
      if (!isMatch(file)) continue;
      matter.push(check);
      break;
    }
  }
  return matter;
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}
