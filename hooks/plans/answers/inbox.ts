/** What an agent is shown of its inbox, with events that the client waits for. */

import { limits } from "../../../protocol/limits.ts";
import { personName } from "../../../protocol/names.ts";
import type { MessageRow } from "../../../protocol/schemas/message.ts";
import { frame, quote } from "../../../protocol/text.ts";
import type { FileNote, HookAction, HookOutcome } from "../../seam/slices.ts";
import type { Actor, Event } from "../event.ts";
import type { Plan } from "../plan-parts.ts";
import { newsText, noteHeadings, noteLines, notesOfPeople } from "../slices.ts";
import { alsoTellPerson, nothing, outcomeOf, type Reader, readerOf, withContext } from "./answer.ts";
import type { NoteLine } from "./notes.ts";

type Inbox = Extract<HookOutcome, { did: "inbox"; ok: true }>;

/** The event shows that its actor has read what it was shown before. */
export function readSoFar(actor: Actor): HookAction {
  return { do: "inbox", ...actor, take: false };
}

/**
 * Adds unread messages to the plan's answer. The inbox comes last, so that no message is shown before a wait for a
 * lock. `cwd` is the agent's directory.
 */
export function withInbox(event: Event, actor: Actor, cwd: string, plan: Plan): Plan {
  const reader = readerOf(event, cwd);
  return {
    ...plan,
    actions: [...plan.actions, { do: "inbox", ...actor, take: true }],
    answer: outcomes => {
      const planAnswer = plan.answer?.(outcomes) ?? nothing;
      const inbox = outcomeOf(outcomes, "inbox");
      if (inbox === undefined) return planAnswer;
      const { messages, dropped = 0, terminals = null } = inbox;
      const notes = unsaid(inbox.notes ?? [], outcomes);
      const parts = [
        ...(notes.length + dropped === 0 ? [] : [notesText(notes, dropped, reader)]),
        ...(messages.length === 0 ? [] : [inboxText(inbox)]),
        ...(inbox.health === undefined || inbox.health.length === 0 ? [] : [newsText(inbox.health, reader)]),
      ];
      const shown = parts.length === 0 ? planAnswer : withContext(planAnswer, parts.join("\n"));
      return terminals === null ? shown : alsoTellPerson(shown, terminalsText(terminals));
    },
  };
}

/**
 * Adds notices on files to the answer of a `PostToolUse`, for which the client does not wait. The client gives that answer to
 * the main agent, whichever agent made the call, so other agents get no notices here.
 */
export function withNotes(event: Event, actor: Actor, cwd: string, plan: Plan): Plan {
  if (actor.agent !== undefined) return plan;
  return {
    ...plan,
    actions: [...plan.actions, { do: "notes", ...actor }],
    answer: outcomes => {
      const outcome = outcomeOf(outcomes, "notes");
      if (outcome === undefined || outcome.notes.length + outcome.dropped === 0) return nothing;
      return withContext(
        nothing,
        notesText(unsaid(outcome.notes, outcomes), outcome.dropped, readerOf(event, cwd)),
      );
    },
  };
}

function inboxText({ messages, unread }: Inbox): string {
  const count = messages.length === 1 ? "a message" : `${messages.length} messages`;
  const more = unread === 0 ? "" : ` ${unread} more ${unread === 1 ? "is" : "are"} unread.`;
  const [ofPeople, ofAgents] = split(messages, ({ from }) => from === null);
  return [
    `Kite: ${count} for you.${more}`,
    ...ofPeople.map(line),
    ...framed(ofAgents.map(line)),
    "To read them in full: kite message inbox. To answer: kite message send --reply ID TEXT",
  ].join("\n");
}

/** Lines of other agents below the frame; a person's words stand above it. */
function framed(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [frame, ...lines];
}

/** Those of `all` that are so, and the others. */
function split<T>(all: readonly T[], isSo: (one: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter(isSo), all.filter(one => !isSo(one))];
}

function line(message: MessageRow): string {
  const { id, undelivered, urgent, broadcast } = message;
  const text = quote(message.text, limits.shownMessagesChars);
  if (undelivered !== null) {
    return `- ${id} was not delivered: ${quote(undelivered, limits.nameBytes)} ended without reading it. You wrote: ${text}`;
  }
  const who = message.from === null ? personName("agent") : quote(message.from.name, limits.nameBytes);
  const kind = [urgent ? "urgent" : "", broadcast ? "to everyone" : ""].filter(word => word !== "");
  return `- ${id} from ${who}${kind.length === 0 ? "" : ` (${kind.join(", ")})`}: ${text}`;
}

/** Drops conflicts on which another line of the same answer tells more: who changed the file, and how. */
function unsaid(all: readonly FileNote[], outcomes: readonly HookOutcome[]): readonly FileNote[] {
  if (all.length === 0) return all;
  const found = outcomeOf(outcomes, "guard")?.findings ?? [];
  const isSaid = (note: FileNote) =>
    note.what === "head_moved" &&
    found.some(({ worktree, head }) => head?.is === "moved" && worktree === note.worktree);
  const notes = all.filter(note => !isSaid(note));
  const granted = outcomeOf(outcomes, "lock");
  const changed = granted?.changedWhileWaiting && "path" in granted.reply ? granted.reply.path : null;
  const unseen = granted?.unseen;
  const tells = (note: FileNote, file: string, other: string | null) =>
    note.what !== "conflict" && "other" in note && note.other === other && filesOf(note).includes(file);
  return notes.filter(note => {
    if (note.what !== "conflict") return true;
    if (note.file === changed && note.other === granted?.changedBy?.name) return false;
    if (note.file === unseen?.file && note.other === unseen.name) return false;
    return !notes.some(one => tells(one, note.file, note.other));
  });
}

function filesOf(note: FileNote): readonly string[] {
  if ("files" in note) return note.files;
  return "file" in note ? [note.file] : [];
}

function notesText(notes: readonly FileNote[], dropped: number, reader: Reader): string {
  const older = `- ${dropped} older ${dropped === 1 ? "note is" : "notes are"} not shown. To read them: kite log`;
  const [ofPeople, ofAgents] = split(notes, ({ what }) => notesOfPeople.has(what));
  const lines = (some: readonly FileNote[]) => some.map(note => noteLine(note, reader));
  return [
    `Kite: ${notes.length === 0 ? "other agents wrote files of yours" : headline(notes)}.`,
    ...lines(ofPeople),
    ...framed([...lines(ofAgents), ...(dropped === 0 ? [] : [older])]),
  ].join("\n");
}

function headline(notes: readonly FileNote[]): string {
  return noteHeadings
    .filter(([, ...whats]) => notes.some(({ what }) => whats.includes(what)))
    .map(([words]) => words)
    .join("; ");
}

/** What happened, and what to do about it. */
function noteLine(note: FileNote, reader: Reader): string {
  const other = "other" in note ? note.other : null;
  const who = other === null ? "another agent" : quote(other, limits.nameBytes);
  const line: NoteLine<FileNote> = noteLines[note.what];
  return line(note, who, reader);
}

function terminalsText(count: number): string {
  return (
    `Kite: this session is open in ${count} terminals. Each counts as an agent of its own and waits for ` +
    "the files that the others edit. Continue in one of them, or fork the session."
  );
}
