/** Words what the rules of a team found: what was wrong, and what to do instead, with the client's own tools. */

import type { TaskBrief, TeamFinding } from "../../../protocol/lead/team.ts";
import { limits } from "../../../protocol/limits.ts";
import { plain, quote } from "../../../protocol/text.ts";
import type { TeammateNote } from "../../seam/lead/notices.ts";
import type { HookOutcome } from "../../seam/slices.ts";
import { type Answer, deny, nothing, withContext } from "../answers/answer.ts";
import type { Heading } from "../answers/note-lines.ts";
import { outcomeOf } from "../answers/outcome.ts";

export const teamHeadings: readonly Heading[] = [["a teammate of yours is gone", "teammate_gone"]];

export function teamAnswer(outcomes: readonly HookOutcome[]): Answer {
  const gated = outcomeOf(outcomes, "gate_team");
  if (gated === undefined || gated.verdict === "allow") return nothing;
  const said = gated.findings.map(finding => sentences(finding, gated.isTeammate)).join("\n");
  if (gated.verdict === "deny") return deny(`Kite: this call did not run. ${said}`);
  return withContext(nothing, `Kite: this call runs, but look again. ${said}`);
}

/** What is wrong, and what to do instead. Only a lead begins teammates. */
function sentences(finding: TeamFinding, isTeammate: boolean): string {
  switch (finding.rule) {
    case "blocked_claim": {
      const { task, blockers, ready } = finding;
      const by = blockers.slice(0, limits.teamNamedMax).map(waiting).join("; ");
      const more = blockers.length - limits.teamNamedMax;
      const rest = more > 0 ? `; and ${more} more` : "";
      return `Task ${id(task)} is blocked: it waits for ${by}${rest}. What to do: ${instead(ready)}Begin ${id(task)} when these are completed.`;
    }
    case "foreign_task": {
      const { task, worker, ends, ready } = finding;
      const who = worker === null ? "another session" : named(worker);
      if (ends !== null)
        return `${upper(who)} works on task ${id(task)}, and tasks that wait for it would begin before ${who} is done. What to do: ask ${who} to mark it ${ends} (SendMessage); your lead may do it, too.`;
      const ask = worker === null ? "Agree with that session" : `Ask ${who} (SendMessage)`;
      return `${upper(who)} works on task ${id(task)}. What to do: ${instead(ready)}${ask} if you need this one: its worker gives it back with TaskUpdate status "pending" and owner "", or the lead gives it to you by your name.`;
    }
    case "unknown_owner": {
      const { owner, isDead, members } = finding;
      const why = isDead
        ? "has ended, so nobody would do the task"
        : "is no member of this team, so nobody would do the task";
      const live = members.length === 0 ? "a member" : `one of ${members.map(named).join(", ")}`;
      return `${upper(named(owner))} ${why}. What to do: give it to ${live}, or ${isTeammate ? "ask your lead to begin a teammate of that name (SendMessage)" : "begin a teammate of that name first (Agent)"}.`;
    }
    case "dependency_cycle": {
      const [first = "", ...others] = finding.tasks.map(text);
      const way = [...others, first].map(task => `waits for ${task}`).join(", which ");
      return `This dependency closes a cycle: task ${first} ${way}. None of them could ever begin. What to do: leave this dependency out, or turn it round.`;
    }
    case "dead_letter":
      return `${upper(named(finding.to))} has ended: its process is gone, and nobody would read this message. What to do: ${isTeammate ? "write to another member, or ask your lead for a new teammate (SendMessage)" : "begin a new teammate (Agent) for its work, or write to another one"}.`;
    case "moved_worktree": {
      const tool = text(finding.tool);
      return `You share your lead's process: ${tool} would move the whole session, your lead's folder too. What to do: use absolute paths in a worktree of your own (git worktree add), or ask your lead for an agent with isolation "worktree".`;
    }
  }
}

/** A teammate's end, for its lead. */
export function goneLine({ how, tasks }: TeammateNote, who: string): string {
  const ends = {
    died: "its process died",
    ended: "its session has ended",
    stopped: "it was stopped for good",
  } as const;
  const what = `- your teammate ${who} is gone: ${ends[how]}.`;
  if (tasks === undefined)
    return `${what} Kite could not read its tasks: look with TaskList, and give away what it owned.`;
  if (tasks.length === 0) return `${what} It owned no open task.`;
  const some = tasks.slice(0, limits.teamNamedMax);
  const shown = some
    .map(({ task, subject }) => `${text(task)} ${quote(subject, limits.nameBytes)}`)
    .join(", ");
  const more = tasks.length - some.length;
  const rest = more > 0 ? ` and ${more} more` : "";
  return `${what} Still ${who}'s, with nobody at work: ${shown}${rest}. Give each to another member (TaskUpdate with owner), or set it to pending with owner "".`;
}

function waiting({ task, subject, status, owner }: TaskBrief): string {
  const by = owner === null ? "nobody owns it" : `${named(owner)} owns it`;
  return `${text(task)} ${quote(subject, limits.nameBytes)} (${status === "in_progress" ? "in progress" : status}, ${by})`;
}

/** A task that the agent may take now. */
function instead(ready: readonly TaskBrief[]): string {
  if (ready.length === 0) return "";
  const shown = ready.map(task => `${text(task.task)} ${quote(task.subject, limits.nameBytes)}`).join(", ");
  return `take a task that is ready: ${shown}. `;
}

function id({ task, subject }: TaskBrief): string {
  return `${text(task)} ${quote(subject, limits.nameBytes)}`;
}

function named(name: string): string {
  return quote(name, limits.nameBytes);
}

function text(words: string): string {
  return plain(words, limits.nameBytes);
}

function upper(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
