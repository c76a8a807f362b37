/**
 * Closes debates.
 *
 * Invariants: a debate closes once, with a hypothesis that is not conceded; nothing is missing, or a person forces it,
 * or its agent is alone in the project and needs no other one; the verdict says which. The same step makes the verdict durable context of the project, or refuses to close.
 */

import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import type { MissingRow } from "../../../../protocol/lead/debate.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { quote } from "../../../../protocol/text.ts";
import { setItem, verdictKey } from "../../context.ts";
import { speakerRow } from "../../locks/replies.ts";
import type { Handler } from "../../rules.ts";
import type { State } from "../../state.ts";
import { othersThere, waysOn } from "./alone.ts";
import type { DebateClose } from "./commands.ts";
import { announce, isDebate, openFor, quoted, unknownHypothesis } from "./replies.ts";
import { missingFor, standingsOf } from "./standing.ts";
import { type Debate, putDebate, type Verdict } from "./table.ts";
import { brief, bytesOf, tellOthers } from "./tell.ts";

export const debateClose: Handler<"debate_close", State> = (state, command, meta, step) => {
  const { by, because, wallMs } = command;
  const debate = openFor(state, command);
  if (!isDebate(debate)) {
    step.reply = debate;
    return;
  }
  const row = speakerRow(state, by, step);
  const others = by === null ? [] : othersThere(state, debate.project, by);
  const isAlone = by !== null && others.length === 0;
  const missing = missingFor(debate, command.verdict, { by: row, alone: isAlone });
  const forced = command.force && missing.length > 0;
  const alone = isAlone && missingFor(debate, command.verdict, { by: row, alone: false }).length > 0;
  const verdict = { name: command.verdict, because, by: row, forced, alone, at: wallMs };
  const item = contextOf(debate, verdict, command);
  const refused = mayClose(debate, command, missing, others);
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  setItem(state, item, null, meta, step);
  const closed = { ...debate, verdict };
  announce(step, closed, "closed", row);
  const text = closingOf(closed, verdict, item.key);
  putDebate(state.debates, tellOthers(state, closed, { by, text, wallMs, always: true }, step));
  step.reply = { ok: true, debate: debate.id, verdict, key: item.key };
};

function mayClose(
  debate: Debate,
  { by, verdict, force }: DebateClose,
  missing: readonly MissingRow[],
  others: readonly ActorRow[],
): Refusal | null {
  const { id } = debate;
  const unknown = unknownHypothesis(debate, verdict);
  if (unknown !== null) return unknown;
  if (force && by !== null) {
    const error = `only a person at a terminal may force a debate to close; leave force out, and ${id} closes once nothing is missing`;
    return refuse("person_only", error, { debate: id });
  }
  const left = standingsOf(debate).flatMap(one => (one.conceded ? [] : [one.name]));
  if (!left.includes(verdict)) {
    const error = `${quote(verdict)} is conceded in ${id} and cannot be chosen; left: ${quoted(left)}`;
    return refuse("debate_state", error, { debate: id, hypothesis: verdict, left });
  }
  if (missing.length === 0 || force) return null;
  const ways = missing.some(row => row.others) ? `; ${waysOn(debate, others, verdict)}` : "";
  const error = `${id} cannot close with ${quote(verdict)}: ${missingText(debate, verdict, missing)}${ways}`;
  return refuse("debate_unsettled", error, { debate: id, verdict, missing });
}

/** Returns all that is missing, with what to do about it. */
function missingText({ openedBy }: Debate, verdict: string, missing: readonly MissingRow[]): string {
  const parts: string[] = [];
  const [open, own] = [false, true].map(others =>
    missing.flatMap(row => (row.challenge !== null && row.others === others ? [row.challenge] : [])),
  );
  if (open?.length === 1) parts.push(`challenge ${open[0]} to ${quote(verdict)} is unanswered (answer it)`);
  if (open !== undefined && open.length > 1)
    parts.push(`challenges ${open.join(", ")} to ${quote(verdict)} are unanswered (answer each)`);
  if (own !== undefined && own.length > 0)
    parts.push(
      `nobody else answered your own ${own.length === 1 ? "challenge" : "challenges"} ${own.join(", ")}`,
    );
  const unchallenged = missing.filter(({ challenge }) => challenge === null);
  const rivals = unchallenged.flatMap(({ hypothesis }) => (hypothesis === verdict ? [] : [hypothesis]));
  const doubt = unchallenged.find(({ hypothesis }) => hypothesis === verdict);
  if (doubt?.others === true) parts.push("nobody else challenged any hypothesis (another agent has to)");
  if (doubt?.others === false)
    parts.push(`nobody but ${openedBy?.name}, who opened it, challenged any hypothesis (challenge one)`);
  if (rivals.length === 1) parts.push(`${quoted(rivals)} was never challenged (challenge or concede it)`);
  if (rivals.length > 1) parts.push(`${quoted(rivals)} were never challenged (challenge or concede each)`);
  return parts.join("; ");
}

/** Returns the verdict as an item of the project's context. */
function contextOf(
  { id, project, question }: Debate,
  { name, because, by, forced, alone }: Verdict,
  { by: actor, wallMs }: DebateClose,
) {
  const value = { question, verdict: name, because, by: by === null ? null : by.name, forced, alone };
  const bytes = bytesOf(JSON.stringify(value));
  return { actor, project, key: verdictKey(id), value, bytes, durable: true, wallMs };
}

function closingOf({ id }: Debate, { name, because, forced, alone }: Verdict, key: string): string {
  const how = forced ? " by force" : alone ? " alone" : "";
  return `closes debate ${id}${how} with ${name}: ${brief(because)} The verdict is shared: kite context get ${key}`;
}
