/** Asks the quality gate whether an agent may call a task done. */
import type { GateFinding } from "../../../protocol/lead/roles.ts";
import type { Actor } from "../../core/frame/actors.ts";
import { openDebateOf } from "../../core/lead/debates.ts";
import { beforeCompletion, changed } from "../../core/lead/gates.ts";
import { noteKey } from "../../core/tables/messages.ts";
import type { Session } from "../../core/tables/sessions.ts";
import { findTask, isTask } from "../../core/tasks/replies.ts";
import { checkFacts } from "../checks/facts.ts";
import type { LeadServices } from "../services.ts";

/** The names of the fields that sentences of gates ask for: the trail keeps these, and no text of an agent. */
export function fieldsOf(missing: readonly string[]): string {
  return [...new Set(missing.map(sentence => sentence.split(":", 1)[0] ?? ""))].join(", ");
}

type Needed = Pick<
  LeadServices,
  "engine" | "rules" | "checks" | "facts" | "presence" | "greenRuns" | "completionTries"
>;

/**
 * Returns what is missing; `task` is a task of Kite's queue, null for one of the client's own list. `cwd` is the caller's
 * directory, if it is known.
 */
export async function completionFindings(
  services: Needed,
  actor: Actor,
  task: string | null,
  cwd: string | null,
): Promise<GateFinding[]> {
  const { state } = services.engine;
  const session = state.sessions.live.get(actor.session);
  if (session === undefined) return [];
  const { gates } = await services.rules.at(session);
  if (gates.quality === "off") return changedText(services, session);
  const me = { actor, ancestors: services.presence.ancestors(actor.session, actor.agent) };
  const declaration = state.declarations.live.get(noteKey(actor));
  const { openDebate, project } = aboutTask(services, task, session);
  const place = await placeOf(services, session, project, cwd);
  const { runs, ...standing } = await checkFacts(services, me, place, declaration);
  const findings = beforeCompletion(gates, { declaration, ...standing, openDebate });
  const held = findings.filter(({ mode }) => mode === "enforce").flatMap(({ missing }) => missing);
  if (held.length === 0) services.completionTries.passed(actor);
  else if (held.length === runs.size) {
    // Nothing else holds the agent back.
    for (const [reason, run] of runs) services.completionTries.refused(actor, reason, run);
  }
  return findings;
}

/** The open debate that the task requires, and its project; of a task that nobody knows, its agent's. */
function aboutTask(
  { engine }: Needed,
  name: string | null,
  { project }: Session,
): { readonly openDebate: string | null; readonly project: string } {
  const none = { openDebate: null, project };
  if (name === null) return none;
  const log = engine.logOf(project);
  const task = findTask(log.state, name, log.project(project));
  if (!isTask(task)) return none;
  const openDebate = openDebateOf(log.state, task)?.id ?? null;
  return log.outward({ openDebate, project: task.project });
}

/**
 * Where the work is: in the caller's directory, if that belongs to the task's project, else in its session's. A directory
 * elsewhere says nothing of the task.
 */
async function placeOf(
  { facts }: Needed,
  session: Session,
  project: string,
  cwd: string | null,
): Promise<string> {
  if (cwd === null) return session.cwd;
  const around = await facts.repository(cwd);
  return !("unreachable" in around) && around.project === project ? cwd : session.cwd;
}

/** Without the gate, an agent is still told that the text is no longer the one that a person trusted. */
async function changedText({ checks }: Needed, { cwd }: Session): Promise<GateFinding[]> {
  const all = await checks.for(cwd);
  const isChanged = !("unreachable" in all) && all.trust === "changed";
  return isChanged ? [{ gate: "quality", mode: "warn", missing: [changed] }] : [];
}
