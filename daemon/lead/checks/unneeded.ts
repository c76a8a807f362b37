/** Which checks need no run: what their `when` names has not changed since they were last green. */
import type { UnneededRow } from "../../../protocol/lead/check.ts";
import { differingFiles, type StateFiles } from "../../core/lead/checks.ts";
import { resultKey } from "../../core/lead/tables/roles.ts";
import type { Unreachable } from "../../facts/filesystem.ts";
import { isCleanState } from "../../facts/worktree-state.ts";
import type { LeadServices } from "../services.ts";
import { concerning } from "./concerning.ts";
import { type Check, commandHash } from "./setting.ts";

type Needed = Pick<LeadServices, "engine" | "checks" | "facts" | "greenRuns">;

/** The state that a check's present one is compared with, and what it is. */
interface Since extends Pick<UnneededRow, "since"> {
  readonly state: Pick<StateFiles, "commit" | "changed"> & Partial<Pick<StateFiles, "absent">>;
}

/**
 * Returns the trusted checks of the worktree around `place` that need no run, or why nobody can tell. A check without `when`,
 * or whose latest run was red, is none of them. `base` is the commit that counts for a check which was never green; null:
 * such a check needs its run.
 */
export async function unneededChecks(
  services: Needed,
  place: string,
  base: string | null,
): Promise<readonly UnneededRow[] | Unreachable> {
  const { engine, checks, facts, greenRuns } = services;
  const all = await checks.for(place);
  if ("unreachable" in all) return all;
  const limited = all.checks.filter(({ when }) => when !== null);
  if (limited.length === 0) return [];
  const found = await facts.repository(place);
  if ("unreachable" in found) return found;
  const { gitDir } = found;
  const { project, worktree } = all;
  if (gitDir === null) return [];
  const { seq } = engine.state;
  const now = await facts.worktreeState({ worktree, gitDir });
  if ("unreachable" in now) return now;
  greenRuns.saw(worktree, now, seq);
  const changes = new Map<string | null, ReturnType<typeof facts.commitDiff>>();
  const diffFrom = (commit: string | null) => {
    const known = changes.get(commit) ?? facts.commitDiff({ worktree, gitDir }, [commit, now.commit]);
    changes.set(commit, known);
    return known;
  };
  const unneeded: UnneededRow[] = [];
  for (const check of limited) {
    const { name, when } = check;
    const command = commandHash(check.command);
    const since = sinceOf(services, { project, worktree, name }, command, base);
    if (since === null || when === null) continue;
    const diff = await diffFrom(since.state.commit);
    if ("unreachable" in diff) continue;
    const files = differingFiles({ absent: now.absent, ...since.state }, now, diff);
    if (files === null || (await isConcerned(check, files))) continue;
    unneeded.push({ name, command, when, since: since.since });
  }
  return unneeded;
}

async function isConcerned(check: Check, files: readonly string[]): Promise<boolean> {
  return (await concerning([check], files)).length > 0;
}

/** Returns the state to compare with; null: the check has to run whatever changed. */
function sinceOf(
  { engine, greenRuns }: Needed,
  place: { readonly project: string; readonly worktree: string; readonly name: string },
  command: string,
  base: string | null,
): Since | null {
  const last = engine.state.checks.results.get(resultKey(place));
  const isPresent = last?.command === command;
  if (isPresent && last.exit !== 0) return null;
  const run = greenRuns.of(place, command);
  if (run !== null) return { since: "green", state: run.state };
  // The daemon began anew since: of a commit without changes it still knows every file.
  if (isPresent && isCleanState(last))
    return { since: "green", state: { commit: last.commit, changed: new Map(), absent: "" } };
  return base === null ? null : { since: "base", state: { commit: base, changed: new Map() } };
}
