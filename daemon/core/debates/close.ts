/**
 * Closes debates.
 *
 * Invariants: a debate closes once, with a hypothesis that is not conceded; nothing is missing, or a person forces it,
 * which the verdict says. The same step makes the verdict durable context of the project, or refuses to close.
 */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { MissingRow } from "../../../protocol/debate.ts";
import { contextFull, setItem } from "../context.ts";
import type { Handler } from "../handler.ts";
import { actorRow } from "../locks/replies.ts";
import type { DebateClose } from "./commands.ts";
import { announce, isDebate, openFor, unknownHypothesis } from "./replies.ts";
import { missingFor, standingsOf } from "./standing.ts";
import { type Debate, putDebate, type Verdict } from "./table.ts";
import { brief, bytesOf, tellOthers } from "./tell.ts";

export const debateClose: Handler<"debate_close"> = (state, command, meta, step) => {
  const { by, because, wallMs } = command;
  const debate = openFor(state, command.debate, by);
  if (!isDebate(debate)) {
    step.reply = debate;
    return;
  }
  const missing = missingFor(debate, command.verdict);
  const forced = command.force && missing.length > 0;
  const row = by === null ? null : actorRow(state, by);
  const verdict = { name: command.verdict, because, by: row, forced, at: wallMs };
  const item = contextOf(debate, verdict, command);
  const refused = mayClose(debate, command, missing) ?? contextFull(state, item);
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
    const error = `${verdict} is conceded in ${id} and cannot be chosen; left: ${left.join(", ")}`;
    return refuse("debate_state", error, { debate: id, hypothesis: verdict, left });
  }
  if (missing.length === 0 || force) return null;
  const error = `${id} cannot close with ${verdict}: ${missingText(verdict, missing)}`;
  return refuse("debate_unsettled", error, { debate: id, verdict, missing });
}

/** Returns all that is missing, with what to do about it. */
function missingText(verdict: string, missing: readonly MissingRow[]): string {
  const open = missing.flatMap(({ challenge }) => (challenge === null ? [] : [challenge]));
  const rivals = missing.flatMap(({ hypothesis, challenge }) => (challenge === null ? [hypothesis] : []));
  const parts: string[] = [];
  if (open.length === 1) parts.push(`challenge ${open[0]} to ${verdict} is unanswered (answer it)`);
  if (open.length > 1) parts.push(`challenges ${open.join(", ")} to ${verdict} are unanswered (answer each)`);
  if (rivals.length === 1) parts.push(`${rivals[0]} was never challenged (challenge or concede it)`);
  if (rivals.length > 1) parts.push(`${rivals.join(", ")} were never challenged (challenge or concede each)`);
  return parts.join("; ");
}

/** Returns the verdict as an item of the project's context. */
function contextOf(
  { id, project, question }: Debate,
  { name, because, by, forced }: Verdict,
  { by: actor, wallMs }: DebateClose,
) {
  const value = { question, verdict: name, because, by: by === null ? null : by.name, forced };
  const bytes = bytesOf(JSON.stringify(value));
  return { actor, project, key: `debate/${id}`, value, bytes, durable: true, wallMs };
}

function closingOf({ id }: Debate, { name, because, forced }: Verdict, key: string): string {
  const how = forced ? " by force" : "";
  return `closes debate ${id}${how} with ${name}: ${brief(because)} The verdict is shared: kite context get ${key}`;
}
