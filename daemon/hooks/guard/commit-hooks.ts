/**
 * Commits whose hook stashes or rewrites the working tree in which others work.
 *
 * Edits of others there wait until the commit's line has ended, `limits.commitHookWaitMs` at most: what they wrote meanwhile
 * would go into the stash, or under the hook's own files. What a hook is seen to do counts from then on, whatever its text
 * says. In memory only: after a restart nothing waits, and a hook is seen anew.
 */

import { createHash } from "node:crypto";
import { limits } from "../../../protocol/limits.ts";
import type { Actor, Written } from "../../core/frame/actors.ts";
import { stashKey } from "../../core/tables/uncommitted.ts";
import { latestOf } from "../../core/work/dirty-files.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../options.ts";
import { nameOf } from "../../views/sessions.ts";
import { worksIn } from "../../worktree/uncommitted.ts";
import type { ActionOf, HookEvent } from "../event.ts";
import type { Placed } from "./findings.ts";
import type { HookedCommits, RunningCommit, StashLines } from "./memory.ts";
import { othersIn } from "./shared-places.ts";

/** A guarded line is about to run: notes its first commit with a hook in a worktree where others work. */
export async function commitBegins(
  event: HookEvent,
  commits: HookedCommits,
  actor: Actor,
  { toolUseId, promptId: prompt, typed }: ActionOf<"guard">,
  placed: readonly Placed[],
  holds: boolean,
): Promise<void> {
  const { facts } = event;
  for (const { command, place, isSupposed, blind } of placed) {
    const isHooked = /^git commit\b/.test(command.name) && command.skipsHooks !== true;
    if (!isHooked || isSupposed || blind !== undefined) continue;
    if (othersIn(event, actor, ({ worktree }) => worktree === place.worktree).length === 0) continue;
    const found = await facts.commitHooks(place);
    // Without a hook, or if none can be read, nothing waits.
    if ("unreachable" in found || found.text === "") continue;
    const list = await facts.stashes(place);
    const isListed = !("unreachable" in list);
    const project = isListed ? list.project : place.gitDir;
    const hooks = createHash("sha256").update(`${project}\n${found.text}`).digest("base64url");
    const stashes = isListed ? new Set(list.entries.map(({ commit }) => commit)) : null;
    const isPlain = typed.split(/&&|\|\||[;\n]/).every(part => /^\s*(?:git\s[^|&<>`$]*)?$/.test(part));
    const isRewriting = found.rewrites || commits.hasSeen(hooks);
    commits.began(
      toolUseId,
      { actor, prompt, place, project, hooks, stashes, isPlain },
      holds && isRewriting && !event.observes,
    );
    return;
  }
}

/**
 * The line has ended. A stash entry that its hook left is its session's, and whoever has work in it is told. `changed`: files
 * with work that something else than git's own commands changed while it ran. Returns the keys of the files that were told.
 */
export async function commitEnds(
  event: HookEvent,
  commits: HookedCommits,
  stashLines: StashLines,
  toolUseId: string,
  ancestors: readonly (string | null)[],
  changed: readonly Written[],
): Promise<ReadonlySet<string>> {
  const told = new Set<string>();
  const commit = commits.ended(toolUseId);
  if (commit === null) return told;
  const left = await entriesLeft(event, stashLines, commit);
  if (left.length > 0 || (commit.isPlain && changed.length > 0)) commits.noteSeen(commit.hooks);
  if (left.length === 0) return told;
  const { actor, project, place } = commit;
  const wallMs = event.clock.wall();
  const rest = { type: "stashes_noted", actor, project, wallMs, gone: [], takenBy: null } as const;
  await event.engine.submitAndWait({ ...rest, made: left });
  for (const entry of left) {
    const files = await filesIn(event, place, entry);
    const works = worksIn(event, place.worktree).filter(({ file }) => files.has(file));
    if (works.length === 0) continue;
    for (const { key } of works) told.add(key);
    await event.engine.submitAndWait({
      type: "work_taken",
      actor,
      name: nameOf(event, actor),
      ancestors,
      how: "discarded",
      commit: entry.slice(0, limits.commitIdChars),
      command: "git commit",
      files: works.map(work => ({ key: work.key, seq: latestOf(work).seq })),
    });
  }
  return told;
}

/** The entries that are new, and that no other line can have made. The oldest first. */
async function entriesLeft(
  { engine, facts }: Services,
  stashLines: StashLines,
  { actor, project, place, stashes }: RunningCommit,
): Promise<readonly string[]> {
  if (stashes === null || stashLines.isBeside(project, actor)) return [];
  const list = await facts.stashes(place);
  if ("unreachable" in list) return [];
  const { entries } = engine.state.stashes;
  return list.entries
    .map(({ commit }) => commit)
    .filter(commit => !stashes.has(commit) && !entries.has(stashKey({ project, commit })))
    .reverse();
}

/** The files that an entry puts away: changed ones, and untracked ones if it has these. */
async function filesIn({ facts }: Services, place: GitPlace, entry: string): Promise<ReadonlySet<string>> {
  const [changed, untracked] = await Promise.all([
    facts.commitDiff(place, [`${entry}^1`, entry]),
    facts.commitDiff(place, [null, `${entry}^3`]),
  ]);
  const namesOf = (diff: typeof changed) => ("unreachable" in diff ? [] : [...diff.keys()]);
  return new Set([...namesOf(changed), ...namesOf(untracked)]);
}
