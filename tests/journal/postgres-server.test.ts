/** The journal over PostgreSQL when its server is killed, stopped, replaced by a standby, or refuses the user. */
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { PostgresJournal } from "../../daemon/journal/postgres/postgres-journal.ts";
import { Connection } from "../../daemon/store/connection.ts";
import { Client, opened, wants } from "./commands.ts";
import { PostgresServer } from "./postgres-server.ts";
import { lineOf, quick, StoreWorld, settled, synchronousPair, withServer } from "./postgres-world.ts";

await withServer("a store whose server ends", (server, bin) => {
  describe("a server", () => {
    for (const [how, end] of [
      ["is killed", () => server.kill()],
      ["is stopped by its administrator", () => server.stop()],
    ] as const) {
      it(`that ${how} and starts again lacks nothing that was delivered`, async () => {
        const world = new StoreWorld(server);
        const nodes = await Promise.all(
          ["a", "b"].map(name => world.node(name, { waitMs: 60_000, answerMs: 60_000 })),
        );
        for (const { client } of nodes) client.propose(wants("before"));
        await Promise.all(nodes.map(settled));
        let isBack = false;
        const back = end()
          .then(() => server.start())
          .finally(() => {
            isBack = true;
          });
        back.catch(() => {});
        while (!isBack) {
          for (const { client } of nodes) client.propose(wants("meanwhile"));
          await new Promise(resolve => setTimeout(resolve, 5));
        }
        await back;
        await Promise.all(nodes.map(settled));
        await Promise.all(nodes.map(({ journal }) => journal.barrier()));
        const log = await world.log();
        for (const { client } of nodes) {
          expect(client.failures).toEqual([]);
          expect(client.known.map(lineOf)).toEqual(log);
        }
        expect(log.length).toBe((nodes[0]?.client.count ?? 0) + (nodes[1]?.client.count ?? 0));
      });
    }
  });

  describe("a standby", () => {
    it("that follows each commit takes over, and nothing is lost", async () => {
      const [primary, standby] = await synchronousPair(bin);
      for (const one of [primary, standby]) onTestFinished(() => one.end());
      const hosts = [...primary.address("kite").hosts, ...standby.address("kite").hosts];
      const address = { ...primary.address("kite"), hosts };
      const bounds = { ...quick, waitMs: 60_000, answerMs: 60_000 };
      const journals = ["a", "b"].map(node => new PostgresJournal({ address, node, bounds }));
      const clients = await Promise.all(journals.map((journal, i) => Client.open(journal, "ab".charAt(i))));
      for (const client of clients) client.propose(wants("1"), wants("2"));
      await Promise.all(journals.map(journal => journal.barrier()));
      for (const client of clients) client.propose(wants("3"));
      await primary.kill();
      for (const client of clients) client.propose(wants("4"));
      await standby.promote();
      for (const client of clients) client.propose(wants("5"));
      for (const journal of journals) await settled({ journal });
      for (const journal of journals) await journal.barrier();
      const log = clients[0]?.delivered.map(lineOf);
      for (const client of clients) {
        expect(client.fatal).toEqual([]);
        expect(client.failures).toEqual([]);
        expect(client.delivered.map(lineOf)).toEqual(log);
        expect(client.delivered.filter(e => e.origin.node === client.node).map(e => e.origin.n)).toEqual([
          1, 2, 3, 4, 5,
        ]);
      }
      await Promise.all(journals.map(journal => journal.close()));
    });

    it("that lacks entries which a node has read is no longer its store", async () => {
      const primary = await PostgresServer.start(bin);
      onTestFinished(() => primary.end());
      const setUp = new PostgresJournal({ address: primary.address("kite"), node: "a", bounds: quick });
      const first = await Client.open(setUp, "a");
      first.propose(wants("1"), wants("2"));
      await settled({ journal: setUp });
      const standby = await PostgresServer.standby(bin, primary);
      onTestFinished(() => standby.end());
      await standby.stop();
      first.propose(wants("3"));
      await settled({ journal: setUp });
      await setUp.close();
      const hosts = [...primary.address("kite").hosts, ...standby.address("kite").hosts];
      const journal = new PostgresJournal({
        address: { ...primary.address("kite"), hosts },
        node: "a",
        bounds: quick,
      });
      const client = await Client.open(journal, "a");
      expect(client.found).toHaveLength(3);
      await primary.kill();
      await standby.start();
      await standby.promote();
      client.propose(wants("4"));
      await expect.poll(() => client.fatal.map(error => error.name)).toEqual(["StoreWentBack"]);
      expect(client.delivered).toEqual([]);
      await journal.close();
    });
  });

  describe("a user", () => {
    it("with a password gets in; with a wrong one, or no rights, is told what to do, and the password nowhere", async () => {
      const world = new StoreWorld(server);
      const [user, password] = [`guest_${world.schema}`, "very secret words"];
      await world.sql(`CREATE ROLE ${user} LOGIN PASSWORD '${password}'`);
      server.allow(user, "scram-sha-256");
      await world.sql("SELECT pg_reload_conf()");
      const journalOf = (secret: string) =>
        new PostgresJournal({
          address: {
            ...server.address(world.schema),
            user,
            hosts: server.address(world.schema).hosts.map(host => ({ ...host, password: () => secret })),
          },
          node: "guest",
          bounds: quick,
        });
      const errorOf = async (secret: string) => {
        const journal = journalOf(secret);
        const error = await opened(journal, 0).then(
          () => null,
          (caught: unknown) => caught,
        );
        await journal.close();
        return error;
      };
      await expect.poll(() => errorOf("another secret")).toMatchObject({ name: "StoreUnfit" });
      const texts: string[] = [];
      for (const secret of ["another secret", password]) {
        const error = await errorOf(secret);
        expect(error).toMatchObject({ name: "StoreUnfit" });
        texts.push(error instanceof Error ? `${error.message} ${error.stack} ${JSON.stringify(error)}` : "");
      }
      expect(texts[0]).toContain("check the user and the password");
      expect(texts[1]).toContain("CREATE SCHEMA kite AUTHORIZATION");
      for (const text of texts) expect(text).not.toMatch(/secret/);
      await world.sql(`CREATE SCHEMA "${world.schema}" AUTHORIZATION ${user}`);
      const journal = journalOf(password);
      const client = await Client.open(journal, "guest");
      client.propose(wants("a"));
      await settled({ journal });
      expect(client.delivered).toHaveLength(1);
      await journal.close();
    });

    it("is the one that is given, whatever the environment says", async () => {
      const world = new StoreWorld(server);
      const [user, password] = [`plain_${world.schema}`, "very secret words"];
      await world.sql(`CREATE ROLE ${user} LOGIN PASSWORD '${password}'`);
      await world.sql(`CREATE SCHEMA "${world.schema}" AUTHORIZATION ${user}`);
      server.allow(user, "scram-sha-256");
      await world.sql("SELECT pg_reload_conf()");
      await expect
        .poll(async () => (await world.sql("SELECT user_name::text FROM pg_hba_file_rules LIMIT 1")).join())
        .toContain(user);
      const elsewhere = {
        PGHOST: "192.0.2.1",
        PGPORT: "1",
        PGUSER: "somebody",
        PGDATABASE: "nowhere",
        PGPASSWORD: password,
        PGSSLMODE: "verify-full",
        PGSSLNEGOTIATION: "direct",
        PGOPTIONS: "-c default_transaction_read_only=on",
        PGREPLICATION: "database",
        PGCLIENT_ENCODING: "LATIN1",
        PGBINARY: "1",
        PGAPPNAME: "psql",
      };
      for (const [name, value] of Object.entries(elsewhere)) vi.stubEnv(name, value);
      onTestFinished(() => {
        vi.unstubAllEnvs();
      });
      const { hosts, ...rest } = server.address(world.schema);
      const connect = (secret: () => string | null) => {
        const address = { ...rest, user, hosts: hosts.map(host => ({ ...host, password: secret })) };
        return Connection.open(address, 10_000, 30_000);
      };
      await expect(connect(() => null)).rejects.toMatchObject({
        name: "StoreUnfit",
        message: expect.stringContaining("kite store join"),
      });
      const unreadable = () => {
        throw new Error("the file is open to others");
      };
      await expect(connect(unreadable)).rejects.toMatchObject({
        name: "StoreUnfit",
        message: "the file is open to others",
      });
      const connection = await connect(() => password);
      onTestFinished(() => connection.end());
      const [row] = await connection.query(
        "SELECT current_user::text, current_database()::text, current_setting('client_encoding'), " +
          "current_setting('application_name'), current_setting('transaction_read_only')",
      );
      expect(row).toEqual([user, "postgres", "UTF8", "kite", "off"]);
    });

    it("without a password leaves no connection to a server that waits for one", async () => {
      let ended: () => void = () => {};
      const isEnded = new Promise<void>(resolve => {
        ended = resolve;
      });
      const waiting = createServer(socket => {
        socket.once("close", ended).on("error", () => {});
        // It asks for a password, and waits.
        socket.once("data", () => socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])));
      });
      await new Promise<void>(resolve => waiting.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void waiting.close());
      const { port } = waiting.address() as AddressInfo;
      await expect(Connection.open(server.address("kite", port), 10_000, 30_000)).rejects.toThrow("password");
      await isEnded;
    });

    it("whom one of several servers does not let in is told so, whatever the others are", async () => {
      const { hosts, ...rest } = server.address("kite");
      const nobody = hosts.map(host => ({ ...host, port: 1 }));
      const several = { ...rest, database: "nowhere", hosts: [...hosts, ...nobody] };
      const journal = new PostgresJournal({ address: several, node: "a", bounds: quick });
      const error = await opened(journal, 0).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ name: "StoreUnfit" });
      expect(String(error)).toMatch(
        /"nowhere" does not exist; 127\.0\.0\.1:1: .*ECONNREFUSED.*make the database/,
      );
    });

    it("of a database that does not exist, or of a server that nobody runs, is told so", async () => {
      const address = server.address("kite");
      const lost = new PostgresJournal({
        address: { ...address, database: "nowhere" },
        node: "a",
        bounds: quick,
      });
      await expect(opened(lost, 0)).rejects.toThrow("make the database");
      const hosts = address.hosts.map(host => ({ ...host, port: 1 }));
      const away = new PostgresJournal({ address: { ...address, hosts }, node: "a", bounds: quick });
      await expect(away.loadSnapshot()).rejects.toMatchObject({ name: "StoreAway" });
    });
  });
});
