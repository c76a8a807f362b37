/** Words what the git guard found of worktrees that a shell line removes or moves while others' sessions are open there. */
import type { ForeignSession, GuardedCommand, GuardFinding } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { frame, nearPath, quote } from "../../../protocol/text.ts";

/** A finding about live sessions, with the command it is about. */
export interface Displacing extends GuardFinding {
  readonly by: GuardedCommand;
}

/** The line names the worktree. */
export function displacedDenied(found: readonly Displacing[], cwd: string): string {
  return [
    `Kite: this command line did not run: ${effects(found, "in it ", "would")}.`,
    notes(found, cwd),
    `What to do: leave the worktree where it is until ${all(found).length === 1 ? "that session has" : "those sessions have"} ended, tell ${people(found)} what you need, or ask your user.`,
  ].join("\n");
}

/** Only the shell knows which worktree it is. */
export function displacedToldFirst(found: readonly Displacing[], cwd: string): string {
  return [
    `Kite: this command line did not run yet: Kite cannot tell which worktree it means, and ${effects(found, "in it ", "may")}.`,
    notes(found, cwd),
    "What to do: write the worktree's path out. If it is another worktree, or you mean theirs too, send exactly the same " +
      "command again: it will run.",
  ].join("\n");
}

/** The guard only warns. */
export function displacedWarned(found: readonly Displacing[], cwd: string): string {
  const will = found.some(({ isSupposed }) => isSupposed) ? "may" : "will";
  return [
    `Kite: ${effects(found, "", will)}. The command line runs anyway.`,
    notes(found, cwd),
    `Next time: tell ${people(found)} first.`,
  ].join("\n");
}

function effects(found: readonly Displacing[], where: string, will: "would" | "will" | "may"): string {
  const names = unique(found.map(({ by }) => `\`${by.name}\``)).join(" and ");
  const verbs = unique(found.map(({ by }) => (by.displaces === "moves" ? "move" : "remove"))).join(" and ");
  const whose = all(found).length === 1 ? "another agent's session is" : "other agents' sessions are";
  return `${names} ${where}${will} ${verbs} a worktree in which ${whose} open`;
}

function notes(found: readonly Displacing[], cwd: string): string {
  const sessions = all(found);
  const shown = sessions.slice(0, limits.guardFilesShownMax);
  const more = sessions.length - shown.length + Math.max(...found.map(finding => finding.more));
  const texts = [
    ...shown.map(one => `${quote(one.who, limits.nameBytes)} works in ${quote(nearPath(one.worktree, cwd))}`),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
  const doing = shown.flatMap(({ who, doing: what }) =>
    what === null ? [] : [`What ${quote(who, limits.nameBytes)} does: ${quote(what)}.`],
  );
  return [`${frame} ${texts.join("; ")}.`, ...doing].join(" ");
}

function people(found: readonly Displacing[]): string {
  const names = unique(all(found).map(({ who }) => quote(who, limits.nameBytes)));
  return names.slice(0, limits.guardWaysMax).join(" or ");
}

/** The sessions of all commands, each once. */
function all(found: readonly Displacing[]): readonly ForeignSession[] {
  const sessions = found.flatMap(({ sessions: here = [] }) => here);
  return [...new Map(sessions.map(one => [`${one.who}\n${one.worktree}`, one])).values()];
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
