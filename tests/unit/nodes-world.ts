/** A shared log, and nodes' own logs, with time in the test's hand. */

import { relaysOf, sharedIdOf } from "../../daemon/core/outbox/publish.ts";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { actor, bounded, World } from "./core-world.ts";

export const shared = "example.com/app";

/** A shared log, into which nodes enter. */
export class Store extends World {
  readonly #starts = new Map<string, number>();

  /** Enters as the node. */
  as(node: string, command: Command): Reply {
    const before = { node: this.node, epoch: this.epoch };
    this.node = node;
    this.epoch = this.#starts.get(node) ?? this.epoch;
    const reply = this.do(command);
    Object.assign(this, before);
    return reply;
  }

  /** A daemon of the node starts, and renews its lease. */
  join(node: string, machine = node, binding = `${node}'s home`): Reply {
    this.epoch += 1;
    this.#starts.set(node, this.epoch);
    this.as(node, { type: "daemon_started", epoch: this.epoch, storeId: "store" });
    return this.renew(node, machine, binding);
  }

  renew(
    node: string,
    machine = node,
    binding = `${node}'s home`,
    levels = { from: 1, to: rulesLevel },
  ): Reply {
    return this.as(node, { type: "node_renew", machine, binding, levels, version: "1.2.3", wallMs: 5 });
  }

  /** Takes what the node's outbox has; `times`: how often it repeats that. */
  take(node: string, local: World, times = 1): void {
    const relays = [...relaysOf(local.state.outbox)];
    for (let left = times; left > 0; left -= 1) for (const relay of relays) this.as(node, relay);
    const last = relays.at(-1)?.number;
    if (last !== undefined) local.do({ type: "outbox_sent", node, last });
  }

  /** The agents of a session by their names. */
  agents(session: string): string[] {
    return [...(this.state.sessions.live.get(session)?.agents.values() ?? [])];
  }

  get names(): string[] {
    return [...this.state.sessions.live.values()].map(({ name }) => name);
  }

  add(node: string, by: string | null, description = "work"): string {
    const task = {
      name: null,
      description,
      priority: "normal",
      labels: [],
      dependsOn: [],
    } as const;
    const made = this.as(node, {
      ...{ type: "task_create", by: by === null ? null : actor(by), tasks: [task], many: false },
      ...{ project: shared, wallMs: 5 },
    });
    return (made as unknown as { task: { id: string } }).task.id;
  }

  claim(node: string, session: string, task: string | null = null): Reply {
    const where = { project: shared, cwd: "", wallMs: 6 };
    return this.as(node, { type: "task_claim", actor: actor(session), task, labels: [], ...where });
  }
}

/** The log of a node's own, which shares the project /p. */
export class Local extends World {
  constructor(id: string, state = bounded({})) {
    super(state);
    this.now = 1_000;
    this.share(id);
  }

  share(id: string, projects: readonly (readonly [string, string])[] = [["/p", shared]]): void {
    this.do({ type: "sharing_set", node: id, projects, level: rulesLevel });
  }

  idOf(session: string, ordinal = 0): string {
    const found = this.state.sessions.live.get(session)?.incarnations.find(i => i.ordinal === ordinal);
    return sharedIdOf(this.state.outbox, session, found?.begun ?? 0) ?? "unknown";
  }

  get rows(): string[] {
    return [...this.state.outbox.rows.values()].map(({ command }) => command.type);
  }
}

export function two(): { store: Store; a: Local; b: Local } {
  const store = new Store();
  for (const node of ["a", "b"]) store.join(node, `${node}-machine`);
  return { store, a: new Local("a"), b: new Local("b") };
}

export function agentBegin(session: string, agent: string, name: string | null = null): Command {
  return { type: "agent_begin", session, agent, name };
}

export function agentEnd(session: string, agent: string): Command {
  return { type: "agent_end", actor: { session, agent, incarnation: 0 } };
}

export function end(session: string): Extract<Command, { type: "session_end" }> {
  return { type: "session_end", session, incarnation: null, cause: "ended" };
}
