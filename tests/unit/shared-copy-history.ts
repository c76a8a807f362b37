/** Random commands of two machines on the copies of a project that they share. */
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { Copy } from "../../daemon/store/copy.ts";
import { compareSessions, type PartValue, type Present } from "../../daemon/store/roster.ts";
import type { Random } from "../simulation/random.ts";
import { mainAgent, present } from "./shared-copy-world.ts";

const names = ["ann", "bob", "cat@home", "dan/x", "person"] as const;

/** What a machine's own log tells of an agent that declared these files. */
export function declared(agent: string | null, updatedAt: number, ...paths: readonly string[]): PartValue {
  const files = paths.map(path => ({ path, dir: false, sees: "", will: `mend ${path}`, touched: false }));
  const texts = { role: "tester", team: "", task: "mend it", reason: "", plan: [], confidence: 0.5 };
  const lists = { files, uncertainties: [], mismatches: [] };
  return { agent, part: "declaration", told: { ...texts, ...lists, declaredAt: 1, updatedAt } };
}

/** What a machine tells of a merge. */
export function merging(id: string, state: string, session: string | null = null): PartValue {
  const author = session === null ? null : { session };
  const names = { branch: "work", base: "main", authorName: session };
  return { agent: null, part: "merges", told: [{ id, ...names, author, state, changedAt: 5 }] };
}

/** One machine: its copy, and the sessions that its own log has. */
export class Machine {
  readonly copy: Copy;
  readonly random: Random;
  #present = new Map<string, Present>();
  #begun = 0;
  #merges: readonly PartValue[] = [];

  constructor(copy: Copy, random: Random) {
    this.copy = copy;
    this.random = random;
  }

  get present(): readonly Present[] {
    return [...this.#present.values()];
  }

  /** Sessions begin, end and are renamed; their agents and terminals come and go. */
  change(): void {
    const { random } = this;
    const id = random.pick(names);
    const known = this.#present.get(id);
    this.#begun += 1;
    if (known === undefined) {
      const name = random.chance(0.3) ? `title ${random.int(1, 2)}` : id;
      this.#present.set(id, present(id, { name, registeredAt: this.#begun }));
      return;
    }
    const agents = new Map(random.chance(0.5) ? [["sub", "sub"]] : []);
    const incarnations = [0, 1].flatMap(ordinal =>
      ordinal === 0 || random.chance(0.5) ? [{ ordinal, begun: 1, anchor: null }] : [],
    );
    const next = random.pick(names);
    const what = random.int(0, 7);
    if (what === 0) this.#present.delete(id);
    else if (what === 1) this.#present.set(id, { ...known, registeredAt: this.#begun });
    else if (what === 2 && !this.#present.has(next)) {
      this.#present.delete(id);
      this.#present.set(next, present(next, { name: known.name, registeredAt: this.#begun, before: [id] }));
    } else if (what === 6) {
      const by = random.pick(["person", "declared"]);
      const role = { agent: null, part: "role", told: { role: "tester", by } };
      const parts = ([null, "sub"] as const).flatMap(agent =>
        random.chance(0.3) ? [] : [declared(agent, this.#begun, random.pick(["a.ts", "b.ts"]))],
      );
      this.#present.set(id, { ...known, parts: random.chance(0.5) ? [...parts, role] : parts });
    } else if (what === 7)
      this.#merges = random.chance(0.3) ? [] : [merging("mg-1", random.pick(["queued", "running"]), id)];
    else this.#present.set(id, { ...known, agents, incarnations });
  }

  /** What one step does: a look at sessions, and some commands. Returns the types of those that were not refused. */
  readonly step = (now: number): string[] => {
    const { copy, random } = this;
    const done: string[] = [];
    compareSessions(copy, this.present, this.#merges);
    for (const due of copy.due(now)) copy.apply({ type: "elapse", due });
    for (let i = random.int(0, 3); i > 0; i -= 1) {
      const command = this.#command(now);
      if (copy.apply(command).reply.ok) done.push(command.type);
    }
    return done;
  };

  #who() {
    const sessions = [...(this.copy.state.sessions.byNode.get(this.copy.names.node) ?? [])];
    return sessions.length === 0 || this.random.chance(0.2) ? null : mainAgent(this.random.pick(sessions));
  }

  #command(now: number): Command {
    const { random, copy } = this;
    const { project } = copy.names;
    const { tasks, messages, debates, sessions } = copy.state;
    const by = this.#who();
    const some = (all: Iterable<string>) => random.pick(["none", ...all]);
    const task = some(tasks.all.keys());
    const base = { project, wallMs: now };
    const writable: Command[] = [
      {
        ...{ type: "task_create", by, many: true, ...base },
        tasks: Array.from({ length: random.int(1, 3) }, (_, i) => ({
          ...{
            name: `n${i}`,
            description: `task ${now}`,
            priority: random.pick(["high", "normal", "low"] as const),
          },
          labels: random.chance(0.3) ? ["web"] : [],
          dependsOn: i > 0 ? ["n0"] : random.chance(0.3) && task !== "none" ? [task] : [],
        })),
      },
      {
        ...{ type: "task_update", by, task, result: "so", description: null, priority: null, labels: null },
        status: random.pick(["done", "failed", "pending", null]),
        dependsOn: random.chance(0.3) ? [some(tasks.all.keys())] : null,
        ...{ cwd: "", ...base },
      },
      { type: "task_release", by, task, wallMs: now },
      {
        ...{ type: "role_send", by: null, role: random.pick(["tester", "lead", null]), project },
        whose: { session: some(sessions.live.keys()), agent: null },
      },
      {
        ...{ type: "role_taken", project, session: some(copy.state.rolesSent.keys()), agent: null },
        n: [...copy.state.rolesSent.values()].at(-1)?.get(null)?.n ?? 0,
      },
      { type: "task_remove", by, tasks: [task] },
      {
        type: "message_send",
        actor: by,
        to: some([...sessions.live.values()].map(({ name }) => name)),
        ...this.#post(now),
      },
      { type: "message_send", actor: by, to: null, ...this.#post(now), replyTo: some(messages.all.keys()) },
      { type: "broadcast", actor: by, hold: null, ...this.#post(now) },
      {
        ...{
          type: "context_set",
          actor: by,
          key: random.pick(["a", "b"]),
          value: { now },
          bytes: 9,
          durable: random.chance(0.5),
        },
        ...{ ifVersion: null, ttlMs: random.chance(0.3) ? 50 : null, ...base },
      },
      { type: "context_delete", actor: by, key: random.pick(["a", "b"]), project, ifVersion: null },
      { type: "context_read", key: "a", project },
      {
        ...{ type: "debate_open", by, question: "why?", participants: null, ...base },
        hypotheses: ["race", "leak"].map(name => ({ name, claim: name })),
      },
      ...this.#ofDebate(some(debates.all.keys()), now),
    ];
    return random.pick(by === null ? writable : [...writable, ...this.#ofAgent(by, now, task)]);
  }

  #post(now: number) {
    return {
      text: "hi",
      bytes: 2,
      replyTo: null,
      urgent: false,
      project: this.copy.names.project,
      wallMs: now,
    };
  }

  #ofDebate(debate: string, now: number): Command[] {
    const { project } = this.copy.names;
    const by = this.#who();
    const hypothesis = this.random.pick(["race", "leak"]);
    return [
      {
        type: "debate_enter",
        by,
        debate,
        project,
        wallMs: now,
        entry: { kind: "challenge", hypothesis, text: "no" },
      },
      {
        type: "debate_enter",
        by,
        debate,
        project,
        wallMs: now,
        entry: { kind: "concede", hypothesis, text: null },
      },
      {
        type: "debate_close",
        by,
        debate,
        verdict: hypothesis,
        because: "so",
        force: by === null,
        wallMs: now,
      },
    ];
  }

  #ofAgent(actor: ReturnType<typeof mainAgent>, now: number, task: string): Command[] {
    const { messages } = this.copy.state;
    const own = [...(messages.inboxes.get(actor.session)?.all ?? [])].map(place =>
      place.slice(place.indexOf(" ") + 1),
    );
    const { project } = this.copy.names;
    return [
      { type: "task_claim", actor, task: null, labels: [], cwd: "", project, wallMs: now },
      { type: "task_claim", actor, task, labels: [], cwd: "", project, wallMs: now },
      { type: "inbox_take", actor, max: 2, chars: 1_000 },
      { type: "inbox_told", actor, messages: own.slice(0, 2), heard: this.random.chance(0.5) },
      { type: "message_ack", actor, messages: own.slice(0, 1) },
      { type: "message_ack", actor, messages: own.slice(0, 2), read: true },
    ];
  }
}
