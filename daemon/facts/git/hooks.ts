/**
 * The hooks that git runs before a commit, and whether they stash or rewrite files of the working tree, as far as texts tell:
 * their own, and those of the project's files. No hook is run for it.
 */

import { basename, dirname, join, resolve } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "../filesystem.ts";
import type { PathFacts } from "../paths.ts";
import { Allowance } from "../work-clock.ts";
import { type GitChild, type GitPlace, unreachable } from "./process.ts";

/** The hooks of a repository; without any, `text` is empty. */
export interface CommitHooks {
  /** The text of all hooks that a commit runs: another one is another hook. */
  readonly text: string;
  /** A hook stashes or rewrites files, as texts say. */
  readonly rewrites: boolean;
}

/** A commit with `--no-verify` runs none of these. */
const names = ["pre-commit", "commit-msg"];

/** What reads the files. */
interface Reading {
  readonly outside: BudgetedFs;
  readonly paths: PathFacts;
}

/** Returns the hooks of a repository; `commonDir` is the directory that all its worktrees have in common. */
export async function commitHooks(
  reading: Reading,
  git: GitChild,
  { worktree, gitDir }: GitPlace,
  commonDir: string,
): Promise<CommitHooks | Unreachable> {
  const allowance = new Allowance(reading.outside.clock, limits.guardMs, limits.guardTimeMs);
  const asks = ["config", "-z", "--show-origin", "--type=path", "--get-all", "core.hooksPath"];
  const { code, out, errorText } = await git.run([`--git-dir=${gitDir}`, ...asks], worktree, allowance);
  if (code !== 0 && code !== 1) return unreachable(errorText);
  const set = lastSet(out);
  const folder = set === null ? join(commonDir, "hooks") : resolve(worktree, set);
  const texts: string[] = [];
  for (const name of names) {
    const path = join(folder, name);
    const text = await textOf(reading, path, true);
    if (text === null) continue;
    // Kite's own hook changes nothing, and runs the one that was there before.
    texts.push(isKites(text) ? ((await textOf(reading, `${path}.before-kite`)) ?? "") : text);
    // The hooks of husky lie above the folder of those that git runs.
    if (basename(folder) === "_") texts.push((await textOf(reading, join(dirname(folder), name))) ?? "");
  }
  const text = texts.join("\n");
  const rewrites = saysRewrites(text) || (runsScript(text) && (await hasTool(reading, worktree)));
  return { text, rewrites };
}

/** The last value from a file: by the command line the daemon itself switches hooks off. Pairs of an origin and a value. */
function lastSet(out: string): string | null {
  const words = out.split("\0");
  for (let at = words.length - (words.length % 2) - 2; at >= 0; at -= 2)
    if (words[at] !== "command line:") return words[at + 1] ?? null;
  return null;
}

/** Null: there is no such file, it is too long, or it may not be run although `isRun`. */
async function textOf({ outside, paths }: Reading, path: string, isRun = false): Promise<string | null> {
  const fact = await paths.resolve("/", path);
  if ("unreachable" in fact) return null;
  const found = await outside.fact(async budget => {
    const stat = await outside.look(fact.real, null, budget, (prober, p) => prober.lstat(p));
    const isGood = stat?.isFile() === true && (!isRun || (Number(stat.mode) & 0o111) !== 0);
    const read = () =>
      outside.look(fact.real, null, budget, (prober, p) => prober.readSmall(p, limits.smallFileBytes));
    return { text: isGood ? await read() : null };
  });
  return "unreachable" in found ? null : found.text;
}

function isKites(text: string): boolean {
  return text.startsWith("#!/bin/sh\n# Written by kite install");
}

/** Commands of a hook that take changes out of the tree or put others into it. */
const rewriting: readonly RegExp[] = [
  /\bgit\s+(?:-[Cc]\s+\S+\s+|-\S+\s+)*(?:stash|add|apply|checkout|clean|mv|reset|restore|rm|update-index)\b/,
  /\blint-staged\b|\blefthook\b|pre_commit\b|(?:^|[\s;&|"'/(])pre-commit["']?\s+(?:run|hook-impl|"\$)/m,
  /\s--(?:write|fix|in-place|autofix)\b|\bsed\s+-\w*i/,
  /\b(?:black|isort|cargo\s+fmt|rustfmt|go\s+fmt|gofmt\s+-\w*w|goimports\s+-\w*w|ruff\s+format|clang-format\s+-i|terraform\s+fmt|mix\s+format|swiftformat|dotnet\s+format)\b/,
];

/** Whether the text of a hook says that it stashes or rewrites files. */
export function saysRewrites(text: string): boolean {
  const lines = text.split("\n").filter(line => !/^\s*(?:#|echo\b|printf\b)/.test(line));
  return rewriting.some(one => one.test(lines.join("\n")));
}

/** Whether the hook runs what the project's files say. */
function runsScript(text: string): boolean {
  return /\b(?:npm|pnpm|yarn|bun|npx|bunx|make|just|task|node|python3?|sh|bash)\b/.test(
    text.replace(/^\s*#.*$/gm, ""),
  );
}

const toolFiles =
  /^(?:\.lintstagedrc(?:\..+)?|lint-staged\.config\..+|\.pre-commit-config\.ya?ml|\.?lefthook(?:-local)?\.(?:ya?ml|toml|json))$/;

/** Whether the project's files set up a tool that stashes what is not staged. */
async function hasTool(reading: Reading, worktree: string): Promise<boolean> {
  const { outside } = reading;
  const list = await outside.fact(async budget => ({
    all: await outside.look(worktree, null, budget, (prober, path) =>
      prober.names(path, limits.namesReadMax),
    ),
  }));
  if (!("unreachable" in list) && list.all?.some(name => toolFiles.test(name)) === true) return true;
  const manifest = await textOf(reading, join(worktree, "package.json"));
  return manifest !== null && /"lint-staged"\s*:|"lefthook"/.test(manifest);
}
