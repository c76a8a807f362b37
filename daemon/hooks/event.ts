/** What the actions of a hook event share. */

import type { LockNote } from "../../hooks/seam/outcomes.ts";
import type { HookPlan, LikelySubagent } from "../../hooks/seam/plan.ts";
import type { HookAction, HookOutcome, PlainAction } from "../../hooks/seam/slices.ts";
import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { quote } from "../../protocol/text.ts";
import type { Rules } from "../config/project-rules.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import { firstBlocker, type Requester, useOf, waitersOver } from "../core/locks/blockers.ts";
import { yieldAt } from "../core/locks/leases.ts";
import type { Command } from "../core/tables/entries.ts";
import { pathOf } from "../core/tables/naming.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import { refs, refsNow } from "../facts/facts.ts";
import { type Call, isRefusal } from "../server/call.ts";
import { actorOf } from "../sessions/proposals.ts";
import { nameOf, workedOn } from "../views/sessions.ts";
import { type Grants, keeperOf, keptAgainst } from "./edits/edit-lock.ts";
import type { HookServices } from "./parts.ts";
import type { Delivery } from "./points.ts";
import { refusalVerdict } from "./verdict.ts";

// What the actions of one hook event share: each is found out when it is first asked for, and once.

/** A file as an action names it. */
interface NamedFile {
  readonly session: string;
  readonly cwd: string;
  readonly file: string;
}

/** A file, and the rules that its project sets for it; or why it is not known. */
type RuledFile = { readonly file: FileRef; readonly rules: Rules } | Refusal;

export class Scope {
  readonly #services: HookServices;
  #named: NamedFile | null = null;
  #ruled: Promise<RuledFile> | null = null;
  #answerByMs: number | null = null;

  constructor(services: HookServices) {
    this.#services = services;
  }

  /** When a guarded line's hook has to answer, by the clock: its client waits for all of the guard's actions together. */
  get answerByMs(): number {
    this.#answerByMs ??= this.#services.clock.now() + limits.guardAnswerMs;
    return this.#answerByMs;
  }

  /** Returns the event's file with its rules. */
  ruledFile(named: NamedFile): Promise<RuledFile> {
    const known = this.#named;
    const isKnown = known?.file === named.file && known.cwd === named.cwd && known.session === named.session;
    if (this.#ruled === null || !isKnown) {
      this.#named = named;
      this.#ruled = this.#find(named);
    }
    return this.#ruled;
  }

  async #find({ session, cwd, file }: NamedFile): Promise<RuledFile> {
    const files = refsNow(this.#services, cwd, [file]) ?? (await refs(this.#services, cwd, [file]));
    if (isRefusal(files)) return files;
    const [found] = files;
    if (found === undefined) throw new Error("one name gave no file");
    return { file: found, rules: await rulesFor(this.#services, session, found) };
  }
}

/** The rules that the file's project sets for it. */
export function rulesFor({ rules, engine }: HookServices, session: string, file: FileRef): Promise<Rules> {
  return rules.for(pathOf(file), engine.state.sessions.live.get(session));
}

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

// Who probably acts, where the client says that a subagent does and not which: clients older than the supported ones.
//
// Invariants: the session's main agent owns every lock and claim. The guess is read for an event of such a session alone, and
// goes into words and the trail; gates then warn where they would hold back.

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
