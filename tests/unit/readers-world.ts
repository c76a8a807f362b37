/** What the daemon shows of a project that machines share, and of others, with the logs in the test's hand. */

import { addSpawn } from "../../daemon/core/lead/tables/spawns.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { listOf, taskAt } from "../../daemon/core/tables/tasks.ts";
import { HookEvent } from "../../daemon/hooks/event.ts";
import { Delivery, Notices, Pending, terminalCounts } from "../../daemon/hooks/notices.ts";
import { actionHandlers } from "../../daemon/hooks/run.ts";
import { PeerMemory, SessionWorks } from "../../daemon/hooks/session-work.ts";
import { GateMemory } from "../../daemon/lead/gate-memory.ts";
import { type HandlerServices, run } from "../../daemon/requests/handlers.ts";
import { Call, Turns } from "../../daemon/server/call.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import type { HookAction } from "../../hooks/seam/slices.ts";
import { gatePresets } from "../../protocol/lead/roles.ts";
import type { RequestOf, RequestType } from "../../protocol/schemas/requests.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { actor } from "./core-world.ts";
import { openOf } from "./debate-world.ts";
import { shared } from "./nodes-world.ts";
import { SharedProject } from "./shared-project.ts";
import { claimOf, createOf, updateOf } from "./task-world.ts";

export const wallMs = 1_000_000;
export type Row = Readonly<Record<string, unknown>>;

/**
 * The shared log has "kept" things of /p; of that project the machine's own log has "stale" ones, but for its mail, and "own"
 * ones of /q, which it shares with nobody. alice works in /p, dave in /q; carol works in /p on another machine.
 */
export class ReadersWorld {
  readonly logs = new SharedProject();
  readonly clock = new SimulatedClock(wallMs);
  readonly services: HandlerServices;

  constructor() {
    const { logs, clock } = this;
    const { local } = logs;
    local.begin("dave", { name: "dave", project: "/q" });
    const enterLocal = (command: Command) => local.do(command);
    fill((command, isCarols) => logs.enter(command, isCarols ? "b" : "a"), {
      ...{
        word: "kept",
        project: shared,
        who: logs.idOf("alice"),
        carol: logs.carol,
        mail: "kept text",
        more: 0,
      },
    });
    // Counts of the two logs differ.
    fill(enterLocal, {
      word: "stale",
      project: "/p",
      who: "alice",
      carol: null,
      mail: "of a merge",
      more: 5,
    });
    fill(enterLocal, { word: "own", project: "/q", who: "dave", carol: null, mail: "own text", more: 0 });
    // What the readers use, and no more.
    const services = {
      ...{ node: "a", engine: logs, clock, presence: new PresenceTable(clock), turns: new Turns() },
      notes: { pending: new Pending(), terminals: new Notices(terminalCounts) },
      peers: { memory: new PeerMemory(), works: new SessionWorks() },
      ...{ gateMemory: new GateMemory(), points: [] },
      recorder: { note: () => {}, refused: () => {}, refusals: [], dropped: 0 },
      ...{
        version: "test",
        startedAt: 0,
        counters: { requests: 0, refused: 0 },
        entry: { counts: new Map() },
      },
      ...{ events: { subscribers: 0 }, connections: () => [], fewDescriptors: () => null },
      journal: () => ({ bytes: 0, full: false }),
      config: {
        offSwitches: { read: () => ({ all: null, projects: new Map(), sessions: new Map() }) },
        settings: { values: { mode: "on" } },
        seenFiles: { changed: () => [] },
        rules: { at: async () => ({ gates: { ...gatePresets.off, quality: "warn", recovery: "warn" } }) },
      },
      ...{ rescue: null, shared: null },
      facts: { repository: async () => ({ project: "/p", worktree: "/p", gitDir: null }) },
      checks: { for: async () => ({ trust: "none", checks: [], project: "/p", worktree: "/p" }) },
      completionTries: { passed: () => {} },
      calls: {
        failures: { pending: () => ({ tool: "Bash", error: "no" }), told: () => {} },
        tasks: { atWork: () => {}, named: () => [] },
        decisions: { isFirst: () => false },
      },
    };
    this.services = services as unknown as HandlerServices;
  }

  /** Asks as a client does whose connection shows a person. */
  ask(type: RequestType, request: object, isPersons = true): Promise<Row> {
    return new Promise((resolve, reject) => {
      const connection = {
        ...{ view: null, sessions: new Map(), isPersons, isClosed: false, client: null },
        room: () => undefined,
        reply: (_: unknown, reply: Row) => resolve(reply),
        replyJson: (_: unknown, text: string) => resolve(JSON.parse(text)),
      };
      const call = this.call(type, connection);
      const asked = { type, ...request } as unknown as RequestOf<RequestType>;
      Promise.resolve(run(this.services, type, asked, call)).catch(reject);
    });
  }

  async rows(target: string, more: object = {}): Promise<readonly Row[]> {
    return (await this.ask("query", { target, ...more }))["rows"] as readonly Row[];
  }

  /** Does an action of a hook's event, whose answer its client gets. */
  async does(action: object): Promise<Row> {
    const { do: name } = action as HookAction;
    const call = this.call("hook", { isClosed: false });
    const delivery = new Delivery();
    const plan = { doing: null, event: "Stop" };
    const event = new HookEvent(this.services, this.services, call, plan as never, null, false, delivery);
    const outcome = await actionHandlers[name](event, action as never, this.services);
    delivery.settle(true);
    return outcome as unknown as Row;
  }

  call(type: RequestType, connection: object): Call {
    const onBug = (_: Call, error: unknown) => {
      throw error;
    };
    return new Call(this.services as never, connection as never, {} as never, type, onBug);
  }

  /** Adds a record of an agent that was spawned for the task. Returns true. */
  spawned(task: string): true {
    const spawn = { id: "s-1", n: 1, project: "/p", name: "bob", state: "done", session: null, parent: null };
    addSpawn(this.logs.state.spawns, { ...spawn, task, result: null, replaceUntil: null } as never);
    return true;
  }

  /** The id of the shared log's first task that is `active`, or done, or red. */
  task(list: "active" | "done" | "watched"): string {
    const { tasks } = this.logs.store.state;
    const [place = ""] = listOf(tasks, list, shared).from("");
    return taskAt(tasks, place).id;
  }
}

interface Filling {
  readonly word: string;
  readonly project: string;
  /** The session that claims a task and gets the messages. */
  readonly who: string;
  /** Who wrote to it; null: a person. */
  readonly carol: string | null;
  readonly mail: string;
  /** So many ready tasks and keys more. */
  readonly more: number;
}

/** Enters some of everything into a log. */
function fill(
  log: (command: Command, isCarols: boolean) => Reply,
  { word, project, who, carol, mail, more }: Filling,
): void {
  const enter = (command: Command, isCarols = false) => {
    const reply = log(command, isCarols);
    if (!reply.ok) throw new Error(`${command.type}: ${reply.error}`);
    return reply as unknown as Row;
  };
  const made = enter({ ...openOf(null, { participants: [] }), project, question: `${word} question` });
  const tasks = [
    { description: `${word} ready` },
    { description: `${word} claimed`, debate: String(made["debate"]) },
    { description: `${word} red`, risk: "red" as const },
    { description: `${word} done` },
    ...Array.from({ length: more }, () => ({ description: `${word} too` })),
  ];
  // Ids have the time in them: the two logs have none in common.
  const at = wallMs + word.length;
  const added = enter({ ...createOf(tasks, null, at), project } as Command)["tasks"] as readonly Row[];
  const [, claimed = "", , done = ""] = added.map(({ id }) => String(id));
  enter({ ...claimOf(who, claimed, [], at), project } as Command);
  enter({ ...updateOf(null, done, { status: "done", result: `${word} result` }, at), project } as Command);
  const said = { project, text: mail, bytes: mail.length, replyTo: null, urgent: false, wallMs: at };
  const from = carol === null ? null : actor(carol);
  enter({ type: "message_send", actor: from, to: who, ...said }, from !== null);
  for (const key of [`${word}.port`, `${word}.host`, ...tasks.slice(4).map((_, n) => `${word}.${n}`)])
    enter(setOf(project, key, null, at));
}

export function setOf(project: string, key: string, by: string | null, at = wallMs): Command {
  const value = { value: key, bytes: key.length, durable: true, ifVersion: null, ttlMs: null };
  return { type: "context_set", actor: by === null ? null : actor(by), project, key, ...value, wallMs: at };
}
