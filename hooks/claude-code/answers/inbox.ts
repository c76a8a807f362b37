/** What an agent is shown of its inbox, with events that the client waits for. */

import { limits } from "../../../protocol/limits.ts";
import type { MessageRow } from "../../../protocol/message.ts";
import { frame, nearPath, quote } from "../../../protocol/text.ts";
import type { OverlapNote, StashTakenNote, TakenNote } from "../../seam/notices.ts";
import type { FileNote, HookAction, HookOutcome } from "../../seam/slices.ts";
import type { Actor } from "../agents.ts";
import { healthText } from "../lead/health.ts";
import { riskLine, roleLine } from "../lead/role.ts";
import { goneLine } from "../lead/team.ts";
import type { Plan } from "../plan-parts.ts";
import { outcomeOf } from "./outcome.ts";
import { alsoTellPerson, context, type LateEvent, nothing, withContext } from "./output.ts";

type Inbox = Extract<HookOutcome, { did: "inbox"; ok: true }>;

/** The event shows that its actor has read what it was shown before. */
export function readSoFar(actor: Actor): HookAction {
  return { do: "inbox", ...actor, take: false };
}

/**
 * Adds unread messages to the plan's answer. The inbox comes last, so that no message is shown before a wait for a
 * lock. `cwd` is the agent's directory.
 */
export function withInbox(
  event: "PreToolUse" | "UserPromptSubmit",
  actor: Actor,
  cwd: string,
  plan: Plan,
): Plan {
  return {
    ...plan,
    actions: [...plan.actions, { do: "inbox", ...actor, take: true }],
    answer: outcomes => {
      const said = plan.answer?.(outcomes) ?? nothing;
      const inbox = outcomeOf(outcomes, "inbox");
      if (inbox === undefined) return said;
      const { messages, dropped = 0, terminals = null } = inbox;
      const notes = unsaid(inbox.notes ?? [], outcomes);
      const parts = [
        ...(notes.length + dropped === 0 ? [] : [notesText(notes, dropped, cwd)]),
        ...(messages.length === 0 ? [] : [inboxText(inbox)]),
        ...(inbox.health === undefined || inbox.health.length === 0 ? [] : [healthText(inbox.health)]),
      ];
      const shown = parts.length === 0 ? said : withContext(event, said, parts.join("\n"));
      return terminals === null ? shown : alsoTellPerson(shown, terminalsText(terminals));
    },
  };
}

/**
 * Adds notices on files to the answer of an event that the client does not wait for. The client gives that answer to
 * the main agent, whichever agent made the call, so other agents get no notices here.
 */
export function withNotes(event: LateEvent, actor: Actor, cwd: string, plan: Plan): Plan {
  if (actor.agent !== undefined) return plan;
  return {
    ...plan,
    actions: [...plan.actions, { do: "notes", ...actor }],
    answer: outcomes => {
      const told = outcomeOf(outcomes, "notes");
      if (told === undefined || told.notes.length + told.dropped === 0) return nothing;
      return context(event, notesText(told.notes, told.dropped, cwd));
    },
  };
}

function inboxText({ messages, unread }: Inbox): string {
  const count = messages.length === 1 ? "a message" : `${messages.length} messages`;
  const more = unread === 0 ? "" : ` ${unread} more ${unread === 1 ? "is" : "are"} unread.`;
  return [
    `Kite: ${count} for you.${more}`,
    frame,
    ...messages.map(line),
    "To read them in full: kite message inbox. To answer: kite message send --reply ID TEXT",
  ].join("\n");
}

function line(message: MessageRow): string {
  const { id, undelivered, urgent, broadcast } = message;
  const text = quote(message.text, limits.shownMessagesChars);
  if (undelivered !== null) {
    return `- ${id} was not delivered: ${quote(undelivered, limits.nameBytes)} ended without reading it. You wrote: ${text}`;
  }
  const who = message.from === null ? "a person at a terminal" : quote(message.from.name, limits.nameBytes);
  const kind = [urgent ? "urgent" : "", broadcast ? "to everyone" : ""].filter(word => word !== "");
  return `- ${id} from ${who}${kind.length === 0 ? "" : ` (${kind.join(", ")})`}: ${text}`;
}

/** Drops conflicts on which another line of the same answer tells more: who changed the file, and how. */
function unsaid(notes: readonly FileNote[], outcomes: readonly HookOutcome[]): readonly FileNote[] {
  if (notes.length === 0) return notes;
  const granted = outcomeOf(outcomes, "lock");
  const changed = granted?.changedWhileWaiting && "path" in granted.reply ? granted.reply.path : null;
  const tells = (note: FileNote, file: string, other: string | null) =>
    note.what !== "conflict" && "other" in note && note.other === other && filesOf(note).includes(file);
  return notes.filter(note => {
    if (note.what !== "conflict") return true;
    if (note.file === changed && note.other === granted?.changedBy?.name) return false;
    return !notes.some(one => tells(one, note.file, note.other));
  });
}

function filesOf(note: FileNote): readonly string[] {
  if ("files" in note) return note.files;
  return "file" in note ? [note.file] : [];
}

function notesText(notes: readonly FileNote[], dropped: number, cwd: string): string {
  const older = `- ${dropped} older ${dropped === 1 ? "note is" : "notes are"} not shown. To read the trail: kite log`;
  return [
    `Kite: ${notes.length === 0 ? "other agents wrote files of yours" : headline(notes)}.`,
    frame,
    ...notes.map(note => noteLine(note, cwd)),
    ...(dropped === 0 ? [] : [older]),
  ].join("\n");
}

function headline(notes: readonly FileNote[]): string {
  const has = (...whats: readonly FileNote["what"][]) => notes.some(({ what }) => whats.includes(what));
  const all = [
    has("teammate_gone") ? "a teammate of yours is gone" : null,
    has("committed", "discarded")
      ? "git commands of other agents committed or removed uncommitted work of yours"
      : null,
    has("stash_taken") ? "another agent took stash entries of yours" : null,
    has("bypassed", "lost_update") ? "agents wrote files without holding their locks" : null,
    has("overlap") ? "another agent plans to change the same files as you" : null,
    has("conflict") ? "another agent writes the same files as you" : null,
    has("role") ? "your role has changed" : null,
    has("risk") ? "a task begins that needs a lead's care" : null,
  ];
  return all.filter(text => text !== null).join("; ");
}

/** What happened, and what to do about it. */
function noteLine(note: FileNote, cwd: string): string {
  if (note.what === "role") return roleLine(note);
  if (note.what === "risk") return riskLine(note);
  const who = note.other === null ? "another agent" : quote(note.other, limits.nameBytes);
  if (note.what === "teammate_gone") return goneLine(note, who);
  if (note.what === "stash_taken") return stashTakenLine(note, who);
  if ("files" in note) return takenLine(note, who, cwd);
  if (note.what === "overlap") return overlapLine(note, who, cwd);
  const { what, file, mine, other } = note;
  const it = quote(nearPath(file, cwd));
  if (what === "conflict") {
    const minutes = limits.conflictMs / 60_000;
    return `- you and ${who} both wrote ${it} within ${minutes} minutes: read it again before your next edit of it.`;
  }
  if (what === "bypassed") {
    return mine
      ? `- ${it}, in which ${who} has work, changed while your shell command ran: if your command changed it, tell ${who}, and do not edit the file through the shell.`
      : `- ${it}, in which you have work, changed while a shell command of ${who} ran: read it again before you go on.`;
  }
  if (!mine) return `- ${who} wrote ${it} after the lock had passed to you: read it again before you go on.`;
  const undone =
    other === null ? "other agents may have written it in between" : `${who} held the file by then`;
  return `- your write of ${it} came after your lock had ended, and ${undone}: read it again, and restore what your write undid.`;
}

function overlapLine({ file, will }: OverlapNote, who: string, cwd: string): string {
  const what = will === "" ? "" : ` and will: ${quote(will)}`;
  return `- ${who} declared ${quote(nearPath(file, cwd))}, too${what}. Agree with ${who} who changes it (kite message send) before you edit it.`;
}

function takenLine({ what, files, more, command, commit }: TakenNote, who: string, cwd: string): string {
  const rest = more === 0 ? [] : [`${more} more`];
  const all = [...files.map(file => quote(nearPath(file, cwd))), ...rest].join(", ");
  const by = `\`${command}\` of ${who}`;
  if (what === "committed") {
    const where = commit === null ? "" : ` as ${commit}`;
    const look = commit === null ? "git log -1" : `git show ${commit}`;
    return `- ${by} committed your uncommitted work in ${all}${where}: check it (${look}) before you go on, and do not commit it again.`;
  }
  const stashed = command.startsWith("git stash") ? " It may be in a stash: git stash list." : "";
  return `- ${by} removed your uncommitted work from the working tree: ${all}. Read the files again before you go on, and ask ${who} for the work.${stashed}`;
}

function stashTakenLine({ commits, more, command }: StashTakenNote, who: string): string {
  const ids = commits.map(commit => commit.slice(0, limits.commitIdChars));
  const all = [...ids, ...(more === 0 ? [] : [`${more} more`])].join(", ");
  const what =
    commits.length + more === 1 ? `a stash entry of yours (${all})` : `stash entries of yours (${all})`;
  const back = `git stash apply ${ids[0] ?? ""}`;
  return `- \`${command}\` of ${who} took ${what}: ask ${who} for the work. As long as git keeps a taken commit, you can apply it: ${back}`;
}

function terminalsText(count: number): string {
  return (
    `Kite: this session is open in ${count} terminals. Each counts as an agent of its own and waits for ` +
    "the files that the others edit. Continue in one of them, or fork the session."
  );
}
