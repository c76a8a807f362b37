/** A hook's event: the adapter says what to do, this does it in order and lets the adapter word the answer. */
import type { HookAction, HookOutcome, HookPlan, LockNote } from "../protocol/adapter.ts";
import { type Refusal, refuse } from "../protocol/codes.ts";
import { limits } from "../protocol/limits.ts";
import type { FileLockReply } from "../protocol/lock.ts";
import type { RequestOf } from "../protocol/requests.ts";
import { type Call, isRefusal } from "./call.ts";
import { sameActor } from "./core/actors.ts";
import type { Actor, FileRef } from "./core/entry.ts";
import { firstBlocker } from "./core/lock-blockers.ts";
import { actorRow, pathOf } from "./core/lock-text.ts";
import type { Reply } from "./core/step.ts";
import type { RequestHandler } from "./dispatch.ts";
import { lockCommand, noteLock, refs } from "./requests-lock.ts";
import { beginCommand, endDeadIncarnations, incarnationAt, signOfLife } from "./requests-session.ts";
import { lockRows, sessionRows } from "./rows.ts";
import { actorOf, type Services } from "./services.ts";

type ActionOf<D extends HookAction["do"]> = Extract<HookAction, { do: D }>;
type LockAction = ActionOf<"lock">;

/** Answers in its own time: hooks on one connection do not wait for each other. */
export const hook: RequestHandler<"hook"> = (services, request, call) => {
  call.connection.markHook();
  call.alone(answer(services, request, call));
  return undefined;
};

async function answer(services: Services, request: RequestOf<"hook">, call: Call): Promise<void> {
  const { adapter, counters } = services;
  if (adapter === null) {
    const error = "this daemon runs without an adapter for hooks; start it with kite up";
    call.reply(refuse("not_available", error));
    return;
  }
  const { env = {}, ppid = null } = request;
  const plan = adapter(request.event, { env, ppid, socket: services.socket, waitMs: services.hookWaitMs });
  counters.hooks.set(plan.event, (counters.hooks.get(plan.event) ?? 0) + 1);
  const done = await new HookRun(services, call).carryOut(plan);
  const going = done.outcomes.find(o => !o.ok && o.refusal.code === "restarting");
  if (going !== undefined && !going.ok) {
    // The client comes back with the same event: nothing is decided yet.
    call.reply(going.refusal, done.delivered);
    return;
  }
  const words = plan.answer(done.outcomes);
  if (request.reply === "raw") call.replyRaw(rawReply(words), done.delivered);
  else call.reply({ ok: true, ...words }, done.delivered);
}

/** For clients without a JSON parser: a line with exit code and byte counts, then the bytes. */
function rawReply(words: ReturnType<HookPlan["answer"]>): string {
  const { output, exitCode = 0, stderr = "", env = [] } = words;
  const lines = env.map(line => `${line}\n`).join("");
  const sizes = [output, stderr, lines].map(text => Buffer.byteLength(text));
  return `${exitCode} ${sizes.join(" ")}\n${output}${stderr}${lines}`;
}

/** The actions of one event, carried out in order up to the first refusal. */
class HookRun {
  readonly #services: Services;
  readonly #call: Call;
  #delivered: ((ok: boolean) => void) | null = null;

  constructor(services: Services, call: Call) {
    this.#services = services;
    this.#call = call;
  }

  async carryOut(plan: HookPlan): Promise<{
    readonly outcomes: readonly HookOutcome[];
    readonly delivered: ((ok: boolean) => void) | null;
  }> {
    const outcomes: HookOutcome[] = [];
    for (const action of plan.actions) {
      const outcome = await this.#act(action, plan);
      outcomes.push(outcome);
      if (!outcome.ok) break;
    }
    return { outcomes, delivered: this.#delivered };
  }

  #act(action: HookAction, plan: HookPlan): Promise<HookOutcome> | HookOutcome {
    switch (action.do) {
      case "begin":
        return this.#begin(action);
      case "seen":
        return this.#seen(action);
      case "lock":
        return this.#lock(action, plan);
      case "turn_end":
        return this.#turnEnd(action);
      case "end":
        return this.#end(action);
      case "look":
        return this.#look(action);
    }
  }

  async #begin(action: ActionOf<"begin">): Promise<HookOutcome> {
    const { session, cwd, pid = null, revive } = action;
    const services = this.#services;
    const known = services.engine.state.sessions.live.get(session);
    const same = known?.incarnations.some(i => pid === null || i.anchor?.pid === pid) ?? false;
    signOfLife(services, session);
    if (known !== undefined && same && !revive) {
      return { did: "begin", ok: true, name: known.name, project: known.project };
    }
    await endDeadIncarnations(services, session);
    const rest = { project: null, worktree: null, branch: null, name: null };
    const reply = await services.engine.ask(
      await beginCommand(services, { session, cwd, pid, revive, ...rest }),
    );
    if (isRefusal(reply)) return refused("begin", reply);
    return { did: "begin", ok: true, name: String(reply["name"]), project: String(reply["project"]) };
  }

  #seen({ session, agent, active, attention }: ActionOf<"seen">): HookOutcome {
    const { engine, presence } = this.#services;
    if (!engine.state.sessions.live.has(session)) return { did: "seen", ok: true };
    signOfLife(this.#services, session, agent ?? null);
    const row = presence.of(session);
    const actor = agent === undefined ? undefined : row.agents.get(agent);
    if (active !== undefined && agent === undefined) row.active = active;
    if (active !== undefined && actor !== undefined) actor.active = active;
    if (attention !== undefined) row.attention = attention;
    return { did: "seen", ok: true };
  }

  async #turnEnd({ session, agent, pid, keepPrompt }: ActionOf<"turn_end">): Promise<HookOutcome> {
    const { engine } = this.#services;
    if (!engine.state.sessions.live.has(session)) return { did: "turn_end", ok: true };
    const actor = actorOf(this.#services, session, agent ?? null, pid ?? null);
    const reply = await engine.ask({ type: "turn_end", actor, keepPrompt: keepPrompt ?? null });
    return isRefusal(reply) ? refused("turn_end", reply) : { did: "turn_end", ok: true };
  }

  async #end({ session, pid, cause }: ActionOf<"end">): Promise<HookOutcome> {
    const { engine, recorder, clock } = this.#services;
    const known = engine.state.sessions.live.get(session);
    if (known === undefined) return { did: "end", ok: true };
    const incarnation = incarnationAt(this.#services, session, pid ?? null);
    const isOthers =
      incarnation === null && pid !== undefined && known.incarnations.every(i => i.anchor !== null);
    // It came from a process that is none of the session's: those that are live on.
    if (isOthers) return { did: "end", ok: true };
    const reply = await engine.ask({ type: "session_end", session, incarnation, cause: "ended" });
    const { name, project } = known;
    const line = { at: clock.wall(), event: "SessionEnd", id: session, agent: null, name, project };
    recorder.note({ ...line, type: "hook", file: null, decision: "note", why: cause });
    return isRefusal(reply) && reply.code !== "session_ended"
      ? refused("end", reply)
      : { did: "end", ok: true };
  }

  #look({ session }: ActionOf<"look">): HookOutcome {
    const { engine, presence } = this.#services;
    const { state } = engine;
    const self = state.sessions.live.get(session);
    if (self === undefined)
      return { did: "look", ok: true, self: session.slice(0, 8), sessions: [], locks: [] };
    const sessions = [...sessionRows(state, presence, engine.now)].map(r => r.row());
    const locks: LockNote[] = [];
    for (const { row: make } of lockRows(state, engine.now)) {
      if (locks.length === limits.rowsDefault) break;
      const row = make();
      if (row.project !== self.project || row.holder === null || row.holder.id === session) continue;
      const { path: file, holder, heldMs, waiters } = row;
      locks.push({ file, holder: holder.name, heldMs, waiters: waiters.length });
    }
    const others = sessions.filter(s => s.project === self.project && s.id !== session);
    return { did: "look", ok: true, self: self.name, sessions: others, locks };
  }

  async #lock(action: LockAction, plan: HookPlan): Promise<HookOutcome> {
    const services = this.#services;
    const files = await refs(services, action.cwd, [action.file]);
    if (isRefusal(files)) return refused("lock", files);
    const [file] = files;
    if (file === undefined) throw new Error("one name gave no file");
    const actor = actorOf(services, action.session, action.agent ?? null, action.pid ?? null);
    if (action.agent !== undefined) signOfLife(services, action.session, action.agent);
    services.presence.touched(action.session, pathOf(file.key));
    const began = services.clock.now();
    const { reply, before, stamp } = await this.#wait(action, actor, file);
    const waitedMs = services.clock.now() - began;
    noteLock(services, plan.event, actor, action.file, reply, waitedMs);
    if (isRefusal(reply)) {
      const place = this.#placeOf(file, actor);
      const kept = place === null ? {} : { place };
      return { did: "lock", ok: false, refusal: reply, holder: this.#holderNote(file, actor), ...kept };
    }
    const now = stamp === null ? null : await services.facts.stamp(pathOf(file.key));
    const changedWhileWaiting = stamp !== null && (await stamp) !== now;
    return { did: "lock", ok: true, reply: lockReply(reply), waitedMs, changedWhileWaiting, before };
  }

  /** Asks for the lock; while it waits, the client hears at once that it does, and the file's stamp is kept. */
  #wait(action: LockAction, actor: Actor, file: FileRef): Promise<Waited> {
    const services = this.#services;
    const { engine } = services;
    const { connection } = this.#call;
    let before: string | null = null;
    let stamp: Promise<string | null> | null = null;
    const command = lockCommand(
      services,
      {
        actor,
        files: [file],
        single: true,
        kind: "turn",
        waitMs: action.waitMs,
        depth: limits.hookQueueDepth,
        placeMs: limits.placeMs,
        prompt: action.promptId,
      },
      action.cwd,
      undefined,
    );
    return new Promise(resolve => {
      const gone = () => engine.abandon(n);
      const n = engine.submit(command, {
        answer: reply => {
          connection.onClosed.delete(gone);
          if (reply.ok) this.#delivered = ok => ok || engine.undelivered(n, actor);
          resolve({ reply, before, stamp });
        },
        parked: () => {
          const blocker = firstBlocker(engine.state.locks, {
            actor,
            files: [file],
            ticket: engine.state.seq,
          });
          before = blocker === null ? null : actorRow(engine.state, blocker.actor).name;
          stamp = services.facts.stamp(pathOf(file.key));
          if (connection.isClosed) gone();
          else connection.onClosed.add(gone);
          this.#call.park();
          connection.push("\n");
        },
      });
    });
  }

  /** Where in line the actor stands for the file, counted from 1; null where it does not. */
  #placeOf(file: FileRef, actor: Actor): number | null {
    const { locks } = this.#services.engine.state;
    const tickets = [...(locks.waitersAt.get(file.key) ?? [])].sort((a, b) => a - b);
    const index = tickets.findIndex(t => {
      const waiter = locks.waiters.get(t);
      return waiter !== undefined && sameActor(waiter.actor, actor);
    });
    return index === -1 ? null : index + 1;
  }

  #holderNote(file: FileRef, actor: Actor): LockNote | null {
    const { engine } = this.#services;
    const blocker = firstBlocker(engine.state.locks, {
      actor,
      files: [file],
      ticket: Number.POSITIVE_INFINITY,
    });
    if (blocker === null) return null;
    const since = blocker.by === "hold" ? blocker.hold.since : blocker.waiter.since;
    const heldMs = Math.max(0, engine.now - since);
    const waiters = engine.state.locks.waitersAt.get(file.key)?.size ?? 0;
    return { file: pathOf(file.key), holder: actorRow(engine.state, blocker.actor).name, heldMs, waiters };
  }
}

interface Waited {
  readonly reply: Reply;
  /** Who stood in the way when the wait began. */
  readonly before: string | null;
  /** The file as it was then; null where there was no wait. */
  readonly stamp: Promise<string | null> | null;
}

function refused(did: HookAction["do"], refusal: Refusal): HookOutcome {
  return { did, ok: false, refusal, holder: null };
}

function lockReply(reply: Reply & { readonly ok: true }): FileLockReply {
  return { ...reply, token: String(reply["token"]) };
}
