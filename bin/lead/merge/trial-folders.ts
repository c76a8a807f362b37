/** The worktrees in which merges are tried: one folder each, below Kite's own directory. */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isCode } from "../../../hooks/install/file.ts";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import type { Client } from "../../process-context.ts";
import { rowsOf } from "../../with-daemon.ts";
import { type Git, GitFailed, type GitOptions, must } from "./git.ts";
import { isSystems } from "./trial.ts";

/** A worktree with all that the checks put into it may take long to remove. */
const finishes: GitOptions = { finishes: true, ms: limits.mergeGitMs };

/** Returns the folder of one run of a merge, which no other run has. */
export function trialFolder(
  { merges }: KitePaths,
  { id, runs }: { readonly id: string; readonly runs: number },
): string {
  return join(merges, `${id}.${runs}`);
}

/**
 * Removes a worktree and what git notes of it, also if only one of both is there. Goes on after an interrupt. Returns null,
 * or a sentence if something is left: that changes nothing about a merge, and the next one tries again.
 */
export async function removeTrial(git: Git, folder: string): Promise<string | null> {
  try {
    if (await forget(git, folder)) return null;
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    await forget(git, folder);
    return null;
  } catch (error) {
    if (!isSystems(error)) throw error;
    return `could not remove ${folder}: ${error.message}; the next merge tries again, or remove it yourself`;
  }
}

/** Has git remove the worktree; returns whether it did. */
async function forget(git: Git, folder: string): Promise<boolean> {
  try {
    // Twice by force: a worktree that was being made when its maker was killed is locked.
    return (await git(["worktree", "remove", "--force", "--force", folder], finishes)).code === 0;
  } catch (error) {
    if (!(error instanceof GitFailed)) throw error;
    return false;
  }
}

/** Makes the folder of all trials, and removes what runners that are gone left in it; `say` hears what stays. */
export async function sweepTrials(
  client: Client,
  paths: KitePaths,
  git: Git,
  say: (text: string) => void,
): Promise<void> {
  await mkdir(paths.merges, { recursive: true, mode: 0o700 });
  const names = await readdir(paths.merges);
  if (names.length === 0) return;
  const rows = await rowsOf(client, "merges");
  const running = new Set(
    rows.filter(({ state }) => state === "running").map(({ id, runs }) => `${id}.${runs}`),
  );
  for (const name of names) {
    if (running.has(name)) continue;
    const folder = join(paths.merges, name);
    const left = await removeTrial(await repositoryOf(git, folder), folder);
    if (left !== null) say(left);
  }
}

/** Returns git for the repository of a trial, which may be another one; without one, the given git. */
async function repositoryOf(git: Git, folder: string): Promise<Git> {
  try {
    const found = (
      await must(git, ["rev-parse", "--path-format=absolute", "--git-common-dir"], { cwd: folder })
    ).trim();
    return (args, options = {}) => git(args, { cwd: found, ...options });
  } catch (error) {
    if (error instanceof Error && !isCode(error, "ENOENT")) return git;
    throw error;
  }
}
