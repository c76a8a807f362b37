/** Asks the quality gate whether an agent may call a task done. */
import type { GateFinding } from "../../protocol/gates.ts";
import { type Check, commandHash, concerns } from "../config/checks.ts";
import type { FoundChecks } from "../config/project-checks.ts";
import type { Actor } from "../core/actor.ts";
import { checkStatuses } from "../core/checks/status.ts";
import { resultKey } from "../core/checks/table.ts";
import type { CheckFact } from "../core/gates/facts.ts";
import { beforeCompletion } from "../core/gates/table.ts";
import { noteKey } from "../core/messages/notice-table.ts";
import type { Session } from "../core/sessions/table.ts";
import { openDebateOf } from "../core/tasks/debate.ts";
import { findTask, isTask } from "../core/tasks/replies.ts";
import type { HookServices } from "./hook-services.ts";

/** The names of the fields that sentences of gates ask for: the trail keeps these, and no text of an agent. */
export function fieldsOf(missing: readonly string[]): string {
  return [...new Set(missing.map(sentence => sentence.split(":", 1)[0] ?? ""))].join(", ");
}

type Needed = Pick<HookServices, "engine" | "rules" | "checks" | "facts">;

/** Returns what is missing; `task` is a task of Kite's queue, null for one of the client's own list. */
export async function completionFindings(
  services: Needed,
  actor: Actor,
  task: string | null,
): Promise<GateFinding[]> {
  const { state } = services.engine;
  const session = state.sessions.live.get(actor.session);
  if (session === undefined) return [];
  const { gates } = await services.rules.at(session);
  if (gates.quality === "off") return [];
  const declaration = state.declarations.live.get(noteKey(actor));
  const found = task === null ? null : findTask(state.tasks, task);
  const openDebate = found !== null && isTask(found) ? (openDebateOf(state, found)?.id ?? null) : null;
  const all = await services.checks.for(session.cwd);
  const checksChanged = !("unreachable" in all) && all.trust === "changed";
  const checks = "unreachable" in all ? [] : await statesOf(services, session, all);
  return beforeCompletion(gates, { declaration, checks, checksChanged, openDebate });
}

/** The trusted checks that matter for what differs from the commit, and how each stands. */
async function statesOf({ engine, facts }: Needed, session: Session, all: FoundChecks): Promise<CheckFact[]> {
  if (all.checks.length === 0) return [];
  const { project, worktree } = all;
  const repository = await facts.repository(session.cwd);
  const gitDir = "unreachable" in repository ? null : repository.gitDir;
  // What Kite cannot find out holds nobody back.
  if (gitDir === null) return [];
  const state = await facts.worktreeState({ worktree, gitDir });
  if ("unreachable" in state) return [];
  const { commit, dirty, changed } = state;
  const files = [...changed.keys()];
  // Nothing differs after a commit: then every check matters, and one that ran for another commit matters anyhow.
  const ranElsewhere = ({ name }: Check) => {
    const result = engine.state.checks.results.get(resultKey({ project, worktree, name }));
    return result !== undefined && result.commit !== commit;
  };
  const isWanted = (check: Check) => files.length === 0 || ranElsewhere(check) || concerns(check, files);
  const wanted = all.checks.filter(isWanted);
  const named = wanted.map(({ name, command }) => ({ name, command: commandHash(command) }));
  const statuses = checkStatuses(engine.state, { project, worktree }, named, { commit, dirty });
  return [...statuses].map(([name, status]) => ({ name, state: status }));
}
