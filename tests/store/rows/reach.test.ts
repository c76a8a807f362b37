/** Ways to a store, and what is in it: a pooler, TLS, a long way, several projects, very many tasks. */
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { check } from "../../../daemon/core/slices.ts";
import type { Command } from "../../../daemon/core/tables/entries.ts";
import { Connection, type JournalAddress } from "../../../daemon/store/connection.ts";
import { SharedProject } from "../../../daemon/store/project.ts";
import type { Present } from "../../../daemon/store/roster.ts";
import { Store, storeLimits } from "../../../daemon/store/store.ts";
import { Authority } from "../../store/certificates.ts";
import { findPooler, Pooler } from "../../store/pooler.ts";
import { PostgresServer } from "../../store/postgres-server.ts";
import { withServer } from "../../store/postgres-world.ts";

const checked = ["sessions", "tasks", "messages"] as const;

/** A machine within the test's own process. */
class Member {
  readonly store: Store;
  readonly projects = new Map<string, SharedProject>();
  /** What others did, by project. */
  readonly heard = new Map<string, string[]>();

  private constructor(address: JournalAddress, node: string) {
    this.store = new Store({
      ...{ address, node, machine: node, binding: node, program: "0", goneMs: 3_600_000, expected: null },
      limits: { ...storeLimits, pollUntoldMs: 50 },
      onTrouble: (message, error) => console.error(node, message, error),
    });
  }

  /** Resolves when the store was reached. */
  static async at(address: JournalAddress, node: string, ...names: readonly string[]): Promise<Member> {
    const member = new Member(address, node);
    onTestFinished(async () => void (await member.store.close()));
    const reached = names.map(name => member.#share(name));
    member.store.start();
    await Promise.all(reached);
    return member;
  }

  #share(name: string): Promise<void> {
    const { node } = this.store.options;
    const agent: Present = {
      ...{ id: `agent-${node}`, name: `agent-${node}`, branch: null, client: undefined, registeredAt: 1 },
      ...{ agents: new Map(), incarnations: [{ ordinal: 0, begun: 1, anchor: null }] },
    };
    const heard: string[] = [];
    this.heard.set(name, heard);
    return new Promise(onReached => {
      const project = new SharedProject({
        ...{ store: this.store, name, local: `/home/${node}/${name}`, path: null, onReached },
        present: () => [agent],
        onEvents: (events, isOwn) => {
          if (!isOwn) heard.push(...events.map(({ event }) => event.event));
        },
      });
      this.projects.set(name, project);
      this.store.add(project);
    });
  }

  at(name: string): SharedProject {
    const project = this.projects.get(name);
    if (project === undefined) throw new Error(`it does not share ${name}`);
    return project;
  }

  async create(name: string, text: string): Promise<string> {
    const task = { name: null, description: text, priority: "normal", labels: [], dependsOn: [] } as const;
    const { reply } = await this.#ask(name, {
      type: "task_create",
      by: this.#actor,
      many: false,
      tasks: [task],
    });
    return (reply as unknown as { readonly task: { readonly id: string } }).task.id;
  }

  async claim(name: string, task: string | null = null): Promise<unknown> {
    return (await this.#ask(name, { type: "task_claim", actor: this.#actor, task, labels: [], cwd: "" }))
      .reply;
  }

  get #actor() {
    return { session: `agent-${this.store.options.node}`, agent: null, incarnation: 0 };
  }

  #ask(name: string, command: object) {
    const project = this.at(name);
    return project.submit({ ...command, project: project.local, wallMs: Date.now() } as Command);
  }
}

function tasksOf(member: Member, name: string): string[] {
  return [...member.at(name).state.tasks.all.values()].map(({ description }) => description);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(10);
}

/** Passes everything on, `ms` late. Counts what a client sends at once. */
async function longWay(port: number, ms: number): Promise<{ readonly port: number; sent: number }> {
  const way = { port: 0, sent: 0 };
  const server = createServer(near => {
    const far = connect(port, "127.0.0.1");
    near.on("data", bytes => {
      way.sent += 1;
      setTimeout(() => far.write(bytes), ms);
    });
    far.on("data", bytes => setTimeout(() => near.write(bytes), ms));
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
  });
  await new Promise<void>(listening => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void server.close());
  const address = server.address();
  way.port = typeof address === "object" && address !== null ? address.port : 0;
  return way;
}

await withServer("ways to a store of rows", async (server, bin) => {
  let databases = 0;
  /** A database of the test's own. */
  const address = async (port = server.port): Promise<JournalAddress> => {
    const database = `reach_${++databases}`;
    const admin = await Connection.open(server.address("kite"), 10_000, 30_000);
    await admin.query(`CREATE DATABASE ${database}`);
    await admin.end();
    const host = { host: "127.0.0.1", port, tls: false, password: () => null } as const;
    return { hosts: [host], database, user: "kite", schema: "kite" };
  };

  it("a pooler that lends connections for a transaction keeps notifications, and machines look by themselves", async () => {
    const found = await findPooler();
    if ("missing" in found) return console.warn(`SKIPPED: ${found.missing}`);
    const pooler = await Pooler.start({ program: found.program, target: server.port });
    onTestFinished(() => pooler.end());
    const at = await address(pooler.port);
    const [ash, elm] = [await Member.at(at, "ash", "app"), await Member.at(at, "elm", "app")];
    await until(() => !ash.store.tells && !elm.store.tells);
    const task = await ash.create("app", "one");
    await until(() => elm.heard.get("app")?.includes("task_created") === true);
    expect(await elm.claim("app", task)).toMatchObject({ ok: true });
    expect(await ash.claim("app", task)).toMatchObject({ ok: false, code: "task_claimed" });
  });

  it("a server tells of steps by itself", async () => {
    const at = await address();
    const [ash, elm] = [await Member.at(at, "ash", "app"), await Member.at(at, "elm", "app")];
    await ash.create("app", "one");
    await until(() => elm.heard.get("app")?.includes("task_created") === true);
    expect(elm.store.tells).toBe(true);
  });

  it("a server with TLS takes machines that know its authority", async () => {
    const authority = new Authority();
    const certificate = authority.sign(["IP:127.0.0.1"]);
    const secure = await PostgresServer.start(bin, { certificate });
    onTestFinished(() => secure.end());
    const tls = { readCa: () => readFileSync(authority.path, "utf8") } as const;
    const host = { host: "127.0.0.1", port: secure.port, tls, password: () => null };
    const at = { hosts: [host], database: "postgres", user: "kite", schema: "kite" };
    const ash = await Member.at(at, "ash", "app");
    expect(await ash.claim("app", await ash.create("app", "one"))).toMatchObject({ ok: true });
  });

  it("a step that nobody disturbs goes the long way to a server once", async () => {
    const at = await address();
    const way = await longWay(server.port, 40);
    const far = { ...at, hosts: at.hosts.map(host => ({ ...host, port: way.port })) };
    const ash = await Member.at(far, "ash", "app");
    await ash.create("app", "first");
    await ash.create("app", "second");
    const { sent } = way;
    const { guesses } = ash.at("app").stats;
    for (let n = 0; n < 5; n += 1) await ash.create("app", `n ${n}`);
    expect(ash.at("app").stats).toMatchObject({ guesses: guesses + 5, missed: 0 });
    // Beside them there may be a look, or a sign of life.
    expect(way.sent - sent).toBeLessThanOrEqual(5 + 3);
    // Twenty that wait are one step.
    const { steps } = ash.at("app").stats;
    await Promise.all(Array.from({ length: 20 }, (_, n) => ash.create("app", `together ${n}`)));
    expect(ash.at("app").stats.steps - steps).toBeLessThanOrEqual(2);
  });

  it("several projects over one connection have nothing of each other", async () => {
    const at = await address();
    const names = ["app", "team/site", "tool"];
    const [ash, elm] = [
      await Member.at(at, "ash", ...names),
      await Member.at(at, "elm", ...names.slice(0, 2)),
    ];
    await Promise.all(
      names.flatMap(name => [ash.create(name, `a of ${name}`), ash.create(name, `b of ${name}`)]),
    );
    await Promise.all(names.slice(0, 2).map(name => elm.create(name, `c of ${name}`)));
    await until(() => names.slice(0, 2).every(name => tasksOf(ash, name).length === 3));
    for (const name of names)
      expect(tasksOf(ash, name).sort()).toEqual(
        (name === "tool" ? ["a", "b"] : ["a", "b", "c"]).map(one => `${one} of ${name}`),
      );
  });

  it("a new machine reads 100,000 tasks, and works with them", { timeout: 120_000 }, async () => {
    const at = await address();
    const ash = await Member.at(at, "ash", "app");
    const first = await ash.create("app", "one of many");
    await writeTasks(at, first, 100_000);
    const elm = await Member.at(at, "elm", "app");
    expect(elm.at("app").state.tasks.all.size).toBe(100_000);
    expect(check(elm.at("app").state, checked)).toEqual([]);
    expect(elm.at("app").unfit).toEqual([]);
    expect(await elm.claim("app")).toMatchObject({ ok: true, task: { id: first } });
    // Who was behind by so much reads anew, too.
    await until(() => ash.at("app").state.tasks.all.size === 100_000);
    expect(await ash.claim("app", first)).toMatchObject({ ok: false, code: "task_claimed" });
  });
});

/** Writes a step with copies of a task, as another machine would. */
async function writeTasks(address: JournalAddress, first: string, count: number): Promise<void> {
  const admin = await Connection.open(address, 10_000, 60_000);
  const stem = first.slice(0, first.lastIndexOf("-"));
  await admin.query(
    `INSERT INTO kite.rows SELECT r.project, r.kind, '${stem}-z' || i, p.version + 1,
         replace(replace(r.value, '"id":"${first}"', '"id":"${stem}-z' || i || '"'), '"n":1,', '"n":' || i || ',"number":' || i || ',')
       FROM kite.rows r JOIN kite.projects p ON p.id = r.project, generate_series(2, ${count}) i
       WHERE r.kind = 'tasks' AND r.key = '${first}';
     INSERT INTO kite.steps SELECT id, version + 1, 'many', 'other', '[]', '[]' FROM kite.projects;
     UPDATE kite.projects SET version = version + 1, stamp = 'many', head = replace(replace(head,
       '"taskCount":1,', '"taskCount":${count},'), '"taskNumber":1,', '"taskNumber":${count},')`,
  );
  await admin.end();
}
