/**
 * A seeded world of hooks: simulated agents of a client send their events to the daemon's own handler of hooks, with the
 * client's own adapter, over the real engine and a journal that may fail at any point. The oracle knows the agents'
 * side alone.
 */

import { loadConfig } from "../../../daemon/config/config.ts";
import { nothingOff } from "../../../daemon/config/off-switch.ts";
import type { Entry, Step } from "../../../daemon/core/tables/entries.ts";
import { Engine } from "../../../daemon/engine/engine.ts";
import { Listeners } from "../../../daemon/engine/log-view.ts";
import { keptByHooks, pointsOf } from "../../../daemon/hooks/run.ts";
import { wakingSteps } from "../../../daemon/hooks/wake.ts";
import type { LeadServices } from "../../../daemon/lead/services.ts";
import { hook as handleHook } from "../../../daemon/requests/hook.ts";
import { PresenceTable } from "../../../daemon/sessions/presence.ts";
import { Recorder } from "../../../daemon/trail/trail.ts";
import { claudeCode } from "../../../hooks/claude-code/adapter.ts";
import { limits } from "../../../protocol/limits.ts";
import { kitePaths } from "../../../protocol/paths.ts";
import { FileHost, type Host, type HostName, MemoryHost, SimulatedClock } from "../host.ts";
import { Random } from "../random.ts";
import type { Counts, Looks } from "../world.ts";
import { Violation } from "../world.ts";
import type { Payload } from "./agents.ts";
import { ClientLives } from "./client.ts";
import { emptyFilesystem, simulatedFacts } from "./facts.ts";
import { SimulatedHook } from "./hook.ts";
import { HookOracle } from "./oracle.ts";
import { careless, isCareless } from "./unread.ts";

/** Time passes in parts of this length, so that no timer comes late: a look takes some turns of the microtasks. */
const partMs = 10_000;

interface Daemon {
  readonly engine: Engine;
  readonly services: LeadServices;
}

export class HookWorld {
  readonly random: Random;
  readonly clock = new SimulatedClock(1_700_000_000_000);
  readonly host: Host;
  readonly transcript: string[] = [];
  readonly counts: Counts = { commands: new Map(), replies: new Map() };
  /** What Kite would have done, where it only observes. */
  readonly would = new Set<string>();
  readonly #tell: boolean;
  readonly #observes: boolean;
  readonly #clients: ClientLives;
  readonly #oracle: HookOracle;
  readonly #hooks = new Set<SimulatedHook>();
  #daemon: Daemon | null = null;
  #life = 0;
  #fatal: Error | null = null;
  /** What the oracle said first. */
  #wrong: Violation | null = null;

  constructor(seed: number, host: HostName, { tell, observes = false }: Looks) {
    this.random = new Random(seed ^ 0x400c);
    // A hook whose journal refuses its request is let run, so that its agent's side tells nothing.
    this.host =
      host === "file" ? new FileHost(this.random.fork(), this.clock) : new MemoryHost(this.random.fork(), 0);
    this.#tell = tell;
    this.#observes = observes;
    this.#clients = new ClientLives(this.random.fork(), this.clock, {
      send: (event, answered) =>
        this.#send(
          new SimulatedHook(event, answer => {
            if (observes) this.#silent(event, answer.output);
            this.#say(() => `   ${String(event["session_id"])} hears ${answer.output}`);
            answered(answer);
          }),
        ),
      propose: command => this.#running().engine.submitWithRetry(command),
      state: () => this.#running().engine.state,
      life: () => this.#life,
      // Two write at once where Kite only observes: of these the oracle promises nothing.
      ran: use => {
        if (observes) use.life = 0;
        else this.#fails(this.#oracle.ran(use, this.#life));
      },
      say: line => this.#say(line),
    });
    this.#oracle = new HookOracle(this.#clients, this.clock);
  }

  async start(): Promise<void> {
    this.#life += 1;
    const life = this.#life;
    const listeners = new Listeners();
    const engine = await this.#pump(
      Engine.start({
        journal: this.host.journal(),
        clock: this.clock,
        node: "local",
        storeId: "store",
        onStep: (entry, step, _state, replayed) => {
          if (life !== this.#life) return;
          if (!replayed) listeners.tell(entry, step);
          if (!replayed) this.#observe(entry, step);
        },
        onTrouble: () => {},
        onFatal: error => {
          if (life === this.#life) this.#fatal = error;
        },
        soon: task => queueMicrotask(task),
        snapshotEntries: 150,
      }),
    );
    const services = await this.#servicesOf(engine);
    this.#listen(listeners, services);
    this.#daemon = { engine, services };
    this.#say(`start: epoch ${engine.epoch}`);
    for (const hook of this.#clients.again()) this.#send(hook);
  }

  async step(): Promise<void> {
    const { random } = this;
    const roll = random.int(1, 200);
    if (roll <= 140) this.#clients.act();
    else if (roll <= 184) this.clock.pass(random.int(0, 3000));
    else if (roll <= 194) await this.#pass(random.int(1000, 60_000));
    else if (roll <= 196) await this.#pass(random.int(60_000, 2_400_000));
    else this.#clients.kill();
    this.#clients.watch();
    this.host.tick();
    await this.#turns(20);
    if (this.host.isDown) await this.crash();
    if (this.#wrong !== null) throw this.#wrong;
    if (this.#fatal !== null) throw this.#fatal;
  }

  strike(): void {
    this.host.strike();
  }

  /** Everything under way is done: each hook has its answer, and what the daemon knows is what the agents do. */
  async settle(): Promise<void> {
    await this.#pass(limits.hookWaitMs + limits.yieldMs);
    for (let n = 0; n < 50 && !this.host.isDown; n += 1) {
      this.clock.pass(limits.fullRetryMs);
      this.host.settle();
      await this.#turns(20);
    }
    if (this.host.isDown) {
      await this.crash();
      return this.settle();
    }
    if (this.#wrong !== null) throw this.#wrong;
    if (this.#fatal !== null) throw this.#fatal;
    for (const { event, answers, isClosed } of this.#hooks)
      if (answers !== 1 && !isClosed)
        throw new Violation(`${String(event["hook_event_name"])} was answered ${answers} times`);
    this.#hooks.clear();
    const { engine, services } = this.#running();
    for (const wrong of this.#oracle.settled(engine.state, services.presence, this.#life)) this.#fails(wrong);
  }

  async crash(): Promise<void> {
    const power = this.random.chance(0.5);
    this.#say(power ? "power cut" : "process killed");
    this.#daemon = null;
    this.#fatal = null;
    this.#life += 1;
    this.host.crash(power);
    this.clock.restart(this.random.pick([0, 5, 1000, -60_000, 3_600_000]));
    if (power) this.#clients.cut();
    else this.#clients.crashed();
    for (const hook of this.#hooks) hook.drop();
    this.#hooks.clear();
    await this.start();
  }

  async #servicesOf(engine: Engine): Promise<LeadServices> {
    const { clock } = this;
    const paths = kitePaths({ KITE_HOME: "/nowhere/kite" });
    const config = await loadConfig({ env: {}, paths, read: async () => null });
    const health = { ...config.values.health, stalled: "release" as const };
    const facts = simulatedFacts(this.#clients);
    const recorder = new Recorder({
      write: ({ would }) => {
        if (would !== undefined) this.would.add(would);
      },
      dropped: 0,
    });
    const presence = new PresenceTable(clock);
    const onTrouble = (message: string, error: unknown) => {
      this.#fatal ??= new Violation(`${message}: ${String(error)}`);
    };
    const mode = () => (this.#observes ? ("observe" as const) : ("act" as const));
    // There is no disk here to keep work on.
    const settings = { ...config.values, health, rescue: "off" as const };
    const values: typeof config.values = Object.defineProperty(settings, "mode", { get: mode });
    const base = { node: "local", engine, clock, facts, presence, recorder };
    const parts = keptByHooks(base, {
      adapters: [claudeCode, careless],
      paths,
      config: { ...config, values },
      outside: emptyFilesystem(clock),
      events: { tell: () => {} },
      onTrouble,
      onProblem: problem => onTrouble(problem, null),
    });
    const neverOff = { read: () => nothingOff } as unknown as (typeof parts)["config"]["offSwitches"];
    const files = { ...parts.config, offSwitches: neverOff };
    return { ...base, ...parts, config: files, points: pointsOf(base, parts, []) };
  }

  /** An answer of which nobody notices that Kite is there. */
  #silent(event: Payload, output: string): void {
    const hook = [...this.#hooks].find(one => one.event === event);
    const name = String(event["hook_event_name"]);
    if (output !== "") this.#fails(`${name} is told ${output} although Kite only observes`);
    if (hook?.isParked === true) this.#fails(`${name} waits although Kite only observes`);
  }

  /** As the daemon wires them. */
  #listen(listeners: Listeners, services: LeadServices): void {
    const { engine, edits, presence, points } = services;
    listeners.add(
      {
        events: ["session_ended"],
        stepped: (_entry, { events }) => {
          for (const { event } of events) {
            if (event.event !== "session_ended") continue;
            presence.forget(event.id);
            edits.wakes.forget(event.id);
            for (const part of points) part.sessionGone?.(event.id);
          }
        },
      },
      {
        commands: ["lock_request"],
        events: ["lock_granted"],
        stepped: ({ command }, step) => edits.locks.locked(engine.state, command, step),
      },
      {
        ...wakingSteps,
        stepped: ({ command }, { events }) => edits.wakes.stepped(command.type, events),
      },
    );
  }

  #observe(entry: Entry, step: Step): void {
    const { type } = entry.command;
    this.counts.commands.set(type, (this.counts.commands.get(type) ?? 0) + 1);
    this.#say(() => `#${entry.seq} ${JSON.stringify(entry.command)} → ${JSON.stringify(step.reply)}`);
    if (entry.command.type === "agent_release")
      for (const wrong of this.#oracle.released(entry.command)) this.#wrong ??= new Violation(wrong);
  }

  #send(hook: SimulatedHook): void {
    const { services } = this.#running();
    const life = this.#life;
    this.#hooks.add(hook);
    this.#say(() => `${JSON.stringify(hook.event)}`);
    const call = hook.call(error => {
      if (life === this.#life) this.#fatal ??= error instanceof Error ? error : new Error(String(error));
    });
    const pid = this.#clients.pidOf(String(hook.event["session_id"]));
    const event = { ...hook.event };
    this.#clients.sent(hook);
    const client = isCareless({ session: String(event["session_id"]) }) ? { client: careless.name } : {};
    void handleHook(services, { event, env: { CLAUDE_PID: String(pid) }, ...client }, call);
  }

  #fails(wrong: string | null): void {
    if (wrong !== null) this.#wrong ??= new Violation(wrong);
  }

  async #pass(ms: number): Promise<void> {
    const until = this.clock.now() + ms;
    while (this.clock.now() < until && !this.host.isDown) {
      this.clock.pass(Math.min(partMs, until - this.clock.now()));
      for (let n = 0; n < 3; n += 1) {
        this.host.settle();
        await this.#turns(20);
      }
    }
    if (ms > partMs && !this.host.isDown)
      for (const wrong of this.#oracle.unreleased(this.#life)) this.#fails(wrong);
  }

  async #pump<T>(promise: Promise<T>): Promise<T> {
    let settled: { readonly value: T } | { readonly error: unknown } | null = null;
    promise.then(
      value => {
        settled = { value };
      },
      error => {
        settled = { error };
      },
    );
    for (let n = 0; n < 10_000; n += 1) {
      await this.#turns(4);
      const done = settled as { readonly value: T } | { readonly error: unknown } | null;
      if (done !== null) {
        if ("error" in done) throw done.error;
        return done.value;
      }
      this.host.settle();
    }
    throw new Violation("the daemon does not start");
  }

  async #turns(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) await null;
  }

  #running(): Daemon {
    if (this.#daemon === null) throw new Error("no daemon runs");
    return this.#daemon;
  }

  #say(line: string | (() => string)): void {
    if (this.#tell) this.transcript.push(typeof line === "string" ? line : line());
  }
}
