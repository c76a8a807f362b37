/**
 * One machine of a history as a process: a store, its shared projects and the sessions in them. The test asks over IPC.
 *
 * Only this file knows how the modules of the store are made and read: all else of the histories knows messages and rows.
 */
import { join } from "node:path";
import type { Actor } from "../../../daemon/core/frame/actors.ts";
import { check } from "../../../daemon/core/slices.ts";
import type { Command } from "../../../daemon/core/tables/entries.ts";
import type { TaskUpdate } from "../../../daemon/core/tables/tasks.ts";
import { SharedProject } from "../../../daemon/store/project.ts";
import type { Present } from "../../../daemon/store/roster.ts";
import { idInCopy, kinds, outward } from "../../../daemon/store/rows.ts";
import { Store, storeLimits } from "../../../daemon/store/store.ts";
import {
  type Answers,
  type Dump,
  eventKey,
  type MachineSettings,
  type Operation,
  type ProjectSettings,
  type Question,
  type SessionSettings,
  type Value,
} from "./exchange.ts";

/** Time-outs that a history of seconds meets. */
const quickLimits = {
  ...{ awayMs: 1_500, renewMs: 400, pollMs: 300, stepMs: 800, pollUntoldMs: 100 },
  ...{ statementMs: 3_000, answerMs: 2_500, connectMs: 2_000 },
};
/** A copy is kept after so many answers, so that a process that is killed begins with one of some time ago. */
const answersPerCopy = 15;

const checkedTables = ["sessions", "tasks", "messages", "context", "debates", "parts", "roles"] as const;
/** Which daemon started when is in no row: who set a value that lasts is not looked up there. */
const ofStarts = / was set on \S+, where no daemon started$/;

const settings: MachineSettings = JSON.parse(process.argv[2] ?? "");
const local = `/home/${settings.node}/code/.git`;
const store = new Store({
  address: {
    hosts: settings.ports.map(port => ({
      host: "127.0.0.1",
      port,
      tls: false as const,
      password: () => null,
    })),
    ...{ database: settings.database, user: "kite", schema: "kite" },
  },
  ...{ node: settings.node, machine: settings.node, binding: settings.binding, program: "0" },
  ...{ goneMs: 1_500, expected: null },
  limits: { ...storeLimits, ...quickLimits },
  onTrouble: (message, error) => void process.send?.({ trouble: `${message}: ${String(error)}` }),
});

/** A project that the machine shares, with what the process was told of it. */
class Shared {
  readonly project: SharedProject;
  readonly #heard: string[] = [];
  #present: readonly Present[];
  #answers = 0;
  #gaps = 0;
  #from: number | null = null;

  constructor({ name, sessions }: ProjectSettings) {
    this.#present = sessions.map(presentOf);
    this.project = new SharedProject({
      ...{ store, name, local: localOf(name), path: join(settings.folder, name.replace("/", "-")) },
      present: () => this.#present,
      onEvents: events => {
        for (const { event } of events) {
          const key = eventKey(event);
          if (key !== null) this.#heard.push(key);
        }
      },
      onGap: () => {
        this.#gaps += 1;
      },
      onReached: () => {
        this.#from ??= this.project.version;
      },
    });
    store.add(this.project);
  }

  async submit(id: string, operation: Operation): Promise<Answers["submit"]> {
    const session = idInCopy(operation.session, this.project.names);
    const command = commandOf({ ...operation, session }, localOf(this.project.name));
    const answer = await this.project.submit(command, { id, digest: JSON.stringify(operation) });
    const copied = this.project.version;
    this.#answers += 1;
    if (this.#answers % answersPerCopy === 0) await this.project.save();
    return { ...answer, copied };
  }

  present(sessions: readonly SessionSettings[]): void {
    this.#present = sessions.map(presentOf);
    this.project.presentChanged();
  }

  /** The machine shares the project no more, so it has no sessions in it. */
  end(): void {
    this.#present = [];
    this.project.end();
  }

  read(key: string): Value {
    const items = [...this.project.state.context.items.values()];
    const { version = 0, value = null } = items.find(item => item.key === key) ?? {};
    return { version, value };
  }

  dump(): Dump {
    const { state, names, version, stats, unfit } = this.project;
    const rows: Record<string, string> = {};
    for (const kind of kinds)
      for (const [key, row] of tableOf(this.project, kind.name)) {
        const value = outward(JSON.parse(JSON.stringify(kind.lasting(kind.form(row)))), names);
        rows[`${kind.name} ${kind.keyThere(key, names)}`] = JSON.stringify(value);
      }
    const broken = check(state, checkedTables).filter(sentence => !ofStarts.test(sentence));
    const told = { from: this.#from ?? 0, heard: this.#heard, gaps: this.#gaps, unfit };
    return { version, rows, broken, ...told, reloads: stats.reloads, wentBack: store.wentBackMs !== null };
  }
}

/** What this machine calls the project: a path, which no other machine may see. */
function localOf(name: string): string {
  return local.replace("code", `code/${name}`);
}

function presentOf({ id, registeredAt, agents, terminals }: SessionSettings): Present {
  return {
    ...{ id, name: id, branch: null, registeredAt, client: undefined },
    ...{ agents: new Map(agents.map(one => [one, one])) },
    // What the machine's own log tells of each agent.
    parts: [null, ...agents].map(agent => ({ agent, part: "role", told: { role: "tester", by: "person" } })),
    incarnations: terminals.map(ordinal => ({ ordinal, begun: registeredAt, anchor: null })),
  };
}

function tableOf({ state }: SharedProject, kind: string): ReadonlyMap<string, object> {
  const { sessions, tasks, messages, context, debates, parts } = state;
  const tables: Readonly<Record<string, ReadonlyMap<string, object>>> = {
    ...{ sessions: sessions.live, tasks: tasks.all, messages: messages.all },
    ...{ context: context.items, debates: debates.all, parts: parts.all },
  };
  const table = tables[kind];
  if (table === undefined) throw new Error(`a history knows no rows of the kind ${kind}`);
  return table;
}

function commandOf(operation: Operation, project: string): Command {
  const actor: Actor = { session: operation.session, agent: null, incarnation: 0 };
  const where = { project, wallMs: Date.now() };
  switch (operation.what) {
    case "create": {
      const { text, dependsOn } = operation;
      const task = { name: null, description: text, priority: "normal", labels: [], dependsOn } as const;
      return { type: "task_create", by: actor, many: false, ...where, tasks: [task] };
    }
    case "claim":
      return { type: "task_claim", actor, task: operation.task, labels: [], cwd: "", ...where };
    case "done":
    case "failed":
      return update(actor, operation.task, project, { status: operation.what, result: operation.text });
    case "reopen":
      return update(actor, operation.task, project, { status: "pending" });
    case "depend":
      return update(actor, operation.task, project, { dependsOn: operation.dependsOn });
    case "release":
      return { type: "task_release", by: actor, task: operation.task, ...where };
    case "set": {
      const { key, value, ifVersion, ttlMs } = operation;
      const rest = { bytes: 8, durable: true };
      return { type: "context_set", actor, key, value, ifVersion, ttlMs, ...rest, ...where };
    }
    default:
      return talkOf(operation, actor, where);
  }
}

type Talk = Extract<Operation, { what: "send" | "take" | "told" | "ack" | "open" | "enter" | "close" }>;

function talkOf(operation: Talk, actor: Actor, where: { project: string; wallMs: number }): Command {
  switch (operation.what) {
    case "send": {
      const { to, text } = operation;
      const rest = { bytes: text.length, replyTo: null, urgent: false };
      return { type: "message_send", actor, to, text, ...rest, ...where };
    }
    case "take":
      return { type: "inbox_take", actor, max: 50, chars: 100_000 };
    case "told":
      return { type: "inbox_told", actor, messages: operation.messages, heard: operation.heard };
    case "ack":
      return { type: "message_ack", actor, messages: operation.messages };
    case "open": {
      const hypotheses = ["left", "right"].map(name => ({ name, claim: `it is ${name}` }));
      const [question, participants] = [operation.text, null];
      return { type: "debate_open", by: actor, question, hypotheses, participants, ...where };
    }
    case "enter":
      return { type: "debate_enter", by: actor, debate: operation.debate, entry: operation.entry, ...where };
    case "close": {
      const { debate, verdict, text } = operation;
      return { type: "debate_close", by: actor, debate, verdict, because: text, force: false, ...where };
    }
  }
}

function update(by: Actor, task: string, project: string, change: Partial<TaskUpdate>): Command {
  const none = { status: null, result: null, description: null, priority: null, labels: null };
  const rest = { dependsOn: null, cwd: "", wallMs: Date.now() };
  return { type: "task_update", by, task, project, ...none, ...rest, ...change };
}

const projects = new Map(settings.projects.map(one => [one.name, new Shared(one)]));

async function answer(question: Question): Promise<Answers[keyof Answers]> {
  if (question.ask === "reached") return { refusal: store.refusal?.error ?? null };
  if (question.ask === "close") {
    for (const { project } of projects.values()) await project.save();
    await store.close();
    return {};
  }
  const shared = projects.get(question.project);
  if (shared === undefined) throw new Error(`the machine does not share ${question.project}`);
  if (question.ask === "submit") return shared.submit(question.id, question.operation);
  if (question.ask === "dump") return shared.dump();
  if (question.ask === "read") return shared.read(question.key);
  if (question.ask === "end") shared.end();
  else shared.present(question.sessions);
  return {};
}

process.on("message", ({ n, ...question }: { n: number } & Question) => {
  void answer(question as Question).then(
    answered => process.send?.({ n, ...answered }),
    // A bug of the program or of the history: the test sees a process that ended by itself.
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`, () => process.exit(1));
    },
  );
});
process.on("disconnect", () => process.exit(0));
store.start();
