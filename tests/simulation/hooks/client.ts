/** The simulated client: three sessions with a main agent and a subagent each, and the events that its hooks send. */
import type { Anchor } from "../../../daemon/core/frame/actors.ts";
import type { State } from "../../../daemon/core/state.ts";
import type { Command } from "../../../daemon/core/tables/entries.ts";
import type { LifeQuestion, LifeSigns } from "../../../daemon/facts/processes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { SimulatedClock } from "../host.ts";
import type { Random } from "../random.ts";
import { editOf, eventOf, type Next, nextOf, type Payload, SimulatedAgent, type Use } from "./agents.ts";
import type { Shown } from "./facts.ts";
import { type Answer, isDenial, isUnguarded, SimulatedHook } from "./hook.ts";
import { Unread } from "./unread.ts";

interface Around {
  send(event: Payload, answered: (answer: Answer) => void): void;
  propose(command: Command): void;
  state(): State;
  /** The number of the daemon's life. */
  life(): number;
  /** The daemon let an edit run. */
  ran(use: Use): void;
  say(line: string): void;
}

interface SimulatedSession {
  readonly id: string;
  readonly main: SimulatedAgent;
  readonly child: SimulatedAgent;
  isOn: boolean;
  pid: number;
  prompt: string | null;
}

/** A hook whose client waits for it, and what the client makes of an answer that does not come. */
interface Waiting {
  readonly agent: SimulatedAgent;
  readonly hook: SimulatedHook;
  readonly unanswered: () => void;
}

/** Above all processes of this machine. */
const firstPid = 5_000_000;

export class ClientLives implements Shown {
  readonly sessions: readonly SimulatedSession[];
  /** All calls so far, by id. */
  readonly uses = new Map<string, Use>();
  /** Writes of which the daemon that runs now was told: the file's key and the writer's name. */
  readonly written = new Set<string>();
  readonly unread = new Unread();
  readonly #random: Random;
  readonly #clock: SimulatedClock;
  readonly #around: Around;
  readonly #late: Use[] = [];
  readonly #dead = new Set<number>();
  readonly #ended = new Set<string>();
  #waiting: Waiting[] = [];
  #again: SimulatedHook[] = [];
  #next: Pick<Waiting, "agent" | "unanswered"> | null = null;
  #count = 0;

  constructor(random: Random, clock: SimulatedClock, around: Around) {
    this.#random = random;
    this.#clock = clock;
    this.#around = around;
    this.sessions = ["ann", "bob", "cyd"].map((id, n) => ({
      id,
      main: new SimulatedAgent(id, null),
      child: new SimulatedAgent(id, `a${String(n).repeat(16)}`),
      isOn: false,
      pid: 0,
      prompt: null,
    }));
  }

  get agents(): readonly SimulatedAgent[] {
    return this.sessions.flatMap(({ main, child }) => [main, child]);
  }

  sessionOf({ session }: SimulatedAgent): SimulatedSession {
    const found = this.sessions.find(({ id }) => id === session);
    if (found === undefined) throw new Error(`no session ${session}`);
    return found;
  }

  pidOf(session: string): number {
    return this.sessions.find(({ id }) => id === session)?.pid ?? 0;
  }

  isWaiting(agent: SimulatedAgent): boolean {
    return this.#waiting.some(one => one.agent === agent);
  }

  isAlive({ pid }: Anchor): boolean {
    return !this.#dead.has(pid);
  }

  /** A tool at work has a process, and an interrupted turn shows in the transcript. */
  lifeSigns({ session, agent }: LifeQuestion): LifeSigns {
    const quiet: LifeSigns = { transcript: null, status: null, childMs: "none", isUnreadable: false };
    const asked = this.agents.find(one => one.session === session && one.agent === agent);
    if (asked?.turn === "interrupted")
      return { ...quiet, transcript: { end: "interrupted", sizeBytes: 1, changedAt: 0 } };
    return asked?.use?.state === "runs" ? { ...quiet, childMs: 1 } : quiet;
  }

  /** One of the agents does something, or the end of a call is told late. */
  act(): void {
    const random = this.#random;
    if (this.#late.length > 0 && random.chance(0.1)) {
      const [use] = this.#late.splice(random.int(0, this.#late.length - 1), 1);
      if (use !== undefined) this.#told(use, "PostToolUse");
      return;
    }
    const session = random.pick(this.sessions);
    const agent = random.chance(0.6) ? session.main : session.child;
    if (this.isWaiting(agent) || (agent === session.child && this.isWaiting(session.main))) return;
    const child = agent === session.main ? session.child : null;
    const next = nextOf(random, agent, child, session.isOn);
    if (next !== null) this.#do(session, agent, next);
  }

  /** A person gives up a call that waits: its hook is killed, and the turn is over. */
  kill(): void {
    const parked = this.#waiting.filter(({ hook }) => hook.isParked && hook.answers === 0);
    if (parked.length === 0) return;
    const { agent, hook } = this.#random.pick(parked);
    this.#forget(hook);
    if (agent.use !== null) agent.use.state = "over";
    agent.use = null;
    agent.told = "runs";
    // An agent's end is no event then.
    agent.turn = agent.agent === null ? "interrupted" : "none";
    hook.kill();
  }

  /** Processes that ended are told of, as the daemon finds them. */
  watch(): void {
    for (const { id, incarnations } of this.#around.state().sessions.live.values())
      for (const { ordinal: incarnation, begun, anchor } of incarnations) {
        const key = `${this.#around.life()} ${id} ${begun} ${incarnation}`;
        if (anchor === null || this.isAlive(anchor) || this.#ended.has(key)) continue;
        this.#ended.add(key);
        this.#around.propose({ type: "session_end", session: id, incarnation, begun, cause: "anchor_gone" });
      }
  }

  /** A hook is on its way. */
  sent(hook: SimulatedHook): void {
    if (this.#next !== null) this.#waiting.push({ ...this.#next, hook });
    this.#next = null;
  }

  /** The machine is gone, and every client with it. */
  cut(): void {
    for (const session of this.sessions) if (session.isOn) this.#over(session);
    this.crashed();
  }

  /** The daemon is gone: some hooks send their event again to the next one, others give up. */
  crashed(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#again = [];
    this.written.clear();
    for (const agent of this.agents) {
      agent.told = null;
      agent.isReleased = false;
    }
    for (const { agent, hook, unanswered } of waiting) {
      if (hook.isClosed) continue;
      // The first event of a process starts a daemon where none is, and waits for it.
      const isFirst = hook.event["hook_event_name"] === "SessionStart";
      if (!isFirst && this.#random.chance(0.5)) {
        unanswered();
        continue;
      }
      // Its clock may have been set meanwhile.
      agent.signAt = this.#clock.now();
      if (agent.use?.state === "asked") agent.use.touchedAt = agent.signAt;
      const again = new SimulatedHook(hook.event, hook.answered);
      this.#again.push(again);
      this.#waiting.push({ agent, hook: again, unanswered });
    }
  }

  /** The hooks that send their event again. */
  again(): readonly SimulatedHook[] {
    return this.#again.splice(0);
  }

  #do(session: SimulatedSession, agent: SimulatedAgent, next: Next): void {
    switch (next.does) {
      case "begin":
        this.#begin(session);
        break;
      case "prompt":
        this.#count += 1;
        session.prompt = `p${this.#count}`;
        agent.use = null;
        this.#turn(agent, "UserPromptSubmit", "runs", { prompt: "go on" });
        break;
      case "stop":
        this.#turn(agent, "Stop", "none", {
          stop_hook_active: false,
          background_tasks: tasksOf(session),
        });
        break;
      case "fail":
        this.#turn(agent, "StopFailure", "failed");
        break;
      case "send":
        session.child.use = null;
        this.#turn(session.child, "SubagentStart", "runs");
        break;
      case "return":
        this.#turn(agent, "SubagentStop", "none", { stop_hook_active: false, background_tasks: [] });
        break;
      case "interrupt":
        if (agent.use !== null) agent.use.state = "ran";
        agent.use = null;
        agent.turn = "interrupted";
        break;
      case "end":
        this.#wait(agent, "SessionEnd", { reason: "other" });
        this.#over(session);
        break;
      case "die":
        this.#over(session);
        break;
      case "work":
        this.#work(agent);
        break;
      case "claim":
        this.#claim(agent);
        break;
      case "edit":
        this.#edit(agent, next.file);
        break;
      case "ask":
        this.#renew(next.use);
        this.#post(agent, "PermissionRequest", editOf(next.use));
        break;
      case "finish":
        this.#told(next.use, "PostToolUse");
        break;
      case "break":
        this.#told(next.use, "PostToolUseFailure");
        break;
      case "slip":
        next.use.state = "ran";
        agent.answeredAt = this.#clock.now();
        agent.use = null;
        this.#late.push(next.use);
    }
  }

  #begin(session: SimulatedSession): void {
    this.#count += 1;
    session.pid = firstPid + this.#count;
    session.isOn = true;
    session.prompt = null;
    this.#turn(session.main, "SessionStart", "none", { source: "startup" });
  }

  /** The client's process ends, and all in it. */
  #over(session: SimulatedSession): void {
    session.isOn = false;
    this.#dead.add(session.pid);
    for (const agent of [session.main, session.child]) {
      for (const one of this.#waiting.filter(({ agent: of }) => of === agent)) {
        this.#forget(one.hook);
        // The event of the end itself is on its way already.
        if (one.hook.event["hook_event_name"] !== "SessionEnd") one.hook.kill();
      }
      for (const use of this.uses.values()) if (use.by === agent) use.state = "over";
      agent.use = null;
      agent.turn = "none";
      agent.told = null;
      agent.isAsked = false;
    }
    for (const one of [...this.written])
      if (one.startsWith(`${session.id}\n`) || one.startsWith(`${session.id}/`)) this.written.delete(one);
  }

  /** An event that begins or ends a turn; the client waits for its answer. */
  #turn(agent: SimulatedAgent, name: string, turn: SimulatedAgent["turn"], more: Payload = {}): void {
    agent.turn = turn;
    agent.told = null;
    agent.isReleased = false;
    const told = () => {
      agent.told = turn;
      if (name === "SessionStart") this.unread.begins(this.sessionOf(agent));
      // The turn before it is over, with all that it had in flight.
      if (name !== "SessionStart" && name !== "SubagentStart")
        for (const use of this.uses.values()) if (use.by === agent && use.state === "ran") use.state = "over";
      // No agent of the session runs in the background.
      if (name === "Stop" && JSON.stringify(more["background_tasks"]) === "[]")
        this.sessionOf(agent).child.told = null;
    };
    this.#wait(agent, name, more, told);
  }

  #edit(agent: SimulatedAgent, file: string): void {
    this.#count += 1;
    const use: Use = {
      id: `use${this.#count}`,
      file,
      by: agent,
      isWhole: this.#count % 2 === 0,
      askedAt: this.unread.moment(),
      state: "asked",
      life: this.#around.life(),
      touchedAt: this.#clock.now(),
      isRenewed: false,
    };
    this.uses.set(use.id, use);
    agent.use = use;
    const answered = (answer: Answer) => {
      agent.told = "runs";
      if (isDenial(answer)) {
        use.state = "over";
        agent.use = null;
        return;
      }
      use.state = "runs";
      const isGuarded = !isUnguarded(answer);
      use.life = isGuarded ? this.#around.life() : 0;
      if (isGuarded) this.#around.ran(use);
      if (use.isWhole) this.unread.knows(agent, file);
    };
    const unguarded = () => {
      use.life = 0;
      use.state = "runs";
    };
    this.#wait(agent, "PreToolUse", editOf(use), answered, unguarded);
  }

  /** The end of a call is told. */
  #told(use: Use, name: "PostToolUse" | "PostToolUseFailure"): void {
    const { by: agent, life } = use;
    const isLate = use.state !== "runs";
    const sentAt = this.unread.moment();
    const isExpired = this.#clock.now() - use.touchedAt >= limits.turnLeaseMs;
    use.state = "over";
    if (agent.use === use) {
      agent.use = null;
    }
    const failed = name === "PostToolUseFailure" ? { error: "not found", is_interrupt: false } : {};
    this.#post(agent, name, { ...editOf(use), ...failed }, () => {
      const isOn = this.sessionOf(agent).isOn;
      const isThis = life === this.#around.life();
      // Reported after its lock had ended, it counts as later than what came in between: both sides are told of that.
      if (isLate || isExpired || !isThis) this.unread.knows(agent, use.file);
      if (name !== "PostToolUse" || isLate || !isOn || !isThis) return;
      this.written.add(`${agent.name}\nlocal:/p/${use.file}`);
      if (!isExpired) this.unread.wrote(use, sentAt, life);
    });
  }

  /** A call's first dialog renews its lock, unless the lock has ended. */
  #renew(use: Use): void {
    const now = this.#clock.now();
    if (use.isRenewed || now - use.touchedAt >= limits.turnLeaseMs) return;
    use.touchedAt = now;
    use.isRenewed = true;
  }

  /** A shell command that changes nothing. */
  #work(agent: SimulatedAgent): void {
    this.#count += 1;
    const call = { tool_name: "Bash", tool_input: { command: "true" }, tool_use_id: `use${this.#count}` };
    this.#wait(agent, "PreToolUse", call);
    this.#post(agent, "PostToolUse", { ...call, duration_ms: 1, tool_response: {} });
  }

  /** A task of its own, as a tool of Kite's would ask for it: no event of a hook. */
  #claim({ session, agent }: SimulatedAgent): void {
    const live = this.#around.state().sessions.live.get(session);
    if (live === undefined) return;
    this.#count += 1;
    const actor = { session, agent, incarnation: live.incarnations[0]?.ordinal ?? 0 };
    const place = { project: "/p", wallMs: this.#clock.wall() };
    const task = {
      name: null,
      description: `task ${this.#count}`,
      priority: "normal" as const,
      labels: [],
      dependsOn: [],
    };
    this.#around.propose({
      type: "task_create",
      by: actor,
      tasks: [task],
      many: false,
      ...place,
    } as unknown as Command);
    this.#around.propose({ type: "task_claim", actor, task: null, labels: [], cwd: "/p", ...place });
  }

  /** An event whose answer the client waits for. */
  #wait(
    agent: SimulatedAgent,
    name: string,
    more: Payload = {},
    answered: (answer: Answer) => void = () => {},
    unanswered: () => void = () => {},
  ): void {
    this.#next = { agent, unanswered };
    this.#post(agent, name, more, answered);
  }

  /** An event that the client goes on after. */
  #post(
    agent: SimulatedAgent,
    name: string,
    more: Payload = {},
    answered: (answer: Answer) => void = () => {},
  ): void {
    const event = eventOf(agent, this.sessionOf(agent).prompt, name, more);
    agent.answeredAt = this.#clock.now();
    // A call's end that is told after the turn has failed is no work of the agent.
    if (agent.turn !== "failed" || name === "StopFailure") {
      agent.signAt = agent.answeredAt;
      agent.isReleased = false;
    }
    // A dialog is open until the daemon hears of anything else.
    agent.isAsked = name === "PermissionRequest";
    this.#around.send(event, answer => {
      agent.answeredAt = this.#clock.now();
      this.#waiting = this.#waiting.filter(({ hook }) => hook.event !== event);
      this.unread.heard(agent, answer.output);
      answered(answer);
    });
  }

  #forget(hook: SimulatedHook): void {
    this.#waiting = this.#waiting.filter(one => one.hook !== hook);
  }
}

/** What runs in the background when the main agent stops, as the client lists it. */
function tasksOf({ child }: SimulatedSession): readonly object[] {
  return child.turn === "runs" ? [{ id: child.agent, type: "subagent", status: "running" }] : [];
}
