/** A few machines over one database, for a test of one case. */
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Reply } from "../../../daemon/core/tables/entries.ts";
import type { PostgresServer } from "../../store/postgres-server.ts";
import { Database } from "./database.ts";
import type { Dump, Operation } from "./exchange.ts";
import { machineFolder } from "./history.ts";
import { Machine, type MachineOptions } from "./machine.ts";
import { settle } from "./settled.ts";

export const project = "team/app";
const settleMs = 15_000;
let databases = 0;

export interface SmallWorldOptions {
  readonly server: PostgresServer;
  /** The folder of PostgreSQL's programs. */
  readonly bin: string;
  /** The machines' program. */
  readonly program: string;
}

/** How a machine of a test differs from others: by default each has one session, `s1`. */
export type SmallMachine = Partial<Pick<MachineOptions, "binding" | "folder">> & {
  readonly sessions?: readonly string[];
  /** Projects that it shares besides, each with the same sessions. */
  readonly more?: readonly string[];
};

export class SmallWorld {
  readonly database: Database;
  readonly #program: string;
  readonly #folder = machineFolder();
  readonly #machines: Machine[] = [];
  #asked = 0;

  private constructor(database: Database, program: string) {
    this.database = database;
    this.#program = program;
    onTestFinished(() => this.#end());
  }

  static async make({ server, bin, program }: SmallWorldOptions): Promise<SmallWorld> {
    databases += 1;
    return new SmallWorld(await Database.on(server, bin, `small_${databases}`), program);
  }

  /** Starts a machine; it may not reach the store. */
  async start(node: string, { sessions = ["s1"], more = [], ...rest }: SmallMachine = {}): Promise<Machine> {
    const of = sessions.map(id => ({ id, registeredAt: 1, agents: [], terminals: [0] }));
    const projects = [project, ...more].map(name => ({ name, sessions: of }));
    const folder = this.#folder.of(node);
    const { database } = this;
    const machine = await Machine.start({
      node,
      program: this.#program,
      folder,
      database,
      projects,
      ...rest,
    });
    this.#machines.push(machine);
    return machine;
  }

  /** Starts machines that have reached the store. */
  async startAll<const Nodes extends readonly string[]>(
    ...nodes: Nodes
  ): Promise<{ [N in keyof Nodes]: Machine }> {
    const machines = await Promise.all(nodes.map(node => this.start(node)));
    await Promise.all(machines.map(machine => machine.reached()));
    return machines as { [N in keyof Nodes]: Machine };
  }

  /** Asks a machine once; a process that does not answer is a fault. */
  async ask(machine: Machine, operation: WithoutSession<Operation>, session = "s1"): Promise<Reply> {
    this.#asked += 1;
    const whole = { ...operation, session } as Operation;
    const answer = await machine.ask({ ask: "submit", project, id: `ask.${this.#asked}`, operation: whole });
    if (answer === null)
      throw new Error(`machine ${machine.node} did not answer; ${machine.troubles.slice(-3)}`);
    return answer.reply;
  }

  /** Creates tasks, and returns their ids. */
  async create(machine: Machine, ...texts: readonly string[]): Promise<string[]> {
    const ids: string[] = [];
    for (const text of texts) {
      const reply = await this.ask(machine, { what: "create", text, dependsOn: [] });
      if (!reply.ok) throw new Error(`${text} was not created: ${JSON.stringify(reply)}`);
      ids.push((reply["task"] as { readonly id: string }).id);
    }
    return ids;
  }

  /** Resolves with what is wrong when the copies of these machines should be what the store has. */
  async settled(...machines: readonly Machine[]): Promise<readonly string[]> {
    return (await settle({ project, database: this.database, machines, settleMs })).wrong;
  }

  /** Makes a path for a backup. */
  backup(name: string): string {
    return `${this.#folder.path}/${name}`;
  }

  async #end(): Promise<void> {
    await Promise.all(this.#machines.map(machine => machine.end()));
    this.#folder.remove();
  }
}

type WithoutSession<Op> = Op extends unknown ? Omit<Op, "session"> : never;

/** Returns the descriptions of the tasks that a copy has, sorted. */
export function tasksIn({ rows }: Pick<Dump, "rows">): string[] {
  return Object.entries(rows)
    .flatMap(([key, value]) => (key.startsWith("tasks ") ? [JSON.parse(value).description as string] : []))
    .sort();
}

/** Waits until `isSo`; rejects after a while with what was the case at last. */
export async function until<Seen>(look: () => Promise<Seen>, isSo: (seen: Seen) => boolean): Promise<Seen> {
  for (const end = Date.now() + settleMs; ; await delay(50)) {
    const seen = await look();
    if (isSo(seen)) return seen;
    if (Date.now() > end) throw new Error(`at last it was ${JSON.stringify(seen)}`);
  }
}
