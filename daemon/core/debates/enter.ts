/**
 * Makes entries in debates.
 *
 * Invariants: a closed debate takes no entry; an answer names a challenge; a conceded hypothesis gets no further entry;
 * one hypothesis at least is never conceded.
 */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Actor } from "../actor.ts";
import type { Handler } from "../handler.ts";
import { actorRow } from "../locks/replies.ts";
import type { NewEntry } from "./commands.ts";
import { announce, isDebate, openFor, unknownHypothesis } from "./replies.ts";
import { leavesRoom, standingsOf } from "./standing.ts";
import { type Debate, type DebateEntry, putDebate } from "./table.ts";
import { brief, type Notice, tellOthers } from "./tell.ts";

export const debateEnter: Handler<"debate_enter"> = (state, command, _meta, step) => {
  const { by, entry, wallMs } = command;
  const debate = openFor(state, command.debate, by);
  if (!isDebate(debate)) {
    step.reply = debate;
    return;
  }
  const said = saidBy(debate, entry);
  if ("ok" in said) {
    step.reply = said;
    return;
  }
  const row = by === null ? null : actorRow(state, by);
  const made = { ...said, by: row, at: wallMs };
  const next = { ...debate, entries: [...debate.entries, made] };
  if (!leavesRoom(next)) {
    const error = `${debate.id} has ${debate.entries.length} of ${limits.debateEntriesMax} entries, and needs the others to close; answer what is unanswered, and close it`;
    step.reply = refuse("too_many_debates", error, { debate: debate.id });
    return;
  }
  announce(step, debate, entry.kind, row);
  const isTold = entry.kind === "challenge";
  putDebate(state.debates, isTold ? tellOthers(state, next, noticeOf(next, made, by), step) : next);
  step.reply = { ok: true, debate: debate.id, entry: next.entries.length };
};

/** Returns the entry without who made it, or why it cannot be made. */
function saidBy(debate: Debate, entry: NewEntry): Omit<DebateEntry, "by" | "at"> | Refusal {
  const { kind, text } = entry;
  const answers = kind === "answer" ? entry.challenge : null;
  const challenged = answers === null ? undefined : debate.entries[answers - 1];
  if (answers !== null && challenged?.kind !== "challenge") return unknownChallenge(debate, answers);
  const hypothesis = kind === "answer" ? (challenged?.hypothesis ?? "") : entry.hypothesis;
  const refused = unknownHypothesis(debate, hypothesis) ?? concededRefusal(debate, hypothesis, kind);
  if (refused !== null) return refused;
  return { kind, hypothesis, answers, against: kind === "evidence" && entry.against, text };
}

function unknownChallenge(debate: Debate, challenge: number): Refusal {
  const unanswered = standingsOf(debate).flatMap(one => (one.conceded ? [] : one.unanswered));
  const hint = unanswered.length === 0 ? "all are answered" : `unanswered: ${unanswered.join(", ")}`;
  const error = `entry ${challenge} of ${debate.id} is no challenge; ${hint}`;
  return refuse("not_in_debate", error, { debate: debate.id, challenge, unanswered });
}

function concededRefusal(debate: Debate, name: string, kind: NewEntry["kind"]): Refusal | null {
  const { id } = debate;
  const left = standingsOf(debate).filter(one => !one.conceded);
  if (!left.some(one => one.name === name)) {
    const names = left.map(one => one.name);
    const error = `${name} is conceded in ${id}, so nothing more is said of it; left: ${names.join(", ")}`;
    return refuse("debate_state", error, { debate: id, hypothesis: name, left: names });
  }
  if (kind !== "concede" || left.length > 1) return null;
  const error = `${name} is the last hypothesis of ${id} that is not conceded; close the debate with it, or open another one`;
  return refuse("debate_state", error, { debate: id, hypothesis: name, left: [name] });
}

/** Returns what the others are told of a challenge, the debate's last entry. */
function noticeOf({ id, entries }: Debate, { hypothesis, text, at }: DebateEntry, by: Actor | null): Notice {
  const number = entries.length;
  const said = `challenges ${hypothesis} in debate ${id} (entry ${number}): ${brief(text ?? "")}`;
  return {
    by,
    text: `${said} To answer: kite debate answer ${id} ${number} TEXT`,
    wallMs: at,
    always: false,
  };
}
