/**
 * Makes entries in debates.
 *
 * Invariants: a closed debate takes no entry; an answer names a challenge, one of another actor unless its agent is
 * alone in the project; a conceded hypothesis gets no further entry; one hypothesis at least is never conceded. An agent
 * concedes a hypothesis that it introduced or supports, and that nobody else supports; a person concedes any. What it
 * cannot concede it can challenge. To support a hypothesis is to bring evidence for it, or to answer a challenge to it.
 */

import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import { limits } from "../../../../protocol/limits.ts";
import { personOnWire } from "../../../../protocol/names.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { quote } from "../../../../protocol/text.ts";
import type { Actor } from "../../actor.ts";
import { speakerRow } from "../../locks/replies.ts";
import { isPerson } from "../../nodes/people.ts";
import type { Handler } from "../../rules.ts";
import type { State } from "../../state.ts";
import { othersThere, waysOn } from "./alone.ts";
import type { NewEntry } from "./commands.ts";
import { announce, isDebate, openFor, quoted, unknownHypothesis } from "./replies.ts";
import { isOther, leavesRoom, standingsOf } from "./standing.ts";
import { type Debate, type DebateEntry, putDebate } from "./table.ts";
import { brief, type Notice, tellOthers } from "./tell.ts";

export const debateEnter: Handler<"debate_enter", State> = (state, command, _meta, step) => {
  const { by, entry, wallMs } = command;
  const debate = openFor(state, command);
  if (!isDebate(debate)) {
    step.reply = debate;
    return;
  }
  const row = speakerRow(state, by, step);
  const said = saidBy(debate, entry, row, by === null ? [] : othersThere(state, debate.project, by));
  if ("ok" in said) {
    step.reply = said;
    return;
  }
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
function saidBy(
  debate: Debate,
  entry: NewEntry,
  by: ActorRow | null,
  others: readonly ActorRow[],
): Omit<DebateEntry, "by" | "at"> | Refusal {
  const { kind, text } = entry;
  const answers = kind === "answer" ? entry.challenge : null;
  const challenged = answers === null ? undefined : debate.entries[answers - 1];
  if (answers !== null && challenged?.kind !== "challenge") return unknownChallenge(debate, answers);
  const hypothesis = kind === "answer" ? (challenged?.hypothesis ?? "") : entry.hypothesis;
  const refused =
    unknownHypothesis(debate, hypothesis) ??
    concededRefusal(debate, hypothesis, kind) ??
    (kind === "concede" ? mayConcede(debate, hypothesis, by) : null) ??
    (challenged === undefined ? null : ownChallenge(debate, answers, challenged, by, others));
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
    const error = `${quote(name)} is conceded in ${id}, so nothing more is said of it; left: ${quoted(names)}`;
    return refuse("debate_state", error, { debate: id, hypothesis: name, left: names });
  }
  if (kind !== "concede" || left.length > 1) return null;
  const error = `${quote(name)} is the last hypothesis of ${id} that is not conceded; close the debate with it, or open another one`;
  return refuse("debate_state", error, { debate: id, hypothesis: name, left: [name] });
}

/** Refuses an agent's answer to its own challenge while others are there that can answer it. */
function ownChallenge(
  debate: Debate,
  challenge: number | null,
  challenged: DebateEntry,
  by: ActorRow | null,
  others: readonly ActorRow[],
): Refusal | null {
  if (isOther(challenged.by, by) || others.length === 0) return null;
  const { id } = debate;
  const ways = waysOn(debate, others, challenged.hypothesis);
  const error = `entry ${challenge} of ${id} is your own challenge; another agent has to answer it; ${ways}`;
  return refuse("debate_state", error, { debate: id, challenge, hypothesis: challenged.hypothesis });
}

/** Returns why `by` may not concede the hypothesis, or null. */
function mayConcede(debate: Debate, hypothesis: string, by: ActorRow | null): Refusal | null {
  if (by === null || isPerson(by)) return null;
  const { id, openedBy, entries } = debate;
  const support = entries.filter(
    entry =>
      entry.hypothesis === hypothesis &&
      (entry.kind === "answer" || (entry.kind === "evidence" && !entry.against)),
  );
  const another = support.find(entry => isOther(entry.by, by));
  const isOwn = support.length > 0 || !isOther(openedBy, by);
  if (another === undefined && isOwn) return null;
  const who = another === undefined ? openedBy : another.by;
  const name = who?.name ?? personOnWire;
  const what = another === undefined ? "opened it, and you did not speak for" : "supports";
  const named = quote(hypothesis);
  const error = `you cannot concede ${named} in ${id}: ${name} ${what} ${named}; challenge it instead`;
  return refuse("debate_state", error, { debate: id, hypothesis });
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
