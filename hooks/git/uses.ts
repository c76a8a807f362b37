/**
 * What a shell line does that a role may forbid: git commands that write, and tests and builds. Aliases count as what
 * they stand for. What the line alone does not show is left out.
 */

import type { AliasedUse, ShellUse, ShellUses } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import { programOf, runsProject } from "../shell/launchers.ts";
import { readShell } from "../shell/parser.ts";
import { walkShell } from "../shell/simple.ts";
import type { Value } from "../shell/variables.ts";
import { type Budget, type Invocation, wholeBudget } from "../shell/walk.ts";
import { expandAlias, type GitCall, gitCall, gitWords, isGitsOwn, reachOf, settingOf } from "./command.ts";
import { has, operands, readArguments } from "./options.ts";

// Which git commands write: a commit, a branch, a tag, the index or the working tree. What is not listed passes.

/** These write in every form that they have, but for those that only tell something. */
const always: ReadonlySet<string> = new Set(
  (
    "am apply checkout cherry-pick fast-import filter-branch merge mv pull push rebase reset restore revert rm " +
    "sparse-checkout switch update-index update-ref"
  ).split(" "),
);

/** These write if their first word is one of these. */
const byVerb: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    bisect: "bad good new old reset run skip start",
    notes: "add append copy edit merge prune remove",
    reflog: "delete expire",
    stash: "apply branch clear drop pop push save store",
    submodule: "absorbgitdirs add deinit init set-branch set-url sync update",
    worktree: "add lock move prune remove repair unlock",
  }).map(([name, verbs]) => [name, new Set(verbs.split(" "))]),
);

/** With one of these `branch` and `tag` only list. */
const listing = [
  "-l",
  "--list",
  "-a",
  "--all",
  "-r",
  "--remotes",
  "--contains",
  "--no-contains",
  "--merged",
  "--no-merged",
  "--points-at",
  "--show-current",
] as const;
/** With one of these they change one that there is. */
const changing = {
  branch: [
    "-d",
    "-D",
    "-m",
    "-M",
    "-c",
    "-C",
    "-f",
    "-u",
    "--delete",
    "--move",
    "--copy",
    "--set-upstream-to",
  ],
  tag: ["-d", "--delete"],
} as const;

/** Whether the call writes, as far as its own words tell. */
function gitWrites(call: GitCall): boolean {
  const { name, args } = call;
  if (!name.known || args.some(isIdle)) return false;
  const reach = reachOf(call, null);
  if (reach !== null && reach.needsIndex !== false) return true;
  const { text } = name;
  if (always.has(text)) return true;
  const parsedArgs = readArguments(args, {});
  const [first] = operands(parsedArgs);
  const verbs = byVerb.get(text);
  if (verbs !== undefined) return first?.known === true && verbs.has(first.text);
  if (text !== "branch" && text !== "tag") return false;
  if (has(parsedArgs, ...changing[text])) return true;
  const isListing =
    has(parsedArgs, ...listing) || (text === "tag" && has(parsedArgs, "-n", "-v", "--verify"));
  return first !== undefined && !isListing;
}

/** Whether git itself has a command of this name, and this file knows it. */
function isWriter(name: string): boolean {
  return always.has(name) || byVerb.has(name);
}

/** With one of these a command only tells something. */
function isIdle({ text }: Value): boolean {
  return /^(?:-h|--help|--dry-run|--check|--stat|--numstat|--summary)$/.test(text);
}

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
    if (isKiteCommit(invocation.values)) {
      found.uses.push({ does: "git", name: "kite commit", dir, commits: !found.isElsewhere });
      return;
    }
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

/** Whether it is Kite's own commit, which is a commit for a role as git's is. */
function isKiteCommit(values: readonly Value[]): boolean {
  const [, name, ...args] = values;
  if (programOf(values) !== "kite" || name?.text !== "commit") return false;
  return !args.some(({ text }) => /^(?:-h|--help|--dry-run)$/.test(text));
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
      usesOf: aliasText => later(found, call, aliasText),
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
