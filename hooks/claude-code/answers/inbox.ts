/** What an agent is shown of its inbox, with events that wait. */

import { limits } from "../../../protocol/limits.ts";
import type { MessageRow } from "../../../protocol/message.ts";
import { frame, nearPath, quote } from "../../../protocol/text.ts";
import type { FileNote, TakenNote } from "../../seam/notices.ts";
import type { HookAction, HookOutcome } from "../../seam/plan.ts";
import type { Actor } from "../agents.ts";
import type { Plan } from "../plan-parts.ts";
import { alsoTellPerson, context, type LateEvent, nothing, withContext } from "./output.ts";

type Inbox = Extract<HookOutcome, { did: "inbox"; ok: true }>;
type Notes = Extract<HookOutcome, { did: "notes"; ok: true }>;
type Granted = Extract<HookOutcome, { did: "lock"; ok: true }>;

/** An event of the actor's: it has read what it was shown before. */
export function readSoFar(actor: Actor): HookAction {
  return { do: "inbox", ...actor, take: false };
}

/**
 * The plan, and with its answer what is unread; last, so that nothing is shown that waits for a lock first. `cwd` is where
 * the agent reads it.
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
      const said = plan.answer?.(outcomes.filter(o => o.did !== "inbox")) ?? nothing;
      const inbox = outcomes.find((o): o is Inbox => o.did === "inbox" && o.ok);
      if (inbox === undefined) return said;
      const { messages, dropped = 0, terminals = null } = inbox;
      const notes = unsaid(inbox.notes ?? [], outcomes);
      const parts = [
        ...(notes.length + dropped === 0 ? [] : [notesText(notes, dropped, cwd)]),
        ...(messages.length === 0 ? [] : [inboxText(inbox)]),
      ];
      const shown = parts.length === 0 ? said : withContext(event, said, parts.join("\n"));
      return terminals === null ? shown : alsoTellPerson(shown, terminalsText(terminals));
    },
  };
}

/**
 * The plan of an event that nobody waits for, and with its answer what went past locks. The client gives that answer
 * to the main agent, whoever made the call: for others nothing is told.
 */
export function withNotes(event: LateEvent, actor: Actor, cwd: string, plan: Plan): Plan {
  if (actor.agent !== undefined) return plan;
  return {
    ...plan,
    actions: [...plan.actions, { do: "notes", ...actor }],
    answer: outcomes => {
      const told = outcomes.find((o): o is Notes => o.did === "notes" && o.ok);
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
    "Read them whole: kite message inbox. Answer: kite message send --reply ID TEXT",
  ].join("\n");
}

function line(message: MessageRow): string {
  const { id, undelivered, urgent, broadcast } = message;
  const text = quote(message.text, limits.shownMessagesChars);
  if (undelivered !== null) {
    return `- ${id} came back: ${quote(undelivered, limits.nameBytes)} has gone without reading what you wrote: ${text}`;
  }
  const who = message.from === null ? "a person at a terminal" : quote(message.from.name, limits.nameBytes);
  const kind = [urgent ? "urgent" : "", broadcast ? "to everyone" : ""].filter(word => word !== "");
  return `- ${id} from ${who}${kind.length === 0 ? "" : ` (${kind.join(", ")})`}: ${text}`;
}

/** Without conflicts of which another line of the same answer tells more: who changed the file, and how. */
function unsaid(notes: readonly FileNote[], outcomes: readonly HookOutcome[]): readonly FileNote[] {
  const granted = outcomes.find((o): o is Granted => o.did === "lock" && o.ok);
  const changed = granted?.changedWhileWaiting && "path" in granted.reply ? granted.reply.path : null;
  const tells = (note: FileNote, file: string, other: string | null) =>
    note.what !== "conflict" && note.other === other && filesOf(note).includes(file);
  return notes.filter(note => {
    if (note.what !== "conflict") return true;
    if (note.file === changed && note.other === granted?.changedBy?.name) return false;
    return !notes.some(one => tells(one, note.file, note.other));
  });
}

function filesOf(note: FileNote): readonly string[] {
  return "files" in note ? note.files : [note.file];
}

function notesText(notes: readonly FileNote[], dropped: number, cwd: string): string {
  const older = `- and ${dropped} older ${dropped === 1 ? "note" : "notes"} there was no room for: kite log`;
  return [
    `Kite: ${notes.length === 0 ? "files of yours were written by others" : headline(notes)}.`,
    frame,
    ...notes.map(note => noteLine(note, cwd)),
    ...(dropped === 0 ? [] : [older]),
  ].join("\n");
}

function headline(notes: readonly FileNote[]): string {
  const has = (...whats: readonly FileNote["what"][]) => notes.some(({ what }) => whats.includes(what));
  const all = [
    has("committed", "discarded") ? "git commands of others took uncommitted work of yours" : null,
    has("bypassed", "lost_update") ? "files were written past their locks" : null,
    has("conflict") ? "another agent writes what you write" : null,
  ];
  return all.filter(text => text !== null).join("; ");
}

/** What happened to a file, and what to do about it. */
function noteLine(note: FileNote, cwd: string): string {
  const who = note.other === null ? "another agent" : quote(note.other, limits.nameBytes);
  if ("files" in note) return takenLine(note, who, cwd);
  const { what, file, mine, other } = note;
  const it = quote(nearPath(file, cwd));
  if (what === "conflict") {
    const minutes = limits.conflictMs / 60_000;
    return `- you and ${who} both wrote ${it} within ${minutes} minutes: read it again before you build on it.`;
  }
  if (what === "bypassed") {
    return mine
      ? `- your shell command changed ${it}, where ${who} is at work: tell ${who}, and do not edit it through the shell.`
      : `- a shell command of ${who} changed ${it}, where you are at work: read it again before you go on.`;
  }
  if (!mine) return `- ${who} wrote ${it} late, which you have now: read it again before you go on.`;
  const undone = other === null ? "others may have written it meanwhile" : `${who} had it by then`;
  return `- your write of ${it} came after its lock had ended, and ${undone}: read it again, and put back what your write undid.`;
}

function takenLine({ what, files, more, command, commit }: TakenNote, who: string, cwd: string): string {
  const rest = more === 0 ? [] : [`${more} more`];
  const all = [...files.map(file => quote(nearPath(file, cwd))), ...rest].join(", ");
  const by = `\`${command}\` of ${who}`;
  if (what === "committed") {
    const where = commit === null ? "" : ` as ${commit}`;
    const look = commit === null ? "git log -1" : `git show ${commit}`;
    return `- ${by} committed your uncommitted work in ${all}${where}: look (${look}) before you go on, and do not commit it again.`;
  }
  const stashed = command.startsWith("git stash") ? " It may be in a stash: git stash list." : "";
  return `- ${by} took your uncommitted work out of the working tree: ${all}. Read again before you go on, and ask ${who} for it.${stashed}`;
}

function terminalsText(count: number): string {
  return (
    `Kite: this session is open in ${count} terminals. Each counts as an agent of its own: what one edits, the others ` +
    "wait for. Go on in one of them, or fork the session."
  );
}
