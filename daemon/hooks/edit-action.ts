/** The action of an edit: it locks the edit's file. */

import { isAbsolute, relative } from "node:path";
import type { MergeNote } from "../../hooks/seam/notices.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import type { Actor } from "../core/actor.ts";
import type { FileRef } from "../core/file-ref.ts";
import { actorRow, pathOf } from "../core/locks/replies.ts";
import { isRefusal } from "../server/call.ts";
import { signOfLife } from "../sessions/commands.ts";
import { noteIgnored, noteLock } from "../trail/decisions.ts";
import { actorOfAction, ancestorsOf, contested, type Run, refused, toolOf } from "./action.ts";
import type { LockAction } from "./edit-lock.ts";
import type { HookServices } from "./hook-services.ts";
import { keptAgainst } from "./lasting-locks.ts";
import { wouldWait } from "./observe.ts";
import { grantVerdict, stops } from "./verdict.ts";

export async function lock(run: Run, asked: LockAction): Promise<HookOutcome> {
  const { services, call, plan } = run;
  const found = await run.scope.ruledFile(asked);
  if (isRefusal(found)) return refused("lock", found);
  const { rules } = found;
  const file = { ...found.file, file: nearName(asked.cwd, asked.file) };
  const path = pathOf(file);
  const actor = actorOfAction(run, asked);
  if (rules.ignores(path)) {
    noteIgnored(services, plan.event, toolOf(plan), actor, path);
    return { did: "ignored", ok: true };
  }
  const ancestors = await ancestorsOf(services, asked);
  const longestMs = Math.min(asked.waitMs, rules.lockWaitMs);
  const wanted = { actor, files: [file], ancestors, ticket: Number.POSITIVE_INFINITY };
  const waitMs = keptAgainst(services.engine.state, wanted) === null ? longestMs : 0;
  const action = { ...asked, waitMs, ancestors };
  if (action.agent !== undefined) signOfLife(services, action.session, action.agent);
  services.presence.touched(action.session, path, file.key);
  const ask = { ...action, files: [file], yieldMs: rules.yieldMs };
  const { waited, delivered } = services.hookLocks.ask(services, call, ask, actor);
  const { reply, waitedMs, before, change, isAbandoned } = await waited;
  if (isAbandoned && isRefusal(reply)) return refused("lock", reply);
  const would = isRefusal(reply) ? wouldWait(services, reply.code, waitMs) : {};
  const locked = { event: plan.event, type: toolOf(plan), actor, file: action.file, files: [file], ...would };
  noteLock(services, locked, reply, waitedMs, before !== null);
  if (!services.observes)
    services.hookWakes.decided(services, { actor, file, prompt: action.promptId }, reply);
  if (isRefusal(reply)) {
    const outcome = contested("lock", services, wanted, [file], reply);
    // It goes ahead, as a second writer.
    if (services.observes && outcome.verdict === "deny") writeBegins(services, actor, file, action.toolUseId);
    return { ...outcome, waitMs };
  }
  run.delivery.whenSettled(delivered);
  const { changedWhileWaiting, changedBy } = await change;
  void services.baselines.take(file);
  const mergeRisks = takeRisks(run, actor.session);
  const verdict = grantVerdict(action, { changedWhileWaiting, mergeRisks });
  if (stops(services, verdict)) {
    // The answer will tell the agent to read the file again, so nothing is written now.
    await services.engine.submitAndWait({
      type: "flight_end",
      actor,
      flight: action.toolUseId,
      wrote: false,
    });
  } else {
    writeBegins(services, actor, file, action.toolUseId);
  }
  const granted = { ...reply, token: String(reply["token"]) };
  return {
    did: "lock",
    ok: true,
    reply: granted,
    verdict,
    waitedMs,
    changedWhileWaiting,
    changedBy,
    before,
    mergeRisks,
  };
}

/** The tool writes the file now, as far as anybody knows until its end is reported. */
export function writeBegins(services: HookServices, actor: Actor, file: FileRef, flight: string): void {
  const { session, agent } = actor;
  const { name } = actorRow(services.engine.state, actor);
  services.writers.began(file.key, { session, agent, name, at: services.clock.now(), flight });
}

/** Merge risks that the session was not told of. They count as told when the answer is delivered. */
function takeRisks({ services, delivery }: Run, session: string): readonly MergeNote[] {
  const { engine, riskNotes } = services;
  if (!engine.state.risksOf.has(session) && !riskNotes.has(session)) return [];
  return riskNotes.offer(engine.state, session, delivery, risks =>
    engine.submitWithRetry({ type: "notes_told", session, agent: null, notes: [], risks }),
  );
}

/** The file's name relative to `cwd` if it lies below `cwd`; else its name as it is. */
function nearName(cwd: string, file: string): string {
  const near = relative(cwd, file);
  return isAbsolute(file) && near !== "" && !near.startsWith("..") ? near : file;
}
