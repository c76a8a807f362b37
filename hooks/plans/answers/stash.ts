/** Words what the git guard found of stash entries that a shell line takes and that are not its agent's own. */
import type { ForeignStash, GuardedCommand, GuardFinding } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { duration, frame, quote, shellArgument } from "../../../protocol/text.ts";

/** A finding about stash entries, with the command it is about and the line's commands before that one. */
export interface ReachedStash extends GuardFinding {
  readonly by: GuardedCommand;
  readonly before: readonly GuardedCommand[];
}

/** The line takes entries of agents that are alive. */
export function stashDenied(reached: readonly ReachedStash[], cwd: string): string {
  const whose = people(reached);
  const unseen = unseenOf(reached);
  if (unseen !== null) {
    return [
      `Kite: this command line did not run: Kite could not read the stash list, of which ${names(reached)} in it may take ` +
        `entries of other agents. The reading failed: ${quote(unseen)}.`,
      entries(reached),
      "What to do: send the same command again in a moment. If it is denied again, work on something else, " +
        `tell ${whose} what you need, or ask your user.`,
    ].join("\n");
  }
  return [
    `Kite: this command line did not run: ${names(reached)} in it would take ${count(reached)} of ${others(reached)}.`,
    entries(reached),
    `What to do: ${[...ownWay(reached, cwd), ...pushAlone(reached)].join("\n")}`,
    `Or tell ${whose} what you need, or ask your user.`,
  ].join("\n");
}

/** The line takes entries of ended sessions, or of the person. */
export function stashToldFirst(reached: readonly ReachedStash[], cwd: string): string {
  return [
    `Kite: this command line did not run yet: ${names(reached)} in it would take ${count(reached)} that ${be(reached)} not yours.`,
    entries(reached),
    `What to do: ${[...ownWay(reached, cwd), ...pushAlone(reached), ...lookFirst(reached)].join("\n")}`,
    `If you mean ${isOne(reached) ? "that entry" : "those entries"}, send exactly the same command again: it will run.`,
  ].join("\n");
}

/** The guard only warns. */
export function stashWarned(reached: readonly ReachedStash[], cwd: string): string {
  return [
    `Kite: ${names(reached)} will take ${count(reached)} that ${be(reached)} not yours. The command line runs anyway.`,
    entries(reached),
    `Next time: ${[...ownWay(reached, cwd), ...pushAlone(reached)].join("\n")}`,
  ].join("\n");
}

function names(reached: readonly ReachedStash[]): string {
  return unique(reached.map(({ by }) => `\`${by.name}\``)).join(" and ");
}

/** The entries of all commands, each once. */
function stashesIn(reached: readonly ReachedStash[]): readonly ForeignStash[] {
  const all = reached.flatMap(({ stashes = [] }) => stashes);
  return [...new Map(all.map(stash => [stash.commit, stash])).values()];
}

function isOne(reached: readonly ReachedStash[]): boolean {
  return stashesIn(reached).length === 1 && reached.every(({ more }) => more === 0);
}

function count(reached: readonly ReachedStash[]): string {
  return isOne(reached) ? "a stash entry" : "stash entries";
}

function be(reached: readonly ReachedStash[]): string {
  return isOne(reached) ? "is" : "are";
}

function others(reached: readonly ReachedStash[]): string {
  return isOne(reached) ? "another agent" : "other agents";
}

function entries(reached: readonly ReachedStash[]): string {
  const all = stashesIn(reached);
  const shown = all.slice(0, limits.stashesShownMax);
  const more = all.length - shown.length + Math.max(...reached.map(finding => finding.more));
  return `${frame} ${[...shown.map(madeBy), ...(more > 0 ? [`and ${more} more`] : [])].join("; ")}.`;
}

function madeBy(stash: ForeignStash): string {
  const { who, isLive, madeMs } = stash;
  const made = `${nameOf(stash)} was made`;
  const ago = `${duration(madeMs)} ago`;
  if (who === null) return `${made} ${ago}, and Kite did not see by whom: it counts as your user's`;
  return `${made} by ${quote(who, limits.nameBytes)}${isLive ? "" : " (session ended)"} ${ago}`;
}

function nameOf({ position, commit }: ForeignStash): string {
  return position === null ? `commit ${commit.slice(0, limits.commitIdChars)}` : `stash@{${position}}`;
}

/** The same for entries of the agent's own. */
function ownWay(reached: readonly ReachedStash[], cwd: string): readonly string[] {
  return unique(reached.map(one => ownWayOf(one, cwd))).slice(0, limits.guardWaysMax);
}

function ownWayOf({ by, ownStashes = [], worktree }: ReachedStash, cwd: string): string {
  const git = by.dir === cwd ? "git" : `git -C ${shellArgument(worktree)}`;
  const [first] = ownStashes;
  if (first === undefined) return "leave it where it is: no entry in the list is yours.";
  if (by.name === "git stash branch") return `name your own: ${git} stash branch NAME stash@{${first}}`;
  if (/^git stash (?:pop|apply|drop)$/.test(by.name))
    return `name your own: ${by.name.replace("git", git)} stash@{${first}}`;
  // Each one that goes changes the positions of those below it.
  const drops = ownStashes.toSorted((a, b) => b - a).map(n => `${git} stash drop stash@{${n}}`);
  return `drop only your own: ${drops.join(" && ")}`;
}

/** An earlier command of the line was to make the entry, and may find nothing to put away. */
function pushAlone(reached: readonly ReachedStash[]): readonly string[] {
  const push = reached.flatMap(({ before }) => before).find(({ stash }) => stash?.does === "make");
  if (push === undefined) return [];
  return [
    `Kite cannot tell whether \`${push.name}\` before it puts anything away: send that one in a line of its own first.`,
  ];
}

function lookFirst(reached: readonly ReachedStash[]): readonly string[] {
  const [first] = stashesIn(reached);
  return first === undefined
    ? []
    : [`To look at it first: git stash show -p ${first.position === null ? first.commit : nameOf(first)}`];
}

/** The live makers, whom the agent can ask. */
function people(reached: readonly ReachedStash[]): string {
  const living = stashesIn(reached).flatMap(({ who, isLive }) => (isLive && who !== null ? [who] : []));
  return unique(living)
    .slice(0, limits.guardWaysMax)
    .map(who => quote(who, limits.nameBytes))
    .join(" or ");
}

function unseenOf(reached: readonly ReachedStash[]): string | null {
  return reached.find(({ unseen }) => unseen !== undefined)?.unseen ?? null;
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
