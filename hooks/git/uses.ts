/**
 * What a shell line does that a role may forbid: git commands that write, and tests and builds. Aliases count as what
 * they stand for. What the line alone does not show is left out.
 */
import type { AliasedUse, ShellUse, ShellUses } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import { type Budget, wholeBudget } from "../shell/budget.ts";
import { walkShell } from "../shell/line.ts";
import { readShell } from "../shell/parser.ts";
import { runsProject } from "../shell/runners.ts";
import type { Invocation } from "../shell/walk.ts";
import { expandAlias } from "./alias.ts";
import { type GitCall, gitCall, gitWords, isGitsOwn, settingOf } from "./command.ts";
import { gitWrites, isWriter } from "./writes.ts";

interface Found {
  readonly uses: ShellUse[];
  readonly aliases: AliasedUse[];
  /** What the line itself sets in git's configuration, by lower-case names. */
  readonly set: Map<string, string>;
  /** The number of aliases that led here. */
  readonly depth: number;
  /** An alias led here whose call names a git directory or a working tree. */
  readonly isElsewhere: boolean;
  readonly budget: Budget;
  readonly env: ReadonlyMap<string, string>;
}

/**
 * Reads a line that begins in `dir`; `env` are the known variables of its shell. Returns the first
 * `limits.roleProgramsMax` of them, and of the aliases whose text git's configuration may have.
 */
export function usesOf(line: string, dir: string, env: ReadonlyMap<string, string>): ShellUses {
  const begun = { uses: [], aliases: [], set: new Map(), depth: 0, isElsewhere: false };
  const found: Found = { ...begun, budget: wholeBudget(), env };
  look(found, line, dir, null);
  const { uses, aliases } = found;
  return { uses, aliases };
}

function look(found: Found, line: string, dir: string | null, args: readonly string[] | null): void {
  const { node } = readShell(line);
  walkShell(node, dir, invocation => take(found, invocation), args, found.budget, found.env);
}

function take(found: Found, invocation: Invocation): void {
  if (invocation.isGuess || found.uses.length + found.aliases.length >= limits.roleProgramsMax) return;
  const { dir } = invocation;
  const values = gitWords(invocation.values);
  if (values === null) {
    const name = runsProject(invocation.values);
    if (name !== null) found.uses.push({ does: "run", name, dir, commits: false });
    return;
  }
  const call = gitCall({ ...invocation, values });
  if (call === null || !call.name.known) return;
  note(found, call);
  const { text: name } = call.name;
  if (gitWrites(call))
    found.uses.push({ does: "git", name: `git ${name}`, dir: call.place.dir, commits: commits(found, call) });
  else if (!isGitsOwn(name) && !isWriter(name) && /^[\w.-]{1,80}$/.test(name)) takeAlias(found, call, name);
}

/** Whether the call works in the repository and the working tree around its folder. */
function isHere({ place, settings }: GitCall): boolean {
  const { isBelow = false, gitDir, workTree } = place;
  return !isBelow && gitDir === null && workTree === null && !settings.has("core.worktree");
}

/** Whether the call only stages or commits, there. */
function commits({ isElsewhere }: Found, call: GitCall): boolean {
  return !isElsewhere && isHere(call) && (call.name.text === "add" || call.name.text === "commit");
}

/** Notes what the line itself sets or unsets in git's configuration. */
function note({ set }: Found, call: GitCall): void {
  const setting = settingOf(call);
  if (setting === null) return;
  const { key, value } = setting;
  if (value === null) set.delete(key);
  else if (set.size < limits.shellNamesMax) set.set(key, value);
}

/** An alias that the line itself sets counts here; the daemon asks git's configuration for the others. */
function takeAlias(found: Found, call: GitCall, name: string): void {
  const key = `alias.${name.toLowerCase()}`;
  const text = call.settings.get(key) ?? found.set.get(key);
  const { dir, isBelow, gitDir } = call.place;
  if (text !== undefined) comesTo(found, call, text);
  else
    found.aliases.push({
      name,
      dir: isBelow ? null : dir,
      gitDir,
      usesOf: given => later(found, call, given),
    });
}

/** Returns what the alias does if this is its text. */
function later({ set, depth, isElsewhere, env }: Found, call: GitCall, text: string): ShellUses {
  const found: Found = { uses: [], aliases: [], set, depth, isElsewhere, budget: wholeBudget(), env };
  comesTo(found, call, text);
  const { uses, aliases } = found;
  return { uses, aliases };
}

/** Adds what the alias's text comes to. */
function comesTo(outer: Found, call: GitCall, text: string): void {
  const found = { ...outer, depth: outer.depth + 1, isElsewhere: outer.isElsewhere || !isHere(call) };
  if (found.depth > limits.aliasDepthMax) return;
  const { dir, isBelow } = call.place;
  const expanded = expandAlias(call, text, found.budget);
  if ("line" in expanded) look(found, expanded.line, isBelow ? null : dir, expanded.args);
  else {
    const { words: values } = expanded;
    take(found, { values, dir, isBelow: isBelow ?? false, exported: new Map(), input: null });
  }
}
