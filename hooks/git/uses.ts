/** What a shell line does that a role may forbid: git commands that write, and tests and builds. */
import type { ShellUse } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import { walkShell } from "../shell/line.ts";
import { readShell } from "../shell/parser.ts";
import { runsProject } from "../shell/runners.ts";
import { type Invocation, wholeBudget } from "../shell/walk.ts";
import { gitCall, gitWords } from "./command.ts";
import { gitWrites } from "./writes.ts";

/**
 * Reads a line that begins in `dir`; `env` are the known variables of its shell. Returns the first
 * `limits.roleProgramsMax` of them. What the line alone does not show is left out.
 */
export function usesOf(line: string, dir: string, env: ReadonlyMap<string, string>): readonly ShellUse[] {
  const found: ShellUse[] = [];
  const run = (invocation: Invocation): void => {
    if (invocation.isGuess || found.length >= limits.roleProgramsMax) return;
    const use = useOf(invocation);
    if (use !== null) found.push(use);
  };
  const { node } = readShell(line);
  walkShell(node, dir, run, null, wholeBudget(), env);
  return found;
}

function useOf(invocation: Invocation): ShellUse | null {
  const { dir } = invocation;
  const values = gitWords(invocation.values);
  if (values === null) {
    const name = runsProject(invocation.values);
    return name === null ? null : { does: "run", name, dir };
  }
  const call = gitCall({ ...invocation, values });
  if (call === null || !gitWrites(call)) return null;
  return { does: "git", name: `git ${call.name.text}`, dir: call.place.dir };
}
