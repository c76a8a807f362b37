/**
 * Who probably acts, where the client says that a subagent does and not which: clients older than the supported ones.
 *
 * Invariants: the session's main agent owns every lock and claim. The guess is read for an event of such a session alone, and
 * goes into words and the trail; gates then warn where they would hold back.
 */
import type { HookPlan, LikelySubagent } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import { quote } from "../../protocol/text.ts";
import type { HookServices } from "./hook-services.ts";

/** Notes that the session's client tells no agents apart. */
export function noteUntold({ untoldAgents }: Pick<HookServices, "untoldAgents">, session: string): void {
  const [oldest] = untoldAgents;
  if (untoldAgents.size >= limits.gatedActorsMax && oldest !== undefined) untoldAgents.delete(oldest);
  untoldAgents.add(session);
}

/** Returns the services with which one event runs: with the guess if its transcript has one. */
export async function withLikelyActor(services: HookServices, plan: HookPlan): Promise<HookServices> {
  const { session, agent, transcript } = plan;
  // Where Kite only observes, the recorder is another, and no gate holds anybody back.
  if (session === null || agent !== null || transcript === null || services.observes) return services;
  const likely = await services.facts.likelySubagent({ session, transcript });
  if (likely === null) return services;
  const words = likelyWords(likely);
  return { ...services, likelyActor: words, recorder: services.recorder.guessing(words) };
}

/** The guess in words. What an agent wrote in its call is quoted. */
function likelyWords({ type, description, isNested, others }: LikelySubagent): string {
  const what = description === null ? "" : ` (${quote(description, limits.nameBytes)})`;
  const which = isNested ? "a subagent's subagent" : "its subagent";
  const beside = others === 0 ? "" : ` or one of ${others} that run beside it`;
  return `perhaps ${which} ${quote(type, limits.nameBytes)}${what}${beside}`;
}
