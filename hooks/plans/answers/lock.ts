/** Words what came of an edit's lock. */

import type { Refusal } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import { personName } from "../../../protocol/names.ts";
import { duration, frame, nearPath, quote } from "../../../protocol/text.ts";
import type { UnseenChange } from "../../seam/outcomes.ts";
import type { HookOutcome } from "../../seam/slices.ts";
import { within } from "../event.ts";
import {
  type Answer,
  deny,
  howToWrite,
  nothing,
  outcomeOf,
  type Reader,
  refusalOf,
  tellPerson,
  withContext,
} from "./answer.ts";
import { isChangedLines } from "./notes.ts";

/** Stands for the tool in texts about a shell line that changes files. */
export const lineTool = "command line";

/** The edit that asks for a lock. `waitMs` is the longest wait for it, in milliseconds. */
export interface Edit extends Reader {
  readonly tool: string;
  readonly file: string;
  readonly waitMs: number;
}

/** An edit of several files, of which `file` is the first. */
export interface Edits extends Edit {
  readonly files: readonly string[];
}

type Granted = Extract<HookOutcome, { did: "lock"; ok: true }>;
type Refused = Extract<HookOutcome, { ok: false }>;

/** The same for an edit of several files: it names the one that is held, or that changed. */
export function patchAnswer(edits: Edits, outcomes: readonly HookOutcome[]): Answer {
  const refused = refusalOf(outcomes);
  const granted = outcomeOf(outcomes, "lock");
  const path = refused?.refusal["path"] ?? granted?.unseen?.file ?? granted?.changedFile;
  return lockAnswer(typeof path === "string" ? { ...edits, file: path } : edits, outcomes);
}

/** What an agent is told when its edit's lock is granted or refused. */
export function lockAnswer(edit: Edit, outcomes: readonly HookOutcome[]): Answer {
  const refused = refusalOf(outcomes);
  if (refused !== undefined) {
    return refused.verdict === "deny"
      ? deny(refusedText(edit, refused))
      : tellPerson(
          `Kite did not coordinate this ${edit.tool} of ${shown(edit)}: ${quote(refused.refusal.error)}`,
        );
  }
  const granted = outcomeOf(outcomes, "lock");
  if (granted === undefined || granted.verdict === "allow") return nothing;
  const isChanged = granted.verdict === "deny" || granted.changedWhileWaiting;
  const changed = isChanged ? changedAnswer(edit, granted) : nothing;
  const answer =
    granted.unkept.length === 0 ? changed : withContext(changed, unkeptText(edit, granted.unkept));
  return granted.mergeRisks.length === 0 ? answer : withContext(answer, mergeText(edit, granted));
}

/** The call replaces uncommitted work of which there is no copy. */
export function unkeptText({ tool, cwd }: Edit, unkept: readonly string[]): string {
  const files = unkept.map(path => quote(nearPath(path, cwd))).join(", ");
  return `Kite has no copy of the uncommitted work in ${files} from before this ${tool}: kite rescue cannot bring that back.`;
}

/** The edit is not blocked: each worktree has its own file. */
function mergeText({ cwd }: Edit, { mergeRisks }: Granted): string {
  const lines = mergeRisks.map(({ file, own, name, worktree, branch }) => {
    const on = branch === null ? "" : ` (branch ${quote(branch)})`;
    const [mine, theirs] = [nearPath(`${own}/${file}`, cwd), nearPath(worktree, cwd)];
    return `${person(name)} changes ${quote(mine)} too, in the worktree ${quote(theirs)}${on}.`;
  });
  return [
    "Kite: another session changes the same file in another worktree. Your edit runs; the two changes will have to be merged.",
    `${frame} ${lines.join(" ")}`,
    "What to do: keep your change small, or agree with that session which of you makes it.",
  ].join("\n");
}

/** The file differs from what the edit's agent read. */
function changedAnswer(edit: Edit, granted: Granted): Answer {
  if (granted.verdict !== "deny") return withContext(nothing, changedText(edit, granted));
  if (granted.unseen) return deny(unseenText(edit, granted.unseen));
  return deny(
    `Kite: this ${edit.tool} did not run: ${changed(granted)}.\n${frame} ${changer(edit, granted)}\n` +
      "What to do: read the file again, then write it. Kite keeps the lock for you.",
  );
}

/** The denial of an edit that would undo a change of which its agent does not know. It is told once. */
function unseenText(edit: Edit, { name, lines, agoMs }: UnseenChange): string {
  const what = `${person(name)} changed ${where(lines)}${shown(edit)} ${duration(agoMs)} ago.`;
  return [
    `Kite: this ${edit.tool} did not run: the file changed, and as far as Kite knows you have not read it since.`,
    `${frame} ${what}`,
    "What to do: read the file again unless you have, then write it. Kite keeps the lock for you.",
  ].join("\n");
}

/** What happened to a file while an actor waited for it. */
type Change = Pick<Granted, "waitedMs" | "changedBy" | "before">;

/** The file changed while the agent waited, and its call runs all the same. */
export function changedText(edit: Edit, change: Change): string {
  const what = edit.tool === lineTool ? lineTool : "edit";
  return `Kite: ${changed(change)}.\n${frame} ${changer(edit, change)}\nYour ${what} runs. Read the file again before your next edit of it.`;
}

function changed({ waitedMs }: Change): string {
  return `the file changed while you waited ${duration(waitedMs)} for it`;
}

/** Who changed the file and where, if the daemon saw it; else its last holder. */
function changer(edit: Edit, { changedBy, before }: Change): string {
  if (changedBy === null) {
    return `${person(before)} held ${shown(edit)} before you. Kite did not see who changed it.`;
  }
  const { name, lines } = changedBy;
  return `${person(name)} changed ${where(lines)}${shown(edit)}.`;
}

function where(lines: string | null): string {
  return lines !== null && isChangedLines(lines) ? `${lines} of ` : "";
}

/** The denial of an edit, or of a shell line that changes the file. */
export function refusedText(edit: Edit, refused: Refused): string {
  if (refused.refusal.code === "edits_held") return heldText(edit, refused.refusal);
  const waited =
    refused.refusal.code === "lock_timeout" ? ` You waited ${duration(refused.waitMs ?? edit.waitMs)}.` : "";
  return [
    `Kite: this ${edit.tool} did not run: another agent holds the file.${waited}`,
    [`${frame} ${heldBy(edit, refused)}.`, ...doing(edit, refused)].join(" "),
    [...line(refused), ...yields(refused)].join(" "),
    `What to do: ${nextStep(edit, refused)}. ${cycle(edit, refused)}${otherWay(edit)}`,
  ]
    .filter(text => text !== "")
    .join("\n");
}

/** The denial of an edit of a frozen file. */
function heldText(edit: Edit, refusal: Refusal): string {
  return [
    `Kite: this ${edit.tool} did not run: edits of the file are frozen. You can still read it.`,
    freezeOf(refusal, shown(edit)),
    `What to do: work on something else and try again later. ${otherWay(edit)} ` +
      "Your user can end the freeze: kite thaw",
  ].join("\n");
}

function otherWay({ tool }: Edit): string {
  return tool === lineTool
    ? "Do not change this file in another way."
    : "Do not edit this file through the shell.";
}

/** Whose freeze it is, for how long, and why; behind the frame unless it is a person's. `what` is frozen. */
export function freezeOf(refusal: Refusal, what: string): string {
  const name = within(refusal["by"], "name");
  const who = typeof name === "string" ? `${frame} ${person(name)}` : `Y${personName("agent").slice(1)}`;
  const left = refusal["leftMs"];
  const forMore = typeof left === "number" ? ` for at most ${duration(left)} more` : "";
  const text = refusal["text"];
  const why = typeof text === "string" ? ` Reason: ${quote(text)}.` : "";
  return `${who} froze edits of ${what} by other agents${forMore}.${why}`;
}

/** The holder and the time it has held the file: from the note, else from the refusal itself. */
function holder(refused: Refused): string {
  const { refusal } = refused;
  const name = refused.holder?.holder ?? refusal["locked_by_name"];
  const ago = refusal["locked_ago"];
  const heldMs = refused.holder?.heldMs ?? (typeof ago === "number" ? ago * 1000 : null);
  const client = refused.holder?.client;
  const of = client === undefined ? "" : ` (${client})`;
  return `${person(typeof name === "string" ? name : null)}${of}${heldMs === null ? "" : `, for ${duration(heldMs)} now`}`;
}

function doing({ cwd }: Edit, { holder }: Refused): string[] {
  if (holder === null) return [];
  const { doing: task, edited } = holder;
  const files = edited.map(file => nearPath(file, cwd)).join(", ");
  const does = task ?? (files === "" ? null : `last edited ${files}`);
  return does === null ? [] : [`What it does: ${quote(does)}.`];
}

function line({ place, holder }: Refused): string[] {
  if (place !== undefined) return [`You are number ${place} in the queue.`];
  const waiters = holder?.waiters ?? 0;
  return waiters === 0 ? [] : [`${waiters} ${waiters === 1 ? "agent waits" : "agents wait"} in the queue.`];
}

/** When the lock ends, as far as that is known. */
function yields({ holder }: Refused): string[] {
  if (holder === null) return [];
  const { stays, yieldsInMs, isDirectory } = holder;
  if (stays !== null) return [stayTexts[stays](isDirectory ? "the directory" : "the file")];
  return yieldsInMs === null
    ? []
    : [`It is released in at most ${duration(yieldsInMs)} unless the holder edits it again.`];
}

type Stays = NonNullable<NonNullable<Refused["holder"]>["stays"]>;

const stayTexts: Readonly<Record<Stays, (what: string) => string>> = {
  // Perhaps a person is asked first, so it may not be writing yet.
  writes: what => `An edit of ${what} by the holder is under way.`,
  command: what => `A command that the holder runs has locked ${what} until it ends.`,
  kept: what => `The holder has locked ${what} until its work is done, so the lock is not passed on before.`,
};

/** Says that the holder has the file, or the directory that it locked as a whole. */
function heldBy(edit: Edit, refused: Refused): string {
  const note = refused.holder;
  const by = `held by ${holder(refused)}`;
  if (note === null || !note.isDirectory) return `${shown(edit)} is ${by}`;
  const directory = quote(`${nearPath(note.file, edit.cwd)}/`, limits.pathBytes);
  return `${shown(edit)} is in the directory ${directory}, which is ${by}`;
}

/** The lock that a holder keeps does not come with time alone, so it is worth a word to the holder. */
function nextStep(edit: Edit, { holder, place }: Refused): string {
  const later = "work on something else and try again later";
  if (place !== undefined) return `${later}, within ${duration(limits.placeMs)} to keep your queue position`;
  return holder?.stays === "kept"
    ? `${later}, or ask ${person(holder.holder)} to release it (${howToWrite(edit)})`
    : later;
}

function cycle({ asksAllFirst }: Edit, refused: Refused): string {
  const { code, error } = refused.refusal;
  if (code !== "lock_deadlock") return "";
  // The other waits for an edit of the same message, which this client has not made yet.
  const fewer =
    asksAllFirst === true ? "Make one edit a message: then you hold no file while you wait. " : "";
  return `Waiting for it would close a cycle of waits (${quote(error)}). ${fewer}`;
}

function person(name: string | null): string {
  return name === null ? "another agent" : quote(name, limits.nameBytes);
}

function shown({ file, cwd }: Edit): string {
  return quote(nearPath(file, cwd));
}
