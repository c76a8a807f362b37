/** How debates are found and named in replies, refusals and events. */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { KiteEvent } from "../../../protocol/events.ts";
import type { ActorRow } from "../../../protocol/lock.ts";
import { nearest } from "../../../protocol/nearest.ts";
import { quote } from "../../../protocol/text.ts";
import type { Actor } from "../actor.ts";
import { ambiguity, isMatch, matchesOf, nearestId } from "../ids.ts";
import type { Step } from "../outcome.ts";
import { noSession } from "../sessions/end.ts";
import { isAlive, projectOf } from "../sessions/kinship.ts";
import type { State } from "../state.ts";
import { type Debate, type Debates, debateAt, debateOf } from "./table.ts";

/**
 * Returns the debate that a request names, or a refusal. A name is an id, a prefix of it, or its last part; prefix and
 * last part must be unambiguous, if not among all debates, then among those of `project`.
 */
export function findDebate(debates: Debates, name: string, project: string | null = null): Debate | Refusal {
  const exact = debates.all.get(name);
  if (exact !== undefined) return exact;
  const every = matchesOf(debates, name);
  const own = project === null || every.length < 2 ? [] : matchesIn(debates, project, name);
  const matches = own.length === 0 ? every : own;
  const [first] = matches;
  if (first !== undefined && matches.length === 1) return debateOf(debates, first);
  if (first === undefined) {
    const near = nearestId(debates, name);
    const hint = near === null ? "kite debate list shows them" : `did you mean ${near}?`;
    return refuse("unknown_debate", `no debate ${name}; ${hint}`, { debate: name, nearest: near });
  }
  const { error, shown } = ambiguity("debates", name, matches);
  return refuse("ambiguous_debate", error, { debate: name, matches: shown });
}

/** Returns the ids of the project's debates that `name` names. A project has few debates, so this visits each. */
function matchesIn(debates: Debates, project: string, name: string): string[] {
  const places = debates.byProject.get(project)?.from("") ?? [];
  return [...places].map(place => debateAt(debates, place).id).filter(id => isMatch(id, name));
}

export function isDebate(found: Debate | Refusal): found is Debate {
  return "question" in found;
}

/** Returns the open debate that the actor's request names, or why the actor cannot change it. */
export function openFor(state: State, name: string, by: Actor | null): Debate | Refusal {
  const project = by === null ? null : (projectOf(state, by) ?? null);
  const debate = findDebate(state.debates, name, project);
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
  const by = verdict.by === null ? "a person at a terminal" : quote(verdict.by.name);
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
