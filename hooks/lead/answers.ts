/** Words what gates found missing: all of it at once, with an example that fits; the same once more in one line. */

import type { ShellUses } from "../../protocol/guard.ts";
import { type GateFinding, type GateName, heldTo, rightsOf } from "../../protocol/lead/roles.ts";
import type { TaskBrief, TeamFinding } from "../../protocol/lead/team.ts";
import { limits } from "../../protocol/limits.ts";
import { personName, personOnWire } from "../../protocol/names.ts";
import { duration, frame, nearPath, nearPathsIn, plain, quote } from "../../protocol/text.ts";
import {
  type Answer,
  block,
  declareBy,
  deny,
  howToWrite,
  nothing,
  outcomeOf,
  type Reader,
  withContext,
} from "../plans/answers/answer.ts";
import { type Edit, type Edits, lineTool } from "../plans/answers/lock.ts";
import type { Heading } from "../plans/answers/notes.ts";
import type { Asking, Completion } from "../plans/plan-parts.ts";
import type { HookOutcome } from "../seam/slices.ts";
import type { GateOutcome, HealthNote, RiskNote, RoleNote, TeammateNote } from "./seam.ts";

/** Longest sentence of a gate, in UTF-16 units. */
const sentenceChars = 600;

export const beforeWrite: Asking<Edit & { readonly isOwn: boolean }> = {
  did: "gate_write",
  asks: ({ file, cwd, isOwn }, actor) => ({ do: "gate_write", ...actor, file, cwd, isOwn }),
  answer: (edit, outcomes, rest) => withGate(edit, outcomeOf(outcomes, "gate_write"), rest),
};

export const beforeFiles: Asking<Reader & { readonly files: readonly string[] }> = {
  did: "gate_files",
  asks: ({ files, cwd }, actor) =>
    files.length === 0
      ? null
      : { do: "gate_files", ...actor, files: files.slice(0, limits.gatedFilesMax), cwd },
  answer: (reader, outcomes, rest) => {
    const found = outcomeOf(outcomes, "gate_files");
    return withGate({ ...reader, tool: lineTool, file: found?.file ?? "", waitMs: 0 }, found, rest);
  },
};

export const beforePatch: Asking<Edits> = {
  did: "gate_files",
  asks: ({ files, cwd }, actor) => ({
    do: "gate_files",
    ...actor,
    files: files.slice(0, limits.gatedFilesMax),
    cwd,
    hasNewFiles: true,
  }),
  answer: (edit, outcomes, rest) => {
    const found = outcomeOf(outcomes, "gate_files");
    return withGate({ ...edit, file: found?.file ?? edit.file }, found, rest);
  },
};

export const beforeShell: Asking<ShellUses & Reader> = {
  did: "gate_shell",
  asks: ({ cwd, uses, aliases }, actor) =>
    uses.length + aliases.length === 0 ? null : { do: "gate_shell", ...actor, cwd, uses, aliases },
  answer: withShellGate,
};

/** A denial by a gate, else the answer of the lock, with what gates warn of. */
function withGate(edit: Edit, found: GateOutcome | undefined, lock: () => Answer): Answer {
  if (found === undefined || found.verdict === "allow") return lock();
  const gated = near(found, edit);
  if (gated.verdict === "allow_with_note") return withContext(lock(), warning(edit, gated));
  const held = gated.findings.filter(({ mode }) => mode === "enforce");
  if (isOfRole(held)) return deny(`Kite: this ${edit.tool} did not run. ${findingsText(held)}.`);
  if (gated.isRepeated) {
    return deny(
      `Kite: this ${edit.tool} did not run, for the same reasons as before: ${fields(held)}. ${supply(edit)}`,
    );
  }
  return deny(
    [
      `Kite: this ${edit.tool} did not run. Before it, this project asks you for:`,
      ...form(edit, gated, held),
    ].join("\n"),
  );
}

/** A denial of a shell line by the agent's role, else the answer of the guard, with what the gate warns of. */
function withShellGate(reader: Reader, outcomes: readonly HookOutcome[], guard: () => Answer): Answer {
  const found = outcomeOf(outcomes, "gate_shell");
  if (found === undefined || found.verdict === "allow") return guard();
  const gated = near(found, reader);
  const text = findingsText(gated.findings);
  if (gated.verdict === "deny") return deny(`Kite: this command line did not run. ${text}.`);
  return withContext(guard(), `Kite: your command line runs. ${text}.`);
}

/** What gates found, with files named as the agent's directory has them, and the tool by which it writes to others. */
function near(gated: GateOutcome, reader: Reader): GateOutcome {
  const findings = gated.findings.map(finding => ({
    ...finding,
    missing: finding.missing.map(sentence =>
      nearPathsIn(sentence, reader.cwd).replace("(kite message send)", `(${howToWrite(reader)})`),
    ),
  }));
  return { ...gated, findings };
}

/** Whether only the agent's role is in the way: there is nothing to supply. */
function isOfRole(findings: readonly GateFinding[]): boolean {
  return findings.length > 0 && findings.every(({ gate }) => gate === "role");
}

function supply(reader: Reader): string {
  return `Supply them${declareBy(reader)} kite declare --example`;
}

/** The agent goes on instead of stopping. */
export const beforeStop: Asking<null> = {
  did: "gate_stop",
  asks: (_step, actor) => ({ do: "gate_stop", ...actor }),
  answer: (_step, outcomes, rest) => {
    const held = heldBack(outcomes, "gate_stop");
    if (held === null) return rest();
    return block(
      [
        `Kite: you stop on an error: ${findingsText(held.findings)}.`,
        "What to do: mend it and go on. If it does not matter, or you need your user, say so in your answer and stop again.",
      ].join("\n"),
    );
  },
};

/** The task is not completed. */
export const beforeCompletion: Asking<Completion> = {
  did: "gate_complete",
  asks: ({ cwd }, actor) => ({ do: "gate_complete", ...actor, cwd }),
  answer: (by, outcomes, rest) => {
    const reader = { ...by, cwd: by.cwd ?? "/" };
    const found = heldBack(outcomes, "gate_complete");
    if (found === null) return rest();
    const held = near(found, reader);
    if (held.isRepeated)
      return block(
        `Kite: the task is not completed, for the same reasons as before: ${fields(held.findings)}.`,
      );
    return block(
      ["Kite: the task is not completed yet. It needs:", ...list(held.findings), how(reader)].join("\n"),
    );
  },
};

function heldBack(outcomes: readonly HookOutcome[], did: GateOutcome["did"]): GateOutcome | null {
  const gated = outcomeOf(outcomes, did);
  return gated?.verdict === "deny" ? gated : null;
}

function how(reader: Reader): string {
  return `What to do: supply what is missing${declareBy(reader)} kite declare --help; then complete it again.`;
}

function warning(edit: Edit, gated: GateOutcome): string {
  return [
    `Kite: your ${edit.tool === lineTool ? lineTool : "edit"} runs. This project asks you for this, too:`,
    ...form(edit, gated, gated.findings),
  ].join("\n");
}

/** What is missing, and where a declaration helps, one that this agent may send for this file. */
function form(edit: Edit, { task }: GateOutcome, findings: readonly GateFinding[]): string[] {
  const isDeclared = findings.some(({ gate }) => gate !== "delegation" && gate !== "role");
  const example = [`Declare all of it in one call${declareBy(edit)}`, ...exampleFor(edit, task, findings)];
  return [...list(findings), ...(isDeclared ? example : [])];
}

function list(findings: readonly GateFinding[]): string[] {
  return findings.flatMap(({ missing }) => missing.map(sentence => `- ${plain(sentence, sentenceChars)}`));
}

function findingsText(findings: readonly GateFinding[]): string {
  return findings
    .flatMap(({ missing }) => missing.map(sentence => plain(sentence, sentenceChars)))
    .join("; ");
}

/** What is missing by the names of its fields. */
function fields(findings: readonly GateFinding[]): string {
  const names = findings.flatMap(({ missing }) =>
    missing.map(sentence => sentence.split(":", 1)[0] ?? sentence),
  );
  return [...new Set(names)].map(name => plain(name, sentenceChars)).join(", ");
}

/** A declaration of what is missing, for a shell, with room for the agent's own words. The task is the one that it claimed. */
function exampleFor({ file, cwd }: Edit, task: string | null, findings: readonly GateFinding[]): string[] {
  const text = (words: string) => JSON.stringify(plain(words, sentenceChars));
  const isMissing = (name: GateName) => findings.some(({ gate }) => gate === name);
  const understanding = `understanding: {task: ${text(task ?? "")}, confidence: , reason: "", plan: [""]}`;
  const codeView = `codeView: [{file: ${text(nearPath(file, cwd))}, sees: "", will: ""}]`;
  return [
    "kite declare - <<'EOF'",
    ...(isMissing("identity") ? ['identity: {role: ""}'] : []),
    ...(isMissing("understanding") ? [understanding] : []),
    ...(isMissing("codeView") ? [codeView] : []),
    "EOF",
  ];
}

// Words what the rules of a team found: what was wrong, and what to do instead, with the client's own tools.

export const teamHeadings: readonly Heading[] = [["a teammate of yours is gone", "teammate_gone"]];

export function teamAnswer(outcomes: readonly HookOutcome[]): Answer {
  const gated = outcomeOf(outcomes, "gate_team");
  if (gated === undefined || gated.verdict === "allow") return nothing;
  const reasons = gated.findings.map(finding => sentences(finding, gated.isTeammate)).join("\n");
  if (gated.verdict === "deny") return deny(`Kite: this call did not run. ${reasons}`);
  return withContext(nothing, `Kite: this call runs, but look again. ${reasons}`);
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

// What an agent is told of the health of agents that it leads, and of its own.

export function healthText(notes: readonly HealthNote[], reader: Pick<Reader, "isTeammate">): string {
  return [`Kite: ${headline(notes)}.`, frame, ...notes.map(note => line(note, reader))].join("\n");
}

function headline(notes: readonly HealthNote[]): string {
  const has = (wanted: HealthNote["what"]) => notes.some(({ what }) => what === wanted);
  const all = [
    has("stalled") ? "an agent that you lead gives no sign of life" : null,
    has("back") ? "an agent that you lead is back" : null,
    has("ended") ? "an agent that you lead has ended" : null,
    has("released") ? "what you had was given back" : null,
    has("asked") ? "nothing was heard of you for long" : null,
  ];
  return all.filter(text => text !== null).join("; ");
}

function line(note: HealthNote, reader: Pick<Reader, "isTeammate">): string {
  const who = note.name === personOnWire ? personName("agent") : quote(note.name, limits.nameBytes);
  if (note.what === "back") return `- ${who} gave a sign of life: what you were told of it no longer holds.`;
  if (note.what === "ended") return `- ${who} has ended: what you were told of it no longer holds.`;
  if (note.what === "released") return `- ${who} gave back ${hadText(note)}: ${againText(note)}.`;
  if (note.what === "asked")
    return `- you gave no sign for ${duration(note.forMs)}: if you are stuck or wait for someone, say so (${howToWrite(reader)}), and release what you will not finish (kite task release).`;
  return `- ${who} ${stalledText(note)}; it has ${hadText(note)}. Ask it or look at it; to give back what it has: kite release ${who}${note.spawned ? `; to resume it, or put another agent in its place: kite agents replace ${who}` : ""}`;
}

/** Returns what the agent has to do before it goes on; a task that it has still needs no claim. */
function againText({ tasks, locks }: HealthNote): string {
  const parts = [
    tasks.length === 0 ? "" : "claim a task anew before you go on with it",
    locks === 0 && tasks.length > 0 ? "" : "read files again before you edit them",
  ];
  return parts.filter(part => part !== "").join(", and ");
}

function stalledText({ state, forMs }: HealthNote): string {
  if (state === "stopped") return `is stopped by a signal for ${duration(forMs)}`;
  return `has given no sign of life for ${duration(forMs)}`;
}

function hadText({ tasks, taskNumbers, locks }: HealthNote): string {
  const named = taskNumbers.map(number => `#${number}`).join(", ");
  const parts = [
    tasks.length === 0 ? "" : `the ${tasks.length === 1 ? "task" : "tasks"} ${named}`,
    locks === 0 ? "" : `${locks} ${locks === 1 ? "lock" : "locks"}`,
  ].filter(part => part !== "");
  return parts.length === 0 ? "no task and no lock" : parts.join(" and ");
}

// What an agent is told of its role, and a lead of the red and critical tasks of its project.

export const roleHeadings: readonly Heading[] = [
  ["your role has changed", "role"],
  ["a task begins that needs a lead's care", "risk"],
];

export function roleLine({ role, by, mode = "off" }: RoleNote): string {
  const gave =
    by === "person"
      ? `your user gave you the role ${role}`
      : by === "spawn"
        ? `you began with the role ${role}`
        : `your user took back the role that you were given; your role is ${role}`;
  return `- ${gave}: ${rightsOf(role)}. ${heldTo(role, mode)}.`;
}

export function riskLine({ task, number, text, risk, other }: RiskNote): string {
  const who = other === null ? personName("agent") : quote(other, limits.nameBytes);
  const [named, typed] = number === undefined ? [quote(task), quote(task)] : [`task ${number}`, `${number}`];
  return `- ${who} begins ${named}, which is ${risk}: ${quote(text)}. You lead: look after it (kite task show ${typed}).`;
}
