/** Which words and options of `kite merge` fit together. Pure. */
import { limits } from "../../../protocol/limits.ts";
import type { MergeFlags } from "./merge.ts";

export interface MergeUsage extends MergeFlags {
  readonly pr?: boolean;
  readonly list?: boolean;
  readonly cancel?: string;
  readonly project?: string;
}

/** Returns a sentence if the command line says something that would not count, else null. */
export function wrongUsage(names: readonly string[], flags: MergeUsage): string | null {
  return aboutQueue(names, flags) ?? aboutNames(names, flags);
}

/** `--list` and `--cancel` take nothing else: what else was meant would be left undone. */
function aboutQueue(names: readonly string[], flags: MergeUsage): string | null {
  const { list = false, cancel, project, into, check, dryRun, rebase, pr } = flags;
  if (project?.trim() === "") return "--project needs the path of a project";
  if (!list && cancel === undefined)
    return project === undefined
      ? null
      : "--project goes with --list or --cancel; to merge, run kite merge there";
  if (list && cancel !== undefined) return "use --list or --cancel, not both";
  if (cancel?.trim() === "") return "--cancel needs the id of a merge; kite merge --list shows them";
  const given = [
    ...(into === undefined ? [] : ["--into"]),
    ...(check === true ? ["--check"] : []),
    ...(dryRun === true ? ["--dry-run"] : []),
    ...(rebase === true ? ["--rebase"] : []),
    ...(pr === true ? ["--pr"] : []),
    ...names,
  ];
  const [first] = given;
  if (first === undefined) return null;
  return list
    ? `--list shows all merges of the project; leave out ${first}`
    : `--cancel takes one merge, by its id; leave out ${first}`;
}

function aboutNames(names: readonly string[], flags: MergeUsage): string | null {
  const { into, check, rebase, pr, dryRun } = flags;
  if (pr === true && names.length !== 1) return "--pr takes one branch, or one agent";
  if (pr === true && (check === true || rebase === true || dryRun === true))
    return "--pr goes with --into alone: it merges nothing here, and asks you";
  if (into?.trim() === "") return "--into needs the name of a branch, such as main";
  if (names.some(name => name.trim() === "")) return "one of the names is empty; name branches, or agents";
  if (names.length > limits.mergeBranchesMax)
    return `one command merges at most ${limits.mergeBranchesMax} branches; name fewer`;
  const [how] = [...(check === true ? ["--check"] : []), ...(rebase === true ? ["--rebase"] : [])];
  if (how === undefined || names.length > 0) return null;
  // What waits is merged as it was queued: that moves the base, whatever is asked for now.
  return `${how} needs the names of branches or agents; without names kite merge merges what waits, as it was queued`;
}
