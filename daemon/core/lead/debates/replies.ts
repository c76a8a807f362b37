/** How debates are found and named in replies, refusals and events. */

import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import type { KiteEvent } from "../../../../protocol/events.ts";
import { personOnWire } from "../../../../protocol/names.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { nearest, quote } from "../../../../protocol/text.ts";
import type { Actor } from "../../actor.ts";
import { ambiguity, isShortOf, matchesOf, nearestId, scopeOf } from "../../ids.ts";
import type { Step } from "../../outcome.ts";
import { noSession } from "../../sessions/end.ts";
import { isAlive, projectOf } from "../../sessions/kinship.ts";
import type { State } from "../../state.ts";
import type { DebateEnter } from "./commands.ts";
import { type Debate, type Debates, debateOf } from "./table.ts";

/**
 * Returns the debate that a request names, or a refusal. A name is a whole id, or for a debate of `project` a prefix of the
 * id or its last part, which must be unambiguous there. Null: whole ids alone.
 */
export function findDebate(debates: Debates, name: string, project: string | null): Debate | Refusal {
  const exact = debates.all.get(name);
  if (exact !== undefined) return exact;
  const matches = project === null ? [] : matchesOf(debates, name, scopeOf(project));
  const [first] = matches;
  if (first !== undefined && matches.length === 1) return debateOf(debates, first);
  if (first === undefined) return unknownDebate(debates, name, project);
  const { error, shown } = ambiguity("debates", name, matches);
  return refuse("ambiguous_debate", error, { debate: name, matches: shown });
}

/** Refuses an unknown name with the nearest id of the project. */
function unknownDebate(debates: Debates, name: string, project: string | null): Refusal {
  const near = project === null ? null : nearestId(debates, name, scopeOf(project));
  const isShort = isShortOf("d", name);
  const where = isShort && project !== null ? " in this project" : "";
  const hint = near === null ? "kite debate list shows them" : `did you mean ${near}?`;
  const other = isShort ? "; a debate of another project needs its whole id" : "";
  return refuse("unknown_debate", `no debate ${name}${where}; ${hint}${other}`, {
    debate: name,
    nearest: near,
  });
}

export function isDebate(found: Debate | Refusal): found is Debate {
  return "question" in found;
}

type Naming = Pick<DebateEnter, "debate" | "by" | "project">;

/** Returns the open debate that a command names, or why its actor cannot change it. An agent's own project counts first. */
export function openFor(state: State, { debate: name, by, project }: Naming): Debate | Refusal {
  const own = by === null ? undefined : projectOf(state, by);
  const debate = findDebate(state.debates, name, own ?? project ?? null);
  if (!isDebate(debate)) return debate;
  return strangerRefusal(state, debate, by) ?? closedRefusal(debate) ?? debate;
}

/** Refuses an actor that is not alive, or works in another project; a person may speak anywhere. */
function strangerRefusal(state: State, { id, project }: Debate, by: Actor | null): Refusal | null {
  if (by === null) return null;
  if (!isAlive(state, by)) return noSession(state, by.session);
  const own = projectOf(state, by);
  if (own === project) return null;
  const error = `${id} is a debate of ${project}, and you work in ${own}; open one there`;
  return refuse("not_in_debate", error, { debate: id, project });
}

function closedRefusal({ id, verdict }: Debate): Refusal | null {
  if (verdict === null) return null;
  const by = verdict.by === null ? personOnWire : quote(verdict.by.name);
  const how = verdict.forced ? " by force" : "";
  const error = `${id} is closed: ${by} chose ${quote(verdict.name)}${how}; open a new debate to doubt it`;
  return refuse("debate_state", error, { debate: id, status: "closed", verdict });
}

/** Returns names of hypotheses for a sentence: agents chose them. */
export function quoted(names: readonly string[]): string {
  return names.map(name => quote(name)).join(", ");
}

/** Refuses a hypothesis that the debate does not have, or returns null. */
export function unknownHypothesis({ id, hypotheses }: Debate, name: string): Refusal | null {
  const names = hypotheses.map(one => one.name);
  if (names.includes(name)) return null;
  const near = nearest(name, names);
  const hint = near === null ? `it has ${quoted(names)}` : `did you mean ${quote(near)}?`;
  const fields = { debate: id, hypothesis: name, nearest: near, hypotheses: names };
  return refuse("not_in_debate", `${id} has no hypothesis ${quote(name)}; ${hint}`, fields);
}

type Change = Extract<KiteEvent, { readonly event: "debate_changed" }>["what"];

/** Emits the event of a change, about the sessions of the participants. */
export function announce(step: Step, debate: Debate, what: Change, by: ActorRow | null): void {
  const { id, project, participants } = debate;
  const about = [...new Set(participants.map(({ row }) => row.id))];
  step.events.push({ event: { event: "debate_changed", debate: id, project, what, by }, about, project });
}
