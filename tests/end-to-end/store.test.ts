import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../daemon/store/connection.ts";
import { withServer } from "../store/postgres-world.ts";
import type { Message } from "./daemon.ts";
import { database, databaseCount, Machine, sql, wide } from "./store-machine.ts";

await withServer("machines that share a store", server => {
  describe("two machines", () => {
    it("share what one of them has, and each has it back when it leaves", async () => {
      const url = await database(server);
      const [a, b] = [await new Machine().start(), await new Machine().start()];
      await a.kite("task", "add", "first");
      await a.kite("task", "add", "second", "--needs", "1");
      await a.kite("context", "set", "port", "5433");
      await b.kite("task", "add", "of b");
      const dry = await a.fails("store", "share", "--dry-run");
      expect(dry).toContain("no store is set");
      const joined = await a.kite("store", "join", url, "--yes");
      expect(joined).toContain("no tables of Kite yet: they are made now");
      expect(joined).toContain("Shared as example.com/team/shop: 2 open tasks and 1 durable context key");
      expect(a.config["store"]).toBe(url);
      expect(await a.shared()).toEqual([2, 1]);
      const second = await b.kite("store", "join", url, "--yes");
      expect(second).toContain("used by 1 machine");
      expect(second).toContain("Tasks with another number: #1 is #3 now.");
      for (const machine of [a, b]) await expect.poll(() => machine.shared()).toEqual([3, 1]);
      await b.kite("task", "add", "of both");
      const all = ["first", "second", "of b", "of both"];
      for (const machine of [a, b]) await expect.poll(() => machine.tasks()).toEqual(all);
      expect(await b.kite("context", "get", "port")).toContain("5433");
      const { nodes, projects, store } = (await a.json("store")) as Record<string, readonly Message[]>;
      expect(nodes).toHaveLength(2);
      expect(projects).toEqual([{ project: a.repo, as: "example.com/team/shop" }]);
      expect(store).toMatchObject({ is: "open" });
      expect(await a.kite("status")).toMatch(/^Store .*: 2 machines: /m);
      const doctor = await a.home.command(["doctor"], wide, a.repo);
      expect(doctor.out).toMatch(/store +PostgreSQL [\d.]+ answers in \d+ ms, tables of format 1/);
      expect(doctor.out).toMatch(/2 machines: .*\(Kite [\d.]+\)/);
      // Again changes nothing.
      expect(await a.kite("store", "share", "--yes")).toContain("0 open tasks and 0 durable context keys");
      const left = await a.kite("store", "leave", "--yes");
      expect(left).toContain("This machine left the store: 4 open tasks and 1 durable context key are back.");
      expect(a.config).toEqual({});
      expect(await a.tasks()).toEqual(all);
      expect(await a.kite("context", "get", "port")).toContain("5433");
      expect(await b.shared()).toEqual([4, 1]);
      await expect.poll(async () => ((await b.json("store")) as { nodes: Message[] }).nodes).toHaveLength(1);
      expect(await a.kite("store")).toContain("No store is set");
      expect(await a.kite("status")).not.toContain("tore");
    });

    it("are told apart when one has a copy of the other's directory", async () => {
      const url = await database(server);
      const a = await new Machine().start();
      await a.kite("store", "join", url, "--yes");
      await a.kite("down", "--yes");
      const b = new Machine();
      cpSync(a.home.paths.home, b.home.paths.home, { recursive: true });
      await a.kite("up");
      await b.kite("up");
      await expect.poll(() => b.kite("status")).toContain("the store does not take this machine (");
      expect((await b.home.command(["doctor"], wide, b.repo)).out).toContain("is a copy: ");
      expect(await b.fails("store", "share", "--yes")).toContain("kite store");
      expect(await b.kite("store", "rejoin", "--yes")).toContain("has an id of its own");
      await expect.poll(async () => ((await b.json("store")) as { nodes: Message[] }).nodes).toHaveLength(2);
    });
  });

  describe("a password", () => {
    it("is asked at the terminal until it is right, and shown and kept nowhere else", async () => {
      const user = `guest_${databaseCount()}`;
      const url = await database(server, user);
      server.allow(user, "scram-sha-256");
      await sql(server, "SELECT pg_reload_conf()");
      const machine = await new Machine().start();
      // The server reads its settings anew a moment later.
      await expect
        .poll(() => machine.fails("store", "join", url, "--yes"), { timeout: 30_000 })
        .toContain("password");
      expect(machine.config).toEqual({});
      const { code, text } = await machine.atTerminal(`store join ${url}`, {
        "it is shown nowhere): ": ["not this one\r", "very secreX\u007ft\r"],
        "Point this machine's daemon at it": ["y\r"],
        "Share it?": ["y\r"],
      });
      expect(code, text).toBe(0);
      expect(text).toContain("That is not it.");
      expect(text).toContain("Shared as example.com/team/shop");
      expect(text).not.toMatch(/very secre|not this one/);
      const { storeSecret } = machine.home.paths;
      expect(readFileSync(storeSecret, "utf8")).toBe("very secret\n");
      expect(statSync(storeSecret).mode & 0o777).toBe(0o600);
      await machine.kite("task", "add", "shared");
      expect(machine.kept).not.toMatch(/very secre|not this one/);
      // A file that others may read counts for nothing, and doctor says so.
      const { out } = await machine.home.command(["doctor"], wide, machine.repo);
      expect(out).toContain("answers in");
    });

    it("in the address is refused, and repeated nowhere", async () => {
      const machine = await new Machine().start();
      const said = await machine.fails("store", "join", "postgresql://ada:hunter2@127.0.0.1/kite", "--yes");
      expect(said).toContain("the store's address has a password");
      const env = { ...machine.home.environment, CLAUDECODE: "1" };
      const agents = await machine.home.command(["store", "join", "postgresql://ada:hunter2@h/kite"], env);
      expect(agents.err).toContain("only a person joins or leaves a store");
      expect(said + agents.err + machine.kept).not.toContain("hunter2");
      expect(machine.config).toEqual({});
    });
  });

  describe("a store that is away", () => {
    it("is named first, refuses what is shared, and is left with what is known of it", async () => {
      const url = await database(server);
      const machine = await new Machine().start();
      await machine.kite("task", "add", "kept");
      await machine.kite("store", "join", url, "--yes");
      await server.stop();
      onTestFinished(() => server.start().catch(() => {}));
      await expect
        .poll(() => machine.kite("status"), { timeout: 60_000 })
        .toMatch(
          /^store away since \d\d:\d\d \(.+\): tasks and messages as of then; edits are still coordinated\n/,
        );
      // What a person reads of edits is so at that moment.
      const says = async (...words: string[]) => (await machine.home.command(words, wide, machine.repo)).out;
      await machine.kite("off", "--project", machine.repo, "--for", "1h");
      for (const words of [["status"], ["store"], ["doctor"]]) {
        expect(await says(...words)).toMatch(/away since|does not answer|cannot be used now/);
        expect(await says(...words)).not.toContain("still coordinated");
      }
      await machine.kite("on", "--project", machine.repo);
      for (const words of [["status"], ["store"], ["doctor"]])
        expect(await says(...words)).toContain("edits are still coordinated");
      await machine.kite("down", "--yes");
      expect(await says("doctor")).not.toContain("still coordinated");
      await machine.kite("up");
      expect(await machine.tasks()).toEqual(["kept"]);
      expect(await machine.fails("task", "add", "not now")).toContain("the shared store is away (");
      expect(await machine.fails("store", "leave", "--yes")).toMatch(
        /the shared store is away[\s\S]*kite store leave --away/,
      );
      expect((await machine.home.command(["doctor"], wide, machine.repo)).out).toMatch(
        /store .*cannot be used now/,
      );
      const left = await machine.kite("store", "leave", "--away", "--yes");
      expect(left).toContain("1 open task and 0 durable context keys are back");
      expect(left).toContain("The store does not know it");
      expect(await machine.tasks()).toEqual(["kept"]);
      await machine.kite("task", "add", "again");
      await server.start();
    }, 120_000);

    it("of a wrong address changes nothing", async () => {
      const machine = await new Machine().start();
      const said = await machine.fails("store", "join", "postgresql://kite@127.0.0.1:1/kite", "--yes");
      expect(said).toContain("cannot be used now");
      expect(machine.config).toEqual({});
    });
  });

  describe("a project", () => {
    it("is shared under the name that a person said yes to, or not at all", async () => {
      const url = await database(server);
      const machine = await new Machine().start();
      await machine.kite("task", "add", "one");
      await machine.kite("store", "join", url, "--yes");
      const person = await machine.home.connectPerson();
      const ask = (more: Message) => person.ask({ type: "store_share", cwd: machine.repo, ...more });
      expect(await ask({ as: "example.com/team/other" })).toMatchObject({ code: "store_project" });
      expect(await ask({ as: "example.com/team/shop" })).toMatchObject({ ok: true, wasShared: true });
      const agent = await machine.home.connect();
      for (const type of ["store_share", "store_leave", "store_rejoin"])
        expect(await agent.ask({ type, cwd: machine.repo })).toMatchObject({ code: "person_only" });
      mkdirSync(join(machine.repo, ".kite"));
      writeFileSync(join(machine.repo, ".kite", "config.json"), '{"project": "another"}');
      await expect
        .poll(() => ask({ dryRun: true }))
        .toMatchObject({
          code: "store_project",
          error: expect.stringContaining("is shared as example.com/team/shop, and its name is another now"),
        });
    });

    it("without a name stays, and kite doctor says why", async () => {
      const url = await database(server);
      const machine = await new Machine().start();
      writeFileSync(join(machine.repo, ".git", "config"), "");
      const { code, out, err } = await machine.home.command(
        ["store", "join", url, "--yes"],
        wide,
        machine.repo,
      );
      expect([code, err]).toEqual([1, expect.stringContaining("its repository has no remote called origin")]);
      expect(out).toContain("The daemon began anew with the store.");
      expect(machine.config["store"]).toBe(url);
      const doctor = await machine.home.command(["doctor"], wide, machine.repo);
      expect(doctor.out).toMatch(/store +\S+ has no name that other machines know/);
    });

    it("is named where a store was taken out by hand", async () => {
      const url = await database(server);
      const machine = await new Machine().start();
      await machine.kite("store", "join", url, "--yes");
      await machine.kite("config", "unset", "store");
      await machine.kite("down", "--yes");
      await machine.kite("up");
      expect(await machine.kite("store")).toContain(
        "no store is set, and projects of this machine are shared",
      );
      expect((await machine.home.command(["doctor"], wide, machine.repo)).out).toContain(
        "kite store join URL",
      );
      const looker = await machine.home.connect();
      await looker.ask({ type: "subscribe" });
      await machine.kite("task", "add", "meanwhile");
      await looker.event("task_created", ({ description }) => description === "meanwhile");
      await machine.kite("store", "join", url, "--yes");
      expect(await machine.shared()).toEqual([1, 0]);
    });
  });

  describe("what is under way", () => {
    it("goes on: claims move with their tasks, and unread messages are read where they are", async () => {
      const url = await database(server);
      const machine = await new Machine().start();
      // The working directory is no repository: nothing is shared yet.
      await machine.home.command(["store", "join", url, "--yes"], wide, machine.home.work);
      const place = { cwd: machine.repo, project: machine.repo };
      const alice = await machine.home.session("s1", { ...place, name: "alice" });
      const bob = await machine.home.session("s2", { ...place, name: "bob" });
      const made = await alice.ask({ type: "task_create", id: "s1", description: "hers" });
      const { id: task } = made["task"] as Message;
      expect(await alice.ask({ type: "task_claim", id: "s1", task })).toMatchObject({ ok: true });
      expect(await bob.ask({ type: "message_send", id: "s2", to: "alice", text: "read me" })).toMatchObject({
        ok: true,
      });
      const shared = await machine.kite("store", "share", "--yes");
      expect(shared).toContain("1 open task and 0 durable context keys moved there");
      expect(shared).toContain("1 message that nobody has read yet is read here.");
      expect(shared).not.toContain("work on these no longer");
      expect(await bob.ask({ type: "task_claim", id: "s2", task })).toMatchObject({ code: "task_claimed" });
      expect(await alice.ask({ type: "task_update", id: "s1", task, status: "done" })).toMatchObject({
        ok: true,
      });
      expect(await machine.shared()).toEqual([0, 0]);
      const inbox = await alice.ask({ type: "message_list", id: "s1" });
      expect(JSON.stringify(inbox)).toContain("read me");
      const after = { type: "message_send", id: "s2", to: "alice", text: "in the store" };
      expect(await bob.ask(after)).toMatchObject({ ok: true });
      const left = await machine.kite("store", "leave", "--yes");
      expect(left).toContain("1 message that your agents have not read comes along.");
      const again = await machine.home.connect();
      expect(await again.ask({ type: "message_list", id: "s1" })).toMatchObject({
        messages: expect.arrayContaining([
          expect.objectContaining({ text: "in the store", from: { id: "s2", agent: null, name: "bob" } }),
        ]),
      });
    });

    it("is in one log at least when the daemon is killed, and in the store after the next try", async () => {
      const url = await database(server);
      const machine = await new Machine().start();
      const count = 600;
      const tasks = Array.from({ length: count }, (_, i) => ({ description: `task ${i}` }));
      const client = await machine.home.connect();
      expect(await client.ask({ type: "task_create", project: machine.repo, tasks })).toMatchObject({
        ok: true,
      });
      await machine.home.command(["store", "join", url, "--yes"], wide, machine.home.work);
      const person = await machine.home.connectPerson();
      person.send({ type: "store_share", cwd: machine.repo });
      const look = await Connection.open(
        { ...server.address("kite"), database: url.split("/").at(-1) ?? "" },
        10_000,
        30_000,
      );
      const imports = "SELECT count(*)::int4 FROM kite.rows WHERE kind = 'tasks'";
      await expect
        .poll(async () => Number((await look.query(imports))[0]?.[0]), { interval: 1 })
        .toBeGreaterThan(1);
      process.kill(Number(JSON.parse(readFileSync(machine.home.paths.daemonFile, "utf8")).pid), "SIGKILL");
      await person.ended;
      await machine.kite("up");
      const shared = await machine.kite("store", "share", "--yes");
      expect(shared).toContain("moved there");
      expect(await machine.shared()).toEqual([count, 0]);
      const again = await machine.json("store", "share", "--dry-run");
      expect(again).toMatchObject({ wasShared: true, tasks: 0 });
      await look.end();
    });
  });

  describe("a leave whose daemon is killed", () => {
    it("has happened, or is undone and said so, and can be run again", async () => {
      const url = await database(server);
      const machine = await new Machine().start();
      const count = 600;
      const tasks = Array.from({ length: count }, (_, i) => ({ description: `task ${i}` }));
      const client = await machine.home.connect();
      const create = { type: "task_create", project: machine.repo, tasks };
      expect(await client.ask(create)).toMatchObject({ ok: true });
      await machine.kite("store", "join", url, "--yes");
      const { daemonFile } = machine.home.paths;
      const person = await machine.home.connectPerson();
      person.send({ type: "store_leave" });
      // The entry comes before anything is copied.
      await expect.poll(() => machine.kept.includes('"project_leave"'), { interval: 1 }).toBe(true);
      process.kill(Number(JSON.parse(readFileSync(daemonFile, "utf8")).pid), "SIGKILL");
      await person.ended;
      await machine.kite("up");
      const { projects } = await machine.json("store");
      if ((projects as Message[]).length > 0)
        await expect
          .poll(() => machine.kite("status"), { timeout: 30_000 })
          .toMatch(/^kite store leave broke off, and was undone at /);
      await machine.kite("store", "leave", "--yes");
      const back = await machine.tasks();
      expect(back).toHaveLength(count);
    }, 120_000);
  });

  describe("a leave that was ended before its setting went", () => {
    it("says so, and is finished by the same command", async () => {
      const url = await database(server);
      const machine = await new Machine().start();
      await machine.kite("task", "add", "kept");
      await machine.kite("store", "join", url, "--yes");
      const person = await machine.home.connectPerson();
      expect(await person.ask({ type: "store_leave" })).toMatchObject({ ok: true, tasks: 1, told: true });
      expect(await machine.fails("store", "share", "--yes")).toContain("to finish that: kite store leave");
      expect(await machine.tasks()).toEqual(["kept"]);
      const dry = await machine.json("store", "leave", "--dry-run");
      expect(dry).toMatchObject({ ok: true, leftBefore: true, told: true });
      const left = await machine.kite("store", "leave", "--yes");
      expect(left).toContain("This machine left the store already.");
      expect(left).toContain("This machine left the store. The daemon began anew.");
      expect(machine.config).toEqual({});
      expect(await machine.kite("store")).toContain("No store is set");
      expect(await machine.tasks()).toEqual(["kept"]);
    });
  });

  describe("an agent at work", () => {
    it("keeps a person from joining and from leaving", async () => {
      const url = await database(server);
      const machine = await new Machine().start();
      const client = await machine.home.session("s1", { cwd: machine.repo, project: machine.repo });
      const hook = (event: string, more: Message) =>
        client.ask({
          type: "hook",
          event: { hook_event_name: event, session_id: "s1", cwd: machine.repo, ...more },
        });
      await hook("UserPromptSubmit", { prompt: "x", prompt_id: "p1" });
      expect(await machine.fails("store", "join", url, "--yes")).toContain("at work: ");
      expect(machine.config).toEqual({});
      await hook("Stop", {});
      await machine.kite("store", "join", url, "--yes");
    });
  });
});
