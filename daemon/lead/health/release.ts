/** Gives back the tasks that an agent has in the log which machines share: its release itself is an entry of this machine's log. */
import type { HealthNote } from "../../../hooks/lead/seam.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Actor } from "../../core/frame/actors.ts";
import type { Whose } from "../../core/tables/messages.ts";
import { logOfSession } from "../../engine/log-view.ts";
import type { Services } from "../../services.ts";
import { claimsBy } from "../../views/sessions-and-locks.ts";

export interface SharedRelease {
  readonly tasks: readonly { readonly id: string; readonly description: string }[];
  /** Tasks that the log did not give back, each with the reason. */
  readonly stayed: readonly string[];
  /** The ids of those of which it is known that they stayed. */
  readonly kept: ReadonlySet<string>;
}

/** Whether the session's tasks are in the log that machines share. */
export function isSharing({ engine }: Pick<Services, "engine">, session: string): boolean {
  return logOfSession(engine, session).state !== engine.state;
}

/** A task that the log does not give back, or cannot now, stays as it is. */
export async function releaseShared(
  { engine, clock }: Pick<Services, "engine" | "clock">,
  { session, agent }: Whose,
  released: { readonly by: Actor | null; readonly cause: string },
): Promise<SharedRelease> {
  const tasks: { readonly id: string; readonly description: string }[] = [];
  const stayed: string[] = [];
  const kept = new Set<string>();
  const project = engine.state.sessions.live.get(session)?.project;
  if (project === undefined) return { tasks, stayed, kept };
  for (const { id, description } of claimsBy(engine, session, agent)) {
    const wallMs = clock.wall();
    const back = await engine.submitAndWait({ type: "task_release", ...released, task: id, project, wallMs });
    if (back.ok) tasks.push({ id, description: description.slice(0, limits.quoteChars) });
    else stayed.push(`${id}: ${back.error}`);
    if (!back.ok && back.code !== "outcome_unknown") kept.add(id);
  }
  return { tasks, stayed, kept };
}

/** Returns what an agent is told to have lost, without the tasks that it has still; null: it lost nothing. */
export function lostOf(had: HealthNote, kept: ReadonlySet<string>): HealthNote | null {
  if (kept.size === 0) return had;
  const isGone = (_: unknown, at: number) => !kept.has(had.tasks[at] ?? "");
  const tasks = had.tasks.filter(isGone);
  return tasks.length + had.locks === 0
    ? null
    : { ...had, tasks, taskNumbers: had.taskNumbers.filter(isGone) };
}
