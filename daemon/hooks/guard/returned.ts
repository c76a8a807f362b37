/**
 * Records the work that git brings back. A stash, or a commit taken back, makes settled work uncommitted again: it
 * belongs to its writers. What other commands bring (a commit picked, a version checked out) belongs to their actor.
 * The guard checks only files with work seen before; it never walks a directory.
 */
import type { Actor, Written } from "../../core/frame/actors.ts";
import type { DirtyFile } from "../../core/tables/base-state.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { FileState } from "../../facts/git/status.ts";
import { bringing } from "../../worktree/line-effects.ts";
import { isWithin } from "../../worktree/pathspec.ts";
import { bounded } from "../../worktree/uncommitted.ts";
import type { HookServices } from "../hook-services.ts";
import type { Placed } from "./findings.ts";
import type { Settled } from "./running-git-commands.ts";

/** Checks before the line runs: the latest `limits.guardPathsMax` files that settled in each worktree. */
export async function settledBefore(
  services: HookServices,
  placed: readonly Placed[],
): Promise<readonly Settled[]> {
  const found: Settled[] = [];
  for (const { command, place, base } of placed) {
    const brings = bringing(command);
    if (brings === null) continue;
    const { settled, settledIn } = services.engine.state.writes;
    const all = [...(settledIn.get(place.worktree) ?? [])].flatMap(key => settled.get(key) ?? []);
    const { paths } = command;
    const isReached = (file: string) => paths === null || isWithin(file, paths, base, place.worktree);
    const reached = all.filter(({ file }) => isReached(file)).reverse();
    const files = await filesThat(services, place, reached, isClean);
    if (files.length > 0) found.push({ place, isBack: brings === "back", files });
  }
  return found;
}

/** The line has ended: files that are uncommitted now get an owner. Returns them. */
export async function noteReturned(
  services: HookServices,
  actor: Actor,
  ancestors: readonly (string | null)[],
  settled: readonly Settled[],
): Promise<readonly Written[]> {
  const { engine, clock } = services;
  const all: Written[] = [];
  for (const { place, isBack, files } of settled) {
    const known = engine.state.writes.files;
    const returned = await filesThat(services, place, files, state => !isClean(state));
    const named = returned
      .filter(({ key }) => !known.has(key))
      .map(({ key, file, worktree, project }) => ({ key, file, worktree, project }));
    if (named.length === 0) continue;
    const noted = { files: named, by: "shell", ancestors, wallMs: clock.wall() } as const;
    await engine.submitAndWait({ type: isBack ? "work_returned" : "writes_noted", actor, noted });
    all.push(...named);
  }
  return all;
}

async function filesThat(
  { facts }: HookServices,
  place: GitPlace,
  files: readonly DirtyFile[],
  are: (state: FileState) => boolean,
): Promise<readonly DirtyFile[]> {
  if (files.length === 0) return [];
  const states = await facts.work(place, bounded(files.map(({ file }) => file)));
  // Unknown work would be anybody's to wipe: without a check all of it counts, and a later check settles the rest.
  if ("unreachable" in states) return files;
  return files.filter(({ file }) => {
    const state = states.get(file);
    return state !== undefined && are(state);
  });
}

function isClean({ staged, changed, untracked, ignored }: FileState): boolean {
  return !(staged || changed || untracked || ignored);
}
