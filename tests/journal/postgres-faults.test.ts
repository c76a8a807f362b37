/** The journal over PostgreSQL when connections break, answers are lost, and the store refuses. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Random } from "../simulation/random.ts";
import { wants } from "./commands.ts";
import { lineOf, quick, StoreWorld, settled, withServer } from "./postgres-world.ts";

await withServer("faults of connections to a store", server => {
  describe("a proposal whose answer does not come", () => {
    it("is delivered once if it was stored: the next connection finds it", async () => {
      const world = new StoreWorld(server);
      const { client, journal, proxy } = await world.node("n1");
      client.propose(wants("a"));
      await settled({ journal });
      proxy.holdsAnswers = true;
      client.propose(wants("b"), wants("c"));
      await expect.poll(() => world.log()).toHaveLength(3);
      proxy.holdsAnswers = false;
      proxy.cut();
      await settled({ journal });
      expect(client.delivered.map(e => e.origin.n)).toEqual([1, 2, 3]);
      expect(client.failures).toEqual([]);
    });

    it("is stored by the next connection if it was not", async () => {
      const world = new StoreWorld(server);
      const { client, journal, proxy } = await world.node("n1");
      proxy.holdsRequests = true;
      const before = proxy.bytes;
      client.propose(wants("a"));
      await expect.poll(() => proxy.bytes).toBeGreaterThan(before);
      proxy.holdsRequests = false;
      proxy.cut();
      await settled({ journal });
      expect(client.delivered.map(e => e.origin.n)).toEqual([1]);
      expect(await world.log()).toEqual(["1 n1 1 1"]);
    });

    it("is in the log once when a statement arrives that was given up long before", async () => {
      const world = new StoreWorld(server);
      const { client, journal, proxy } = await world.node("n1", { statementMs: 300 });
      client.propose(wants("a"));
      await settled({ journal });
      proxy.holdsRequests = true;
      client.propose(wants("b"));
      // The journal gives the connection up; what it sent waits on the way.
      await expect.poll(() => journal.awaySinceMs).not.toBeNull();
      proxy.holdsRequests = false;
      await settled({ journal });
      expect(client.delivered.map(e => e.origin.n)).toEqual([1, 2]);
      const log = await world.log();
      proxy.release();
      client.propose(wants("c"));
      await settled({ journal });
      expect(await world.log()).toEqual([...log, "3 n1 1 3"]);
      expect(client.delivered.map(e => e.origin.n)).toEqual([1, 2, 3]);
    });

    it("fails as unknown within its time, and is delivered when the log shows it", async () => {
      const world = new StoreWorld(server);
      const { client, journal, proxy } = await world.node("n1", { answerMs: 200 });
      await journal.barrier();
      client.propose(wants("first"));
      await settled({ journal });
      proxy.holdsAnswers = true;
      client.propose(wants("a"));
      await expect.poll(() => client.failures.length).toBe(1);
      expect(client.failures[0]?.reason).toMatchObject({ code: "outcome_unknown", outcome: "unknown" });
      await expect.poll(() => world.log()).toHaveLength(2);
      expect(client.delivered).toHaveLength(1);
      proxy.holdsAnswers = false;
      proxy.cut();
      await expect.poll(() => client.delivered.map(e => e.origin.n)).toEqual([1, 2]);
      expect(client.failures).toHaveLength(1);
    });

    it("is refused within its time, and never stored, if it was sent to nobody", async () => {
      const world = new StoreWorld(server);
      const { client, journal, proxy } = await world.node("n1", { waitMs: 200, barrierMs: 100 });
      client.propose(wants("a"));
      await settled({ journal });
      proxy.refuses = true;
      proxy.cut();
      await expect.poll(() => journal.awaySinceMs).not.toBeNull();
      client.propose(wants("b"));
      await expect.poll(() => client.failures.length).toBe(1);
      expect(client.failures[0]?.reason).toMatchObject({ code: "store_away", outcome: "not_stored" });
      // Readers get what is known; later proposals need not wait again.
      await journal.barrier();
      client.propose(wants("c"));
      await expect.poll(() => client.failures.length).toBe(2);
      proxy.refuses = false;
      await expect.poll(() => journal.awaySinceMs).toBeNull();
      client.propose(wants("d"));
      await settled({ journal });
      expect(client.delivered.map(e => e.origin.n)).toEqual([1, 4]);
      expect(await world.log()).toEqual(["1 n1 1 1", "2 n1 1 4"]);
    });
  });

  it("waits as long for a store that is away when the wall clock goes back", async () => {
    const world = new StoreWorld(server);
    const { client, journal, proxy } = await world.node("n1", { waitMs: 200, barrierMs: 100 });
    proxy.refuses = true;
    proxy.cut();
    await expect.poll(() => journal.awaySinceMs).not.toBeNull();
    const wall = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => wall() - 3_600_000);
    onTestFinished(() => void vi.restoreAllMocks());
    let hasPassed = false;
    void journal.barrier().then(() => {
      hasPassed = true;
    });
    await expect.poll(() => hasPassed).toBe(true);
    client.propose(wants("a"));
    await expect.poll(() => client.failures.map(f => f.reason.code)).toEqual(["store_away"]);
  });

  describe("a store that refuses", () => {
    it("with a full disk takes nothing, and is used again when it has space", async () => {
      const world = new StoreWorld(server);
      const { client, journal } = await world.node("n1");
      await world.sql(
        `CREATE FUNCTION $.no_space() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN RAISE EXCEPTION ''no space left on device'' USING ERRCODE = ''53100''; END';
         CREATE TRIGGER no_space BEFORE INSERT ON $.entries EXECUTE FUNCTION $.no_space()`,
      );
      client.propose(wants("a"));
      await expect
        .poll(() => client.failures.map(f => [f.reason.code, f.reason.outcome]))
        .toEqual([["store_full", "not_stored"]]);
      expect(journal.health.full).toBe(true);
      await world.sql("DROP TRIGGER no_space ON $.entries");
      client.propose(wants("b"));
      await settled({ journal });
      expect(client.delivered.map(e => [e.seq, e.origin.n])).toEqual([[1, 2]]);
      expect(journal.health.full).toBe(false);
    });

    it("for a moment is asked again", async () => {
      const world = new StoreWorld(server);
      const { client, journal } = await world.node("n1");
      await world.sql(
        `CREATE SEQUENCE $.tries;
         CREATE FUNCTION $.busy() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN IF nextval(''"${world.schema}".tries'') < 4 THEN
              RAISE EXCEPTION ''deadlock detected'' USING ERRCODE = ''40P01''; END IF; RETURN NULL; END';
         CREATE TRIGGER busy AFTER INSERT ON $.entries FOR EACH STATEMENT EXECUTE FUNCTION $.busy()`,
      );
      client.propose(wants("a"));
      await settled({ journal });
      expect(client.delivered.map(e => [e.seq, e.origin.n])).toEqual([[1, 1]]);
      expect(client.failures).toEqual([]);
    });

    it("a command refuses that one alone if it is too long", async () => {
      const world = new StoreWorld(server);
      const { client, journal } = await world.node("n1", { recordBytes: 1_000 });
      client.propose(wants("a"), wants("b".repeat(2_000)), wants("c"));
      await settled({ journal });
      expect(client.delivered.map(e => e.origin.n)).toEqual([1, 3]);
      expect(client.failures.map(f => [f.n, f.reason.outcome])).toEqual([[2, "not_stored"]]);
    });
  });

  it("histories of several nodes, with cuts, lost answers and ended backends", {
    timeout: 120_000,
  }, async () => {
    const bounds = { ...quick, statementMs: 400, answerMs: 300, waitMs: 200 };
    for (let seed = 1; seed <= 6; seed += 1) {
      const world = new StoreWorld(server);
      const random = new Random(seed);
      const nodes = await Promise.all(
        ["a", "b", "c", "d"].map((name, i) => world.node(name, bounds, { listens: i % 2 === 0 })),
      );
      for (let step = 0; step < 60; step += 1) {
        for (const { client, proxy } of nodes) {
          client.propose(...Array.from({ length: random.int(0, 3) }, (_, i) => wants(`${step} ${i}`)));
          if (random.chance(0.04)) proxy.cut();
          if (random.chance(0.03)) proxy.holdsAnswers = true;
          else if (random.chance(0.031)) proxy.holdsRequests = true;
          else if (random.chance(0.3)) proxy.release();
        }
        if (random.chance(0.05))
          await world
            .sql(
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kite' AND pid <> pg_backend_pid()",
            )
            .catch(() => []);
        await new Promise(resolve => setTimeout(resolve, random.int(0, 10)));
        const [first] = nodes;
        if (step !== 30 || first === undefined) continue;
        // Once at least nobody answers for longer than a proposal waits.
        first.proxy.holdsAnswers = true;
        await expect
          .poll(() => {
            first.client.propose(wants("unanswered"));
            return first.client.failures.length;
          })
          .toBeGreaterThan(0);
      }
      for (const { proxy } of nodes) proxy.release();
      await Promise.all(nodes.map(settled));
      await Promise.all(nodes.map(({ journal }) => journal.barrier()));
      const log = await world.log();
      const origins = log.map(line => line.replace(/^\d+ /, ""));
      expect(new Set(origins).size).toBe(origins.length);
      expect(log.map(line => Number.parseInt(line, 10))).toEqual(log.map((_, i) => i + 1));
      for (const { client } of nodes) {
        expect(client.fatal).toEqual([]);
        expect(client.known.map(lineOf)).toEqual(log);
        const stored = new Set(origins);
        const decided = new Set(client.failures.map(f => f.n));
        for (const { n, reason } of client.failures)
          if (reason.outcome === "not_stored")
            expect(stored.has(`${client.node} ${client.epoch} ${n}`)).toBe(false);
        for (let n = 1; n <= client.count; n += 1)
          expect(decided.has(n) || stored.has(`${client.node} ${client.epoch} ${n}`)).toBe(true);
      }
      await world.end();
    }
  });
});
