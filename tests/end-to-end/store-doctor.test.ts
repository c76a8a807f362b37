/** Rows of `kite doctor` on a store: each is true, and says what mends it, over one real PostgreSQL. */
import { writeFileSync } from "node:fs";
import { expect, it, onTestFinished, vi } from "vitest";
import { Connection } from "../../daemon/store/connection.ts";
import { withServer } from "../store/postgres-world.ts";
import { database, databaseCount, Machine, sql, wide } from "./store-machine.ts";

/** The rows on the store, each with its advice. */
async function rows({
  home,
  repo,
}: Machine): Promise<{ readonly text: string; readonly code: number | null }> {
  const { out, code } = await home.command(["doctor"], wide, repo);
  const found = out.match(/^\w+ +store .*(?:\n {6,}.*)*/gm) ?? [];
  return { text: found.join("\n"), code };
}

/** Begins the daemon anew, with the store that is set by now. */
async function again(machine: Machine): Promise<void> {
  await machine.kite("down", "--yes");
  await machine.kite("up");
}

await withServer("what kite doctor says of a store", server => {
  /** Runs a statement in a database of a test. */
  async function within(url: string, text: string): Promise<void> {
    const place = { ...server.address("kite"), database: url.split("/").at(-1) ?? "" };
    const connection = await Connection.open(place, 10_000, 30_000);
    await connection.query(text);
    await connection.end();
  }

  it("a server that is away, a host and a database that are not there", async () => {
    const machine = await new Machine().start();
    const url = await database(server);
    const of = async (address: string) => {
      await machine.kite("config", "set", "store", address);
      await again(machine);
      return rows(machine);
    };
    const closed = await of("postgresql://kite@127.0.0.1:1/kite");
    expect(closed.text).toMatch(
      /^fail +store .*cannot be used now: .*ECONNREFUSED.*\n +-> start its server, or see whether its address is right \(kite config\)/,
    );
    expect(closed.text).toContain("edits are still coordinated");
    expect(closed.code).toBe(1);
    expect((await of(`${url}_`)).text).toMatch(
      /^fail +store .*does not exist; make the database, or name one that exists$/m,
    );
    expect((await of(url.replace("kite@", "nobody_x@"))).text).toMatch(
      /^fail .*role "nobody_x" does not exist; check the user in the address, and whether its server lets that one in/m,
    );
    expect((await of(url)).text).toMatch(/^ok +store +PostgreSQL [\d.]+ answers in \d+ ms/);
  }, 120_000);

  it("a password that is missing or wrong", async () => {
    const user = `guest_${databaseCount()}`;
    const url = await database(server, user);
    const machine = await new Machine().start();
    await machine.kite("config", "set", "store", url);
    server.allow(user, "scram-sha-256");
    await sql(server, "SELECT pg_reload_conf()");
    // The server reads its settings anew a moment later.
    const text = () => rows(machine).then(found => found.text);
    await expect
      .poll(text, { timeout: 30_000 })
      .toMatch(/^fail .*asks for a password, and no file has one: run kite store join/);
    writeFileSync(machine.home.paths.storeSecret, "not this one\n", { mode: 0o600 });
    expect(await text()).toMatch(
      /^fail .*check the user and the password .*: kite store join URL, in a terminal, asks/,
    );
    expect(await text()).not.toContain("not this one");
    writeFileSync(machine.home.paths.storeSecret, "very secret\n", { mode: 0o600 });
    expect(await text()).toMatch(/^ok +store +PostgreSQL/);
  }, 120_000);

  it("rights that are missing: what its administrator runs mends it", async () => {
    const role = `Guest ${databaseCount()}`;
    const url = await database(server);
    await sql(server, `CREATE ROLE "${role}" LOGIN`);
    const mine = url.replace("kite@", `${encodeURIComponent(role)}@`);
    const machine = await new Machine().start();
    expect(await machine.fails("store", "join", mine, "--yes")).toMatch(
      /may not: make the schema kite;\s+let/,
    );
    await machine.kite("config", "set", "store", mine);
    await again(machine);
    const bare = await rows(machine);
    expect(bare.text).toContain(`CREATE SCHEMA kite AUTHORIZATION "${role}"`);
    expect(bare.code).toBe(1);

    // Another user made the tables.
    const other = await new Machine().start();
    await other.kite("store", "join", url, "--yes");
    const hidden = (await rows(machine)).text;
    expect(hidden).toContain(
      `the store's user ${role} may not: use the schema kite; let its administrator give it`,
    );
    const [, grants = ""] = /give it the rights: (GRANT .*)$/m.exec(hidden) ?? [];
    await within(url, grants);
    await expect
      .poll(async () => (await rows(machine)).text, { timeout: 60_000 })
      .toMatch(/^ok +store +2 machines: /m);

    await within(url, `REVOKE INSERT ON kite.rows FROM "${role}"`);
    expect((await rows(machine)).text).toMatch(/^fail .*may not: INSERT kite\.rows; let its administrator/);
  }, 120_000);

  it("a clock that differs, and tables of a later format", async () => {
    const url = await database(server);
    const machine = await new Machine().start();
    await machine.kite("store", "join", url, "--yes");
    const now = Date.now.bind(Date);
    const off = vi.spyOn(Date, "now").mockImplementation(() => now() + 60_000);
    onTestFinished(() => off.mockRestore());
    expect((await rows(machine)).text).toMatch(
      /^warn +store +its clock is (?:59|60|61) s behind this machine's.*\n +-> set the clock/m,
    );
    off.mockRestore();
    expect((await rows(machine)).text).not.toContain("clock");
    await within(url, "UPDATE kite.format SET number = 2");
    const found = await rows(machine);
    expect(found.text).toMatch(/^fail +store +the store has tables of format 2, .*: update Kite$/m);
    expect(found.code).toBe(1);
  }, 120_000);

  it("tables that are gone, and a new store under the same address", async () => {
    const url = await database(server);
    const machine = await new Machine().start();
    await machine.kite("store", "join", url, "--yes");
    await machine.kite("down", "--yes");
    await within(url, "DROP SCHEMA kite CASCADE");
    await machine.kite("up");
    const found = () => rows(machine);
    await expect
      .poll(async () => (await found()).text, { timeout: 60_000 })
      .toMatch(
        /^fail +store +store not reached .*has no tables of Kite now; put its backup back, or go on without it: kite store leave --away/m,
      );
    expect((await found()).code).toBe(1);
    await machine.kite("store", "leave", "--away", "--yes");
    await machine.kite("store", "join", url, "--yes");
    expect((await found()).text).toMatch(/^ok +store +1 machine: /m);
  }, 120_000);
});
