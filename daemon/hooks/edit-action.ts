/** The action of an edit: it locks the edit's file. */

import { isAbsolute, relative } from "node:path";
import type { MergeNote } from "../../hooks/seam/outcomes.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import type { Refusal } from "../../protocol/codes.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import { actorRow, pathOf } from "../core/tables/naming.ts";
import { isRefusal } from "../server/call.ts";
import { signOfLife } from "../sessions/commands.ts";
import { noteIgnored, noteLock } from "../trail/decisions.ts";
import { actorOfAction, ancestorsOf, contested, type Run, refused, toolOf } from "./action.ts";
import type { LockAction } from "./edit-lock.ts";
import type { HookServices } from "./hook-services.ts";
import { keptAgainst } from "./lasting-locks.ts";
import { wouldWait } from "./observe.ts";
import { noteStale, unseenChange } from "./stale-edit.ts";
import { grantVerdict, refusalVerdict, stops } from "./verdict.ts";

export async function lock(run: Run, asked: LockAction): Promise<HookOutcome> {
  const { services, call, plan } = run;
  const actor = actorOfAction(run, asked);
  const found = await lockable(run, asked);
  if (isRefusal(found)) return refused("lock", found);
  const { files, projectWaitMs, yieldMs, keys, ignored } = found;
  const [first] = files;
  if (first === undefined) {
    for (const path of ignored) noteIgnored(services, plan.event, toolOf(plan), actor, path);
    return { did: "ignored", ok: true };
  }
  const ancestors = await ancestorsOf(services, asked);
  const longestMs = Math.min(asked.waitMs, projectWaitMs);
  const wanted = { actor, files, ancestors, ticket: Number.POSITIVE_INFINITY };
  const waitMs = keptAgainst(services.engine.state, wanted) === null ? longestMs : 0;
  const overwritten = asked.overwrites.length === 0 ? none : keysOf(keys, asked.overwrites);
  const action = { ...asked, waitMs, ancestors, overwritten };
  if (action.agent !== undefined) signOfLife(services, action.session, action.agent);
  for (const file of files) services.presence.touched(action.session, pathOf(file), file.key);
  const { waited, delivered, isFirst } = services.hookLocks.ask(
    services,
    call,
    { ...action, files, yieldMs },
    actor,
  );
  const { reply, waitedMs, before, change, isAbandoned } = await waited;
  const isRefused = isRefusal(reply);
  if (isAbandoned && isRefused) return refused("lock", reply);
  const would = isRefused ? wouldWait(services, reply.code, waitMs) : {};
  const locked = { event: plan.event, type: toolOf(plan), actor, file: action.file, files, ...would };
  const hasWaited = before !== null;
  if (isRefused && isFirst) {
    const runs = refusalVerdict(reply.code) === "allow";
    noteLock(services, runs ? { ...locked, runs } : locked, reply, waitedMs, hasWaited);
  }
  const blocked = isRefused ? files.find(file => pathOf(file) === reply["path"]) : first;
  if (!services.observes)
    services.hookWakes.decided(services, { actor, file: blocked ?? first, prompt: action.promptId }, reply);
  if (isRefused) {
    const outcome = contested("lock", services, wanted, files, reply);
    // It goes ahead, as a second writer.
    if (services.observes && outcome.verdict === "deny")
      for (const file of files) writeBegins(services, actor, file, action.toolUseId);
    return { ...outcome, waitMs };
  }
  run.delivery.whenSettled(delivered);
  const changed = await change;
  const overwrites =
    overwritten !== none &&
    files.some(one => pathOf(one) === changed.changedFile && overwritten.has(one.key));
  const { unchecked } = asked;
  // The client of nearly every edit checks this itself.
  const unseen =
    unchecked === undefined
      ? null
      : await unseenChange(run, unchecked, actor, {
          files,
          whole: keysOf(keys, unchecked.whole),
          toldPath: changed.changedFile,
          isDenied: overwrites,
        });
  for (const file of files) void services.baselines.take(file);
  const mergeRisks = takeRisks(run, actor.session);
  const noted = { ...changed, unseen, mergeRisks };
  const isStopped = stops(services, grantVerdict({ overwrites }, { ...noted, unkept: [] }));
  const unkept = isStopped ? [] : await keepReplaced(services, files);
  const verdict = grantVerdict({ overwrites }, { ...noted, unkept });
  if (isFirst)
    noteLock(services, isStopped ? { ...locked, runs: false } : locked, reply, waitedMs, hasWaited);
  if (isFirst && verdict === "deny") noteStale(run, actor, { ...changed, unseen });
  if (isStopped) {
    // The answer will tell the agent to read the file again, so nothing is written now.
    await services.engine.submitAndWait({
      type: "flight_end",
      actor,
      flight: action.toolUseId,
      wrote: false,
    });
  } else {
    for (const path of ignored) noteIgnored(services, plan.event, toolOf(plan), actor, path);
    for (const file of files) writeBegins(services, actor, file, action.toolUseId);
  }
  const granted = { ...reply, token: String(reply["token"]) };
  return { did: "lock", ok: true, reply: granted, verdict, waitedMs, before, ...noted, unkept };
}

/**
 * Keeps what granted writes of these files replace. Returns the paths of files with uncommitted work of which there is no copy
 * after a short while. Where Kite only observes, nobody waits for that.
 */
export async function keepReplaced(
  services: HookServices,
  files: readonly FileRef[],
): Promise<readonly string[]> {
  const unkept: string[] = [];
  for (const part of services.points.writesBegin) {
    const keeping = part.writesBegin(services, files);
    if (keeping !== undefined && !services.observes) unkept.push(...(await keeping));
  }
  return unkept;
}

/** The files of an edit that their projects do not ignore, each once, and the shortest of the times that these set. */
interface Lockable {
  readonly files: readonly FileRef[];
  readonly projectWaitMs: number;
  readonly yieldMs: number;
  /** The paths of the others. */
  readonly ignored: readonly string[];
  /** The files' keys, by their names in the action. */
  readonly keys: ReadonlyMap<string, string>;
}

const none: ReadonlySet<string | undefined> = new Set();

function keysOf(keys: Lockable["keys"], names: readonly string[]): ReadonlySet<string | undefined> {
  return new Set(names.map(name => keys.get(name)));
}

async function lockable(run: Run, asked: LockAction): Promise<Lockable | Refusal> {
  const files = new Map<string, FileRef>();
  const keys = new Map<string, string>();
  const ignored: string[] = [];
  let [projectWaitMs, yieldMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const name of [asked.file, ...(asked.moreFiles ?? [])]) {
    const found = await run.scope.ruledFile({ session: asked.session, cwd: asked.cwd, file: name });
    if (isRefusal(found)) return found;
    const { file, rules } = found;
    const path = pathOf(file);
    if (rules.ignores(path)) {
      ignored.push(path);
      continue;
    }
    keys.set(name, file.key);
    if (!files.has(file.key)) files.set(file.key, { ...file, file: nearName(asked.cwd, name) });
    projectWaitMs = Math.min(projectWaitMs, rules.projectWaitMs);
    yieldMs = Math.min(yieldMs, rules.yieldMs);
  }
  return { files: [...files.values()], ignored, projectWaitMs, yieldMs, keys };
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
