/** What an agent is shown of its inbox, with events that wait. */
import type { HookAction, HookOutcome } from "../../protocol/adapter.ts";
import { limits } from "../../protocol/limits.ts";
import type { MessageRow } from "../../protocol/message.ts";
import type { FileNote } from "../../protocol/notes.ts";
import { frame, quote } from "../../protocol/text.ts";
import { alsoTellPerson, context, type LateEvent, nothing, withContext } from "./output.ts";
import type { Actor, Plan } from "./row.ts";

type Inbox = Extract<HookOutcome, { did: "inbox"; ok: true }>;
type Notes = Extract<HookOutcome, { did: "notes"; ok: true }>;

/** An event of the actor's: it has read what it was shown before. */
export function readSoFar(actor: Actor): HookAction {
  return { do: "inbox", ...actor, take: false };
}

/** The plan, and with its answer what is unread; last, so that nothing is shown that waits for a lock first. */
export function withInbox(event: "PreToolUse" | "UserPromptSubmit", actor: Actor, plan: Plan): Plan {
  return {
    ...plan,
    actions: [...plan.actions, { do: "inbox", ...actor, take: true }],
    answer: outcomes => {
      const said = plan.answer?.(outcomes.filter(o => o.did !== "inbox")) ?? nothing;
      const inbox = outcomes.find((o): o is Inbox => o.did === "inbox" && o.ok);
      if (inbox === undefined) return said;
      const { messages, notes = [], terminals = null } = inbox;
      const parts = [
        ...(notes.length === 0 ? [] : [notesText(notes)]),
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
export function withNotes(event: LateEvent, actor: Actor, plan: Plan): Plan {
  if (actor.agent !== undefined) return plan;
  return {
    ...plan,
    actions: [...plan.actions, { do: "notes", ...actor }],
    answer: outcomes => {
      const told = outcomes.find((o): o is Notes => o.did === "notes" && o.ok);
      return told === undefined || told.notes.length === 0 ? nothing : context(event, notesText(told.notes));
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

function notesText(notes: readonly FileNote[]): string {
  const past = notes.some(({ what }) => what !== "conflict");
  const what = past ? "files were written past their locks." : "another agent writes what you write.";
  return [`Kite: ${what}`, frame, ...notes.map(note)].join("\n");
}

/** One write past a lock, and what to do about it. */
function note({ what, file, mine, other }: FileNote): string {
  const it = quote(file);
  const who = other === null ? "another agent" : quote(other, limits.nameBytes);
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

function terminalsText(count: number): string {
  return (
    `Kite: this session is open in ${count} terminals. Each counts as an agent of its own: what one edits, the others ` +
    "wait for. Go on in one of them, or fork the session."
  );
}
