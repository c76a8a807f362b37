/** The worktrees in which merges are tried: one folder each, below Kite's own directory. */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isCode } from "../../hooks/install/file.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { Client } from "../process-context.ts";
import { rowsOf } from "../with-daemon.ts";
import { type Git, type GitOptions, must } from "./git.ts";

const finishes: GitOptions = { finishes: true };

/** Returns the folder of one run of a merge, which no other run has. */
export function trialFolder(
  { merges }: KitePaths,
  { id, runs }: { readonly id: string; readonly runs: number },
): string {
  return join(merges, `${id}.${runs}`);
}

/** Removes a worktree and what git notes of it, also if only one of both is there. Goes on after an interrupt. */
export async function removeTrial(git: Git, folder: string): Promise<void> {
  // Twice by force: a worktree that was being made when its maker was killed is locked.
  const { code } = await git(["worktree", "remove", "--force", "--force", folder], finishes);
  if (code !== 0) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Makes the folder of all trials, and removes what runners that are gone left in it. */
export async function sweepTrials(client: Client, paths: KitePaths, git: Git): Promise<void> {
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
    await removeTrial(await repositoryOf(git, folder), folder);
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
