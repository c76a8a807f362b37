/** How merges are found and named in replies, refusals, events and messages. */
import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import type { MergeReason, MergeRow } from "../../../../protocol/lead/merge.ts";
import { limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { ambiguity, isShortOf, matchesOf, nearestId, scopeOf } from "../../ids.ts";
import type { Step } from "../../outcome.ts";
import { isOpen, type Merge, type Merges, mergeOf } from "./table.ts";

/**
 * Returns the merge that a request names, or a refusal. A name is a whole id, or for a merge of `project` a prefix of the id
 * or its last part, which must be unambiguous there. Null: whole ids alone.
 */
export function findMerge(merges: Merges, name: string, project: string | null): Merge | Refusal {
  const exact = merges.all.get(name);
  if (exact !== undefined) return exact;
  const matches = project === null ? [] : matchesOf(merges, name, scopeOf(project));
  const [first] = matches;
  if (first !== undefined && matches.length === 1) return mergeOf(merges, first);
  if (first === undefined) return unknownMerge(merges, name, project);
  const { error, shown } = ambiguity("merges", name, matches);
  return refuse("ambiguous_merge", error, { merge: name, matches: shown });
}

/** Refuses an unknown name with the nearest id of the project. */
function unknownMerge(merges: Merges, name: string, project: string | null): Refusal {
  const near = project === null ? null : nearestId(merges, name, scopeOf(project));
  const isShort = isShortOf("mg", name);
  const where = isShort && project !== null ? " in this project" : "";
  const hint = near === null ? "kite merge --list shows them" : `did you mean ${near}?`;
  const other = isShort ? "; a merge of another project needs its whole id" : "";
  return refuse("unknown_merge", `no merge ${name}${where}; ${hint}${other}`, { merge: name, nearest: near });
}

export function isMerge(found: Merge | Refusal): found is Merge {
  return "branch" in found;
}

export function mergeRow(merge: Merge): MergeRow {
  const { n: _n, runner, notice: _notice, ...row } = merge;
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
