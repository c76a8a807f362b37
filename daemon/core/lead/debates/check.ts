/** The invariants of debates; part of `check`. */
import type { Limits } from "../../../../protocol/limits.ts";
import { verdictKey } from "../../context.ts";
import { itemKey } from "../../context-index.ts";
import { inboxKey } from "../../messages/recipients.ts";
import type { State } from "../../state.ts";
import { leavesRoom, missingFor, standingsOf } from "./standing.ts";
import { type Debate, debateRecords } from "./table.ts";

/** Yields one sentence per broken invariant. */
export function* checkDebates({ debates, context, limits }: State): Generator<string> {
  let last = 0;
  for (const debate of debates.all.values()) {
    if (debate.n <= last || debate.n > debates.count)
      yield `${debate.id} has number ${debate.n} behind ${last}`;
    last = debate.n;
    yield* checkBounds(debate, limits);
    yield* checkEntries(debate);
    yield* checkVerdict(debate);
  }
  for (const [project, places] of debates.byProject)
    if (places.size > limits.debatesPerProjectMax) yield `${project} has ${places.size} debates`;
  const closed = [...debates.all.values()].filter(({ verdict }) => verdict !== null);
  const keys = closed.map(({ project, id }) => itemKey(project, verdictKey(id)));
  for (const key of keys)
    if (!context.items.has(key)) yield `${key.replace("\n", " ")} is a verdict, and not in the context`;
  if (context.verdicts !== keys.length)
    yield `${context.verdicts} verdicts are in the context, not ${keys.length}`;
  for (const [project, ids] of debates.open)
    if (ids.size > limits.debatesOpenMax) yield `${project} has ${ids.size} open debates`;
  yield* debateRecords.check(debates, "debates", limits.debatesMax);
}

function* checkBounds(debate: Debate, limits: Limits): Generator<string> {
  const { id, hypotheses, participants } = debate;
  const names = new Set(hypotheses.map(({ name }) => name));
  if (names.size < 2 || names.size > limits.debateHypothesesMax) yield `${id} has ${names.size} hypotheses`;
  if (names.size < hypotheses.length) yield `two hypotheses of ${id} have one name`;
  const keys = new Set(participants.map(({ row }) => inboxKey(row)));
  if (keys.size < participants.length) yield `${id} has a participant twice`;
  if (keys.size > limits.debateParticipantsMax) yield `${id} has ${keys.size} participants`;
  if (!leavesRoom(debate)) yield `${id} has no room for what it needs to close`;
}

function* checkEntries({ id, hypotheses, entries }: Debate): Generator<string> {
  const names = new Set(hypotheses.map(({ name }) => name));
  const conceded = new Set<string>();
  for (const [i, { kind, hypothesis, answers }] of entries.entries()) {
    const entry = `entry ${i + 1} of ${id}`;
    if (!names.has(hypothesis)) yield `${entry} is about ${hypothesis}, which it does not have`;
    if (conceded.has(hypothesis)) yield `${entry} is about ${hypothesis}, which was conceded`;
    if (kind === "concede") conceded.add(hypothesis);
    const challenge = answers === null || answers > i ? undefined : entries[answers - 1];
    const isSound = kind === "answer" ? challenge?.kind === "challenge" : answers === null;
    if (!isSound || (challenge !== undefined && challenge.hypothesis !== hypothesis))
      yield `${entry} answers ${answers}, which is no such challenge`;
  }
  if (conceded.size >= names.size) yield `every hypothesis of ${id} is conceded`;
}

function* checkVerdict(debate: Debate): Generator<string> {
  const { id, verdict } = debate;
  if (verdict === null) return;
  const chosen = standingsOf(debate).find(({ name }) => name === verdict.name);
  if (chosen === undefined || chosen.conceded)
    yield `${id} is closed with ${verdict.name}, which was not left`;
  const { by, alone, forced } = verdict;
  const missing = missingFor(debate, verdict.name, { by, alone }).length;
  if (alone && (forced || missingFor(debate, verdict.name, { by, alone: false }).length === 0))
    yield `${id} says alone, and nothing of others was missing`;
  if (missing > 0 && !forced) yield `${id} is closed, and ${missing} things were missing`;
  if (forced && by !== null) yield `${id} was forced to close by ${by.name}`;
}
