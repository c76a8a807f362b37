/** What the actions of a hook event share. */

import type { LockNote } from "../../hooks/seam/outcomes.ts";
import type { HookPlan } from "../../hooks/seam/plan.ts";
import type { HookAction, HookOutcome, PlainAction } from "../../hooks/seam/slices.ts";
import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import { firstBlocker, type Requester, useOf, waitersOver } from "../core/locks/blockers.ts";
import { yieldAt } from "../core/locks/leases.ts";
import type { Command } from "../core/tables/entries.ts";
import { pathOf } from "../core/tables/naming.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import { type Call, isRefusal } from "../server/call.ts";
import { actorOf } from "../sessions/commands.ts";
import { nameOf, workedOn } from "../views/sessions-and-locks.ts";
import type { Delivery } from "./delivery.ts";
import type { Grants } from "./grants.ts";
import type { HookServices } from "./hook-services.ts";
import { keeperOf, keptAgainst } from "./lasting-locks.ts";
import type { Scope } from "./scope.ts";
import { refusalVerdict } from "./verdict.ts";

export type ActionOf<D extends HookAction["do"]> = Extract<HookAction, { do: D }>;

export interface Run {
  readonly services: HookServices;
  readonly call: Call;
  readonly plan: HookPlan;
  readonly delivery: Delivery;
  readonly scope: Scope;
  readonly grants: Grants;
}

/** What an action does; null: nothing that its answer has to know. */
export type ActionHandler<D extends HookAction["do"]> = Handles<D>["handle"];

interface Handles<D extends HookAction["do"]> {
  // A method, so that a slice's action may ask for more services than the base has.
  handle(run: Run, action: ActionOf<D>): Promise<HookOutcome | null> | HookOutcome | null;
}

/** What an action needs that no client waits for. */
export type EventRun = Pick<Run, "services" | "plan">;

export function isLive({ services }: EventRun, session: string): boolean {
  return services.engine.state.sessions.live.has(session);
}

export function actorOfAction(
  { services }: EventRun,
  { session, agent, pid }: { readonly session: string; readonly agent?: string; readonly pid?: number },
): Actor {
  return actorOf(services, session, agent ?? null, pid ?? null);
}

/** The tool that the trail names for a hook's event. */
export function toolOf({ tool, event }: HookPlan): string {
  return tool ?? event;
}

export function refused(did: HookAction["do"], refusal: Refusal): HookOutcome {
  return { did, ok: false, refusal, verdict: refusalVerdict(refusal.code), holder: null };
}

/** Submits a command and reports only whether the core refused it. */
export async function propose(
  { services }: EventRun,
  did: PlainAction,
  command: Command,
): Promise<HookOutcome> {
  const reply = await services.engine.submitAndWait(command);
  return isRefusal(reply) ? refused(did, reply) : { did, ok: true };
}

/** An agent with its ancestors, as far as its event named them. */
interface Working {
  readonly session: string;
  readonly agent?: string;
  readonly ancestors: readonly (string | null)[];
  readonly parentFile: string | null;
}

/** The agent's ancestors. Only the client knows a nested agent's parent: a file of its own names it. */
export async function ancestorsOf(
  services: HookServices,
  { session, agent, ancestors, parentFile }: Working,
): Promise<readonly (string | null)[]> {
  const row = agent === undefined ? undefined : services.presence.of(session).agents.get(agent);
  if (row === undefined) return ancestors;
  if (parentFile !== null && row.parent === null) {
    const parent = await services.facts.parentAgent(parentFile);
    // Kept only if the file could be read: the parent holds for the agent's whole life.
    if (typeof parent === "string" || parent === null) row.parent ??= parent ?? "";
  }
  return [...new Set([...ancestors, ...services.presence.ancestors(session, agent ?? null)])];
}

/** A refused outcome with a note on the holder of the refused files: of several, on who keeps one. */
export function contested(
  did: "lock" | "guard" | "plain_files",
  services: HookServices,
  requester: Requester,
  files: readonly FileRef[],
  refusal: Refusal,
): Extract<HookOutcome, { ok: false }> {
  const { state, now } = services.engine;
  const { actor } = requester;
  const ask = { ...requester, files, ticket: Number.POSITIVE_INFINITY };
  const blocker = keptAgainst(state, ask) ?? firstBlocker(state.locks, ask);
  const file = blocker?.file ?? files[0];
  const refused = { did, ok: false, refusal, verdict: refusalVerdict(refusal.code) } as const;
  if (file === undefined) return { ...refused, holder: null };
  const line = [...waitersOver(state.locks, file)].sort((a, b) => a.ticket - b.ticket);
  const index = line.findIndex(w => w.actor.session === actor.session && w.actor.agent === actor.agent);
  const place = index === -1 ? {} : { place: index + 1 };
  if (blocker === null) return { ...refused, holder: null, ...place };
  const hold = blocker.by === "hold" ? blocker.hold : null;
  const by = (hold === null ? null : keeperOf(hold, requester)) ?? {
    actor: blocker.actor,
    since: blocker.by === "hold" ? blocker.hold.since : blocker.waiter.since,
    stays: hold === null ? null : useOf(hold),
  };
  const yields = hold === null ? null : yieldAt(hold);
  const holder: LockNote = {
    file: pathOf(hold ?? file),
    holder: nameOf(services, by.actor),
    ...clientOf(services, by.actor),
    heldMs: Math.max(0, now - by.since),
    waiters: line.length,
    ...doingOf(services, by.actor),
    isDirectory: hold?.dir ?? false,
    stays: by.stays,
    yieldsInMs: yields === null ? null : Math.max(0, yields - now),
  };
  return { ...refused, holder, ...place };
}

function clientOf({ engine }: HookServices, { session }: Actor): Pick<LockNote, "client"> {
  const client = engine.state.sessions.live.get(session)?.client;
  return client === undefined ? {} : { client };
}

/** The task that an actor works on. */
export function taskOf({ engine }: HookServices, { session, agent }: Actor): string | null {
  const [own] = [...workedOn(engine, session, agent), ...workedOn(engine, session)];
  return own === undefined ? null : `works on "${own.description}"`;
}

/** The actor's task, else the files of its session's latest edits, of those that are not committed. */
function doingOf(services: HookServices, actor: Actor): Pick<LockNote, "doing" | "edited"> {
  const doing = taskOf(services, actor);
  const { files, byWriter } = services.engine.state.writes;
  const keys = doing === null ? [...(byWriter.get(actor.session) ?? [])].slice(-limits.doingFilesMax) : [];
  return { doing, edited: keys.flatMap(key => files.get(key) ?? []).map(pathOfWork) };
}
