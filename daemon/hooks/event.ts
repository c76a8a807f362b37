/** One event of a client, read once into one value that each of its actions and steps gets; and what these share. */

import type { LockNote } from "../../hooks/seam/outcomes.ts";
import type { HookPlan, LikelySubagent } from "../../hooks/seam/plan.ts";
import type { HookAction, HookOutcome, PlainAction } from "../../hooks/seam/slices.ts";
import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import { quote } from "../../protocol/text.ts";
import type { UserConfig } from "../config/config.ts";
import type { Rules } from "../config/project-rules.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import { firstBlocker, type Requester, useOf, waitersOver } from "../core/locks/blockers.ts";
import { yieldAt } from "../core/locks/leases.ts";
import type { Command } from "../core/tables/entries.ts";
import type { Whose } from "../core/tables/messages.ts";
import { pathOf } from "../core/tables/naming.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import { refs, refsNow } from "../facts/facts.ts";
import type { MountView } from "../facts/mounts.ts";
import type { Services } from "../options.ts";
import { type Call, isRefusal } from "../server/call.ts";
import { actorOf } from "../sessions/proposals.ts";
import type { Recorder } from "../trail/trail.ts";
import { nameOf, workedOn } from "../views/sessions.ts";
import { type Grants, keeperOf, keptAgainst } from "./edits/edit-lock.ts";
import { Delivery } from "./notices.ts";
import type { HookParts, Needs } from "./parts.ts";
import { refusalVerdict } from "./verdict.ts";

/** A file as an action names it. */
interface NamedFile {
  readonly session: string;
  readonly cwd: string;
  readonly file: string;
}

/** A file, and the rules that its project sets for it; or why it is not known. */
type RuledFile = { readonly file: FileRef; readonly rules: Rules } | Refusal;

/** Who acts, as an action names it. */
interface Acting {
  readonly session: string;
  readonly agent?: string | null;
  readonly pid?: number;
}

/**
 * One event of a client: the services of its actions, with a recorder of its own.
 *
 * Invariants: what it has found in the state holds until the log's next step. Nothing that outlives the event holds it.
 */
export class HookEvent implements Services {
  readonly node: string;
  readonly engine: Services["engine"];
  readonly clock: Services["clock"];
  readonly facts: Services["facts"];
  readonly presence: Services["presence"];
  /** Says in the trail that Kite only observes the event, or that its actor is a guess. */
  recorder: Recorder;
  readonly observes: boolean;
  /** The user's settings as the event found them; null: it did not ask. */
  settings: UserConfig["values"] | null = null;
  /** Who probably acts, in words; null: the client tells it. */
  likelyActor: string | null = null;
  readonly call: Call;
  /** What the adapter made of it. Steps before the actions leave out some of these. */
  plan: HookPlan;
  /** The container that it comes from; null: this machine. */
  readonly view: MountView | null;
  readonly delivery: Delivery;
  readonly grants: Grants = [];
  readonly #parts: Needs<"config">;
  #named: NamedFile | null = null;
  #ruled: Promise<RuledFile> | null = null;
  #known: { readonly actor: Actor; readonly pid: number | null; readonly seq: number } | null = null;
  #answerByMs: number | null = null;

  constructor(
    services: Services,
    parts: Needs<"config">,
    call: Call,
    plan: HookPlan,
    view: MountView | null = null,
    observes = false,
    delivery = new Delivery(!observes),
  ) {
    this.node = services.node;
    this.engine = services.engine;
    this.clock = services.clock;
    this.facts = services.facts;
    this.presence = services.presence;
    this.recorder = observes ? services.recorder.observing() : services.recorder;
    this.observes = observes;
    this.call = call;
    this.plan = plan;
    this.view = view;
    this.delivery = delivery;
    this.#parts = parts;
  }

  /** When a guarded line's hook has to answer, by the clock: its client waits for all of the guard's actions together. */
  get answerByMs(): number {
    this.#answerByMs ??= this.clock.now() + limits.guardAnswerMs;
    return this.#answerByMs;
  }

  /** Returns the actor that an action names: nearly always the one of the action before. */
  actor(acting: Acting): Actor {
    const { session, agent = null, pid = null } = acting;
    const { seq } = this.engine.state;
    const known = this.#known;
    const isKnown = known?.seq === seq && known.pid === pid && known.actor.session === session;
    if (isKnown && known.actor.agent === agent) return known.actor;
    const actor = actorOf(this, session, agent, pid);
    this.#known = { actor, pid, seq };
    return actor;
  }

  /** Returns the event's file with its rules: found out when it is first asked for, and once. */
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
    const files = refsNow(this, cwd, [file]) ?? (await refs(this, cwd, [file]));
    if (isRefusal(files)) return files;
    const [found] = files;
    if (found === undefined) throw new Error("one name gave no file");
    return { file: found, rules: await rulesFor(this, this.#parts, session, found) };
  }
}

/** The rules that the file's project sets for it. */
export function rulesFor(
  { engine }: Pick<Services, "engine">,
  { config }: Needs<"config">,
  session: string,
  file: FileRef,
): Promise<Rules> {
  return config.rules.for(pathOf(file), engine.state.sessions.live.get(session));
}

type Did = HookAction["do"];
export type ActionOf<D extends Did> = Extract<HookAction, { do: D }>;

/** What an action does with the parts that it names; null: nothing that its answer has to know. */
export type ActionHandler<D extends Did> = Handles<D>["handle"];

interface Handles<D extends Did> {
  // A method, so that a slice's action may ask for more parts than the base has.
  handle(
    event: HookEvent,
    action: ActionOf<D>,
    parts: HookParts,
  ): Promise<HookOutcome | null> | HookOutcome | null;
}

/** The answer to an event, as its steps make it. */
export interface Answer {
  readonly request: RequestOf<"hook">;
  /** Why the mounts of its container are not known; null: they are, or it names none. */
  readonly unclear: Refusal | null;
  /** By the clock of the process, for how long it took. */
  readonly beganMs: number;
  readonly marks: Set<Mark>;
  outcomes: readonly HookOutcome[];
  words: Words;
}

export type Words = ReturnType<HookPlan["answer"]>;

/**
 * What is true of an event. `untold`: the client says that a subagent acts, and not which. `guessed`: an earlier event of the
 * session was such a one. `home`: the event tells where the client keeps its files. `client`: the event tells of the client
 * itself. `off`: `kite off` is in force somewhere. `observed`: Kite only observes. `counted`: no other hook of the event counts
 * it. `shared`: others work in its worktree, or did. `warned`: the adapter itself refuses the step. `refused`: an action was refused. `denied`: the tool was.
 */
export type Mark =
  | "untold"
  | "guessed"
  | "home"
  | "client"
  | "off"
  | "observed"
  | "counted"
  | "shared"
  | "warned"
  | "refused"
  | "denied";

/** One step of the answer. "answered": no later one is for this event. */
export type Step = (event: HookEvent, answer: Answer, parts: HookParts) => Stepped | Promise<Stepped>;

export type Stepped = "answered" | undefined;

/** An event that no client waits for. */
export type EndEvent = Services & Pick<HookEvent, "plan">;

export function isLive({ engine }: Pick<Services, "engine">, session: string): boolean {
  return engine.state.sessions.live.has(session);
}

/** The actor of an action whose event no client waits for; others ask their event. */
export function actorOfAction(services: Pick<Services, "engine">, { session, agent, pid }: Acting): Actor {
  return actorOf(services, session, agent ?? null, pid ?? null);
}

/** The tool that the trail names for a hook's event. */
export function toolOf({ tool, event }: HookPlan): string {
  return tool ?? event;
}

export function refused(did: Did, refusal: Refusal): HookOutcome {
  return { did, ok: false, refusal, verdict: refusalVerdict(refusal.code), holder: null };
}

/** Submits a command and reports only whether the core refused it. */
export async function propose(
  { engine }: Pick<Services, "engine">,
  did: PlainAction,
  command: Command,
): Promise<HookOutcome> {
  const reply = await engine.submitAndWait(command);
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
  services: Pick<Services, "presence" | "facts">,
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

/** The lead of the team in which the actor is a teammate. */
export function leadOf({ points }: Needs<"points">, actor: Actor): Whose | null {
  for (const part of points) {
    const lead = part.leadOf?.(actor) ?? null;
    if (lead !== null) return lead;
  }
  return null;
}

/** A refused outcome with a note on the holder of the refused files: of several, on who keeps one. */
export function contested(
  did: "lock" | "guard" | "plain_files",
  services: Services,
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

function clientOf({ engine }: Services, { session }: Actor): Pick<LockNote, "client"> {
  const client = engine.state.sessions.live.get(session)?.client;
  return client === undefined ? {} : { client };
}

/** The task that an actor works on. */
export function taskOf({ engine }: Services, { session, agent }: Actor): string | null {
  const [own] = [...workedOn(engine, session, agent), ...workedOn(engine, session)];
  return own === undefined ? null : `works on "${own.description}"`;
}

/** The actor's task, else the files of its session's latest edits, of those that are not committed. */
function doingOf(services: Services, actor: Actor): Pick<LockNote, "doing" | "edited"> {
  const doing = taskOf(services, actor);
  const { files, byWriter } = services.engine.state.writes;
  const keys = doing === null ? [...(byWriter.get(actor.session) ?? [])].slice(-limits.doingFilesMax) : [];
  return { doing, edited: keys.flatMap(key => files.get(key) ?? []).map(pathOfWork) };
}

// Who probably acts, where the client says that a subagent does and not which: clients older than the supported ones.
//
// Invariants: the session's main agent owns every lock and claim. The guess is read only for an event of such a session. It
// goes into words and the trail, and gates then warn where they would hold back.

/** Notes that the session's client tells no agents apart. */
export function noteUntold({ plan }: HookEvent, _: Answer, { entry }: Needs<"entry">): undefined {
  const { untoldAgents } = entry;
  if (plan.session === null) return;
  const [oldest] = untoldAgents;
  if (untoldAgents.size >= limits.gatedActorsMax && oldest !== undefined) untoldAgents.delete(oldest);
  untoldAgents.add(plan.session);
}

/** Says with the event who probably acts, if its transcript has a guess. */
export async function guessActor(event: HookEvent): Promise<undefined> {
  const { session, agent, transcript } = event.plan;
  // Where Kite only observes, the recorder is another, and no gate holds anybody back.
  if (session === null || agent !== null || transcript === null || event.observes) return;
  const likely = await event.facts.likelySubagent({ session, transcript });
  if (likely === null) return;
  event.likelyActor = likelyWords(likely);
  event.recorder = event.recorder.guessing(event.likelyActor);
}

/** The guess in words. What an agent wrote in its call is quoted. */
function likelyWords({ type, description, isNested, others }: LikelySubagent): string {
  const what = description === null ? "" : ` (${quote(description, limits.nameBytes)})`;
  const which = isNested ? "a subagent's subagent" : "its subagent";
  const beside = others === 0 ? "" : ` or one of ${others} that run beside it`;
  return `perhaps ${which} ${quote(type, limits.nameBytes)}${what}${beside}`;
}
