/** How merges are found and named in replies, refusals, events and messages. */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ActorRow } from "../../../protocol/lock.ts";
import type { MergeReason, MergeRow } from "../../../protocol/merge.ts";
import { ambiguity, matchesOf, nearestId } from "../ids.ts";
import type { Step } from "../outcome.ts";
import { isOpen, type Merge, type Merges, mergeOf } from "./table.ts";

/** Returns the merge that a request names by its id, a prefix of it or its last part; or a refusal. */
export function findMerge(merges: Merges, name: string): Merge | Refusal {
  const exact = merges.all.get(name);
  if (exact !== undefined) return exact;
  const matches = matchesOf(merges, name);
  const [first] = matches;
  if (first !== undefined && matches.length === 1) return mergeOf(merges, first);
  if (first === undefined) {
    const near = nearestId(merges, name);
    const hint = near === null ? "kite merge --list shows them" : `did you mean ${near}?`;
    return refuse("unknown_merge", `no merge ${name}; ${hint}`, { merge: name, nearest: near });
  }
  const { error, shown } = ambiguity("merges", name, matches);
  return refuse("ambiguous_merge", error, { merge: name, matches: shown });
}

export function isMerge(found: Merge | Refusal): found is Merge {
  return "branch" in found;
}

export function mergeRow(merge: Merge): MergeRow {
  const { n: _n, runner, ...row } = merge;
  return { ...row, attended: runner !== null };
}

/** Refuses what the state of the merge does not allow. */
export function stateRefusal({ id, state }: Merge, hint: string): Refusal {
  return refuse("merge_state", `${id} is ${state}; ${hint}`, { merge: id, status: state });
}

/** Returns `main` for `refs/heads/main`. */
export function shortName(branch: string): string {
  return branch.replace(/^refs\/heads\//, "");
}

/** Emits the event of a merge's new state, about its author and whoever queued it. */
export function announce(step: Step, merge: Merge, by: ActorRow | null): void {
  const { id, project, base, branch, state, commit, reason, author } = merge;
  const about = [author?.id, merge.by?.id, by?.id].filter(session => session !== undefined);
  const end = { commit: state === "merged" ? commit : null, reason: isOpen(merge) ? null : reasonOf(reason) };
  step.events.push({
    event: { event: "merge_changed", merge: id, project, base, branch, state, ...end, by },
    about: [...new Set(about)],
    project,
  });
}

function reasonOf(reason: MergeReason | null): string | null {
  return reason === null ? null : reason.text.slice(0, limits.quoteChars);
}
