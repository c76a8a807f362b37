/** What `kite doctor` says of git's hook before a commit, in a repository where it was installed. */
import { accessSync, constants, existsSync } from "node:fs";
import {
  asksKite,
  keptFile,
  preCommitFile,
  preCommitLine,
  preCommitPrograms,
  preCommitState,
} from "../../hooks/install/pre-commit.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { shellArgument } from "../../protocol/text.ts";
import type { Check } from "../view/doctor.ts";
import { advise, ok, warn } from "./advice.ts";

const check = "git";
const installLine = "kite install --client git";
const again = advise("install again", installLine);

export interface CommitHooks {
  /** The folder from which git takes the repository's hooks, and whether it lies in the working tree. */
  readonly folder: string;
  readonly isCommitted: boolean;
  /** The hooks that Kite wrote for this repository. */
  readonly written: readonly string[];
}

/** Nothing where Kite wrote no hook. */
export function checkCommitHook({ folder, isCommitted, written }: CommitHooks): readonly Check[] {
  const [first] = written;
  if (first === undefined) return [];
  const file = preCommitFile(folder);
  if (written.includes(file)) return [writtenCheck(file)];
  if (asksKite(file)) return [ok(check, `before a commit git runs ${file}, which asks Kite`)];
  const skipped = `git takes the hooks of this repository from ${folder} (core.hooksPath), so it skips Kite's: ${first}`;
  return [
    isCommitted
      ? warn(check, skipped, `add this line to ${file}: ${preCommitLine}`)
      : warn(check, skipped, advise("install it there, too", installLine)),
  ];
}

function writtenCheck(file: string): Check {
  const state = preCommitState(file);
  if (state === "none") return warn(check, `Kite's hook ${file} is gone, so no commit is checked`, again);
  if (state === "changed") {
    const todo = `look at the changes; to have Kite's own hook again: rm ${shellArgument(file)} && ${installLine}`;
    return warn(check, `somebody changed Kite's hook ${file}`, todo);
  }
  if (state === "others") {
    const detail = `another hook took the place of Kite's in ${file}, so no commit is checked`;
    const kept = keptFile(file);
    // An install keeps the hook that is there under this name.
    return existsSync(kept)
      ? warn(check, detail, `put one of ${file} and ${kept} elsewhere; then install again: ${installLine}`)
      : warn(check, detail, advise("install again, which keeps that one and runs it first", installLine));
  }
  const gone = preCommitPrograms(file).find(program => !existsSync(program));
  if (gone !== undefined)
    return warn(check, `${file} runs ${gone}, which is gone, so no commit is checked`, again);
  if (!isExecutable(file))
    return warn(
      check,
      `git skips ${file}, which is not executable`,
      advise("make it so", `chmod +x ${shellArgument(file)}`),
    );
  return ok(check, `before each commit of this repository git asks Kite: ${file}`);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return false;
  }
}
