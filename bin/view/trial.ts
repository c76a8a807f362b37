/** The output of `kite risk`. */
import type { Branch, Pair, Trial } from "../risk/trial.ts";
import { paint } from "./color.ts";
import { clean, counted, cut, type Screen, wrap } from "./text.ts";

export interface TrialData extends Trial {
  readonly branches: readonly Branch[];
  /** The trial covers every worktree, not only those with live sessions. */
  readonly all: boolean;
}

/** Files named of one pair; the rest are counted. */
const filesMax = 20;

/** `kite risk`: the pairs that would conflict, file by file; the others are counted. */
export function trialView(data: TrialData, screen: Screen): string[] {
  const { branches, pairs, left, all } = data;
  if (branches.length < 2) return wrap(few(branches, all), screen.width);
  const of = all ? `${branches.length} worktrees` : `${branches.length} worktrees with live sessions`;
  const lines = wrap(`Trial merges of what is committed in ${of}:`, screen.width);
  const shown = pairs.filter(pair => pair.conflicts?.length !== 0 || pair.uncommitted.length > 0);
  for (const pair of shown) lines.push("", ...pairLines(pair, screen));
  const quiet = pairs.length - shown.length;
  const cleanly = quiet === 1 ? "1 pair merges cleanly." : `${quiet} pairs merge cleanly.`;
  if (quiet > 0) lines.push("", ...wrap(cleanly, screen.width));
  const unseen = new Set(pairs.flatMap(pair => pair.unseen ?? []));
  for (const worktree of unseen) {
    const what = `! Git did not list the uncommitted files of ${clean(worktree)} in time.`;
    lines.push("", ...wrap(what, screen.width, 2));
  }
  if (left > 0) lines.push("", ...wrap(`${counted(left, "pair")} more, not tried.`, screen.width));
  return lines;
}

function few(branches: readonly Branch[], all: boolean): string {
  const [one] = branches;
  const more = all ? "" : " kite risk --all tries every worktree.";
  const what = all ? "worktree with a commit" : "worktree with live sessions";
  if (one === undefined) return `No ${what} in this repository.${more}`;
  return `Only one ${what}: ${clean(one.name)}. Nothing to merge it with.${more}`;
}

function pairLines({ a, b, conflicts, error, uncommitted }: Pair, screen: Screen): string[] {
  const names = `${clean(a)} and ${clean(b)}`;
  const count = conflicts?.length ?? 0;
  const verdict =
    conflicts === null
      ? `not tried: ${clean(error ?? "")}`
      : count === 0
        ? "merge cleanly"
        : `conflict in ${counted(count, "file")}`;
  const lines = wrap(`${names} ${verdict}`, screen.width, 2).map(line => paint(screen, "bold", line));
  lines.push(...fileLines(conflicts ?? [], screen));
  if (uncommitted.length > 0) {
    lines.push(...wrap("Uncommitted on both sides, not tried:", screen.width - 2).map(line => `  ${line}`));
    lines.push(...fileLines(uncommitted, screen));
  }
  return lines;
}

function fileLines(files: readonly string[], screen: Screen): string[] {
  const lines = files.slice(0, filesMax).map(file => `    ${cut(clean(file), screen.width - 4, "start")}`);
  if (files.length > filesMax) lines.push(`    and ${files.length - filesMax} more`);
  return lines;
}
