/** Asks the quality gate whether an agent may call a task done. */
import type { GateFinding } from "../../protocol/gates.ts";
import type { Actor } from "../core/actor.ts";
import { beforeCompletion } from "../core/gates/table.ts";
import { noteKey } from "../core/messages/notice-table.ts";
import { openDebateOf } from "../core/tasks/debate.ts";
import { findTask, isTask } from "../core/tasks/replies.ts";
import type { HookServices } from "./hook-services.ts";

/** Returns what is missing; `task` is a task of Kite's queue, null for one of the client's own list. */
export async function completionFindings(
  services: Pick<HookServices, "engine" | "rules">,
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
  return beforeCompletion(gates, { declaration, checks: [], openDebate });
}
