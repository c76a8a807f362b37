/**
 * Opens debates.
 *
 * Invariants: a debate has at least two hypotheses, each by a name of its own; a session opens debates in its own
 * project; the participants were alive there. A project has at most `limits.debatesOpenMax` open debates. A closed debate
 * that makes room takes its verdict out of the context.
 */
import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import type { Limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { contextAt, endItem, verdictKey } from "../../context.ts";
import { actorRow, speakerRow } from "../../locks/replies.ts";
import { everyoneIn, inboxKey, recipientOf } from "../../messages/recipients.ts";
import type { Handler } from "../../rules.ts";
import { noSession } from "../../sessions/end.ts";
import { isAlive, projectOf } from "../../sessions/kinship.ts";
import type { State } from "../../state.ts";
import type { DebateOpen } from "./commands.ts";
import { announce } from "./replies.ts";
import { addDebate, type Debate } from "./table.ts";
import { brief, tellOthers } from "./tell.ts";

export const debateOpen: Handler<"debate_open", State> = (state, command, _meta, step) => {
  const { debates } = state;
  const { by, question, wallMs } = command;
  if (by !== null && !isAlive(state, by)) {
    step.reply = noSession(state, by.session);
    return;
  }
  const project = (by === null ? undefined : projectOf(state, by)) ?? command.project;
  const hypotheses = command.hypotheses.map(({ name, claim }) => ({ name, claim }));
  const rows = participantsOf(state, project, command);
  const refused =
    noRoom(state, project) ?? wrongNames(hypotheses, state.limits) ?? ("ok" in rows ? rows : null);
  if (refused !== null || "ok" in rows) {
    step.reply = refused;
    return;
  }
  debates.count += 1;
  const n = debates.count;
  const id = `d-${Math.max(0, wallMs).toString(36)}-${n.toString(36)}`;
  const openedBy = speakerRow(state, by, step);
  const participants = rows.map(row => ({ row, told: null }));
  const said = { entries: [], verdict: null };
  const opened = { id, n, project, question, openedBy, openedAt: wallMs, hypotheses, participants, ...said };
  announce(step, opened, "opened", openedBy);
  const told = tellOthers(state, opened, { by, text: openingOf(opened), wallMs, always: true }, step);
  for (const dropped of addDebate(debates, told)) {
    const verdict = contextAt(state, dropped.project, verdictKey(dropped.id));
    if (verdict !== undefined) endItem(state, verdict, step);
  }
  step.reply = { ok: true, debate: id, participants: rows };
};

/** Returns the participants, each once: those named, or the live actors of the project; and who opens the debate. */
function participantsOf(
  state: State,
  project: string,
  { by, participants }: DebateOpen,
): readonly ActorRow[] | Refusal {
  const rows = by === null ? [] : [actorRow(state, by)];
  if (participants === null) rows.push(...everyoneIn(state, project, state.limits.debateParticipantsMax));
  for (const name of participants ?? []) {
    const found = recipientOf(state, project, name, "debate not opened");
    if ("ok" in found) return found;
    rows.push(found);
  }
  const once = new Map(rows.map(row => [inboxKey(row), row]));
  return [...once.values()].slice(0, state.limits.debateParticipantsMax);
}

function noRoom({ debates, limits }: State, project: string): Refusal | null {
  const open = debates.open.get(project)?.size ?? 0;
  if (open >= limits.debatesOpenMax) {
    const error = `${project} has ${open} open debates, as many as it may; close one first`;
    return refuse("too_many_debates", error, { project });
  }
  if (debates.all.size < limits.debatesMax || debates.closed.size > 0) return null;
  const error = `all projects together have ${limits.debatesMax} open debates, as many as they may; close one first`;
  return refuse("too_many_debates", error);
}

function wrongNames(hypotheses: Debate["hypotheses"], limits: Limits): Refusal | null {
  const names = new Set(hypotheses.map(({ name }) => name));
  const most = limits.debateHypothesesMax;
  const error =
    names.size < hypotheses.length
      ? "two of the hypotheses have one name; give each a name of its own"
      : names.size < 2 || names.size > most
        ? `a debate has 2 to ${most} hypotheses, not ${names.size}; name the rivals, too`
        : null;
  return error === null ? null : refuse("invalid_request", error, { path: "hypotheses" });
}

function openingOf({ id, question, hypotheses }: Debate): string {
  const names = hypotheses.map(({ name }) => name).join(", ");
  return `opens debate ${id}: ${brief(question)} Hypotheses: ${names}. To read and challenge them: kite debate show ${id}`;
}
