/** `kite store join` at a terminal: when it asks for the password, what it says in place of that, and what it keeps. */
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { withServer } from "../store/postgres-world.ts";
import { database, databaseCount, Machine, sql } from "./store-machine.ts";

const confirm = "Point this machine's daemon at it";
const question = "it is shown nowhere): ";

await withServer("joining a store at a terminal", async server => {
  const user = `joiner_${databaseCount()}`;
  const url = await database(server, user);
  server.allow(user, "scram-sha-256");
  await sql(server, "SELECT pg_reload_conf()");
  /** The server reads its settings anew a moment later. */
  const asksForPasswords = (machine: Machine) =>
    expect
      .poll(() => machine.fails("store", "join", url, "--yes"), { timeout: 30_000 })
      .toContain("the server asks for a password");
  const passFile = (machine: Machine) => join(machine.home.root, ".pgpass");
  const keepPassword = (machine: Machine, mode: number) =>
    writeFileSync(passFile(machine), `127.0.0.1:*:*:${user}:very secret\n`, { mode });

  it("asks for another password only where the server refused that", async () => {
    await sql(server, `CREATE DATABASE closed_${user}`);
    await sql(server, `REVOKE CONNECT ON DATABASE closed_${user} FROM PUBLIC`);
    await sql(server, `CREATE DATABASE ascii_${user} ENCODING SQL_ASCII LOCALE 'C' TEMPLATE template0`);
    const refused: readonly (readonly [database: string, reason: string])[] = [
      [`none_${user}`, `database "none_${user}" does not exist; make the database`],
      [`closed_${user}`, `permission denied for database "closed_${user}"`],
      [`ascii_${user}`, "the database's encoding is SQL_ASCII"],
    ];
    const machine = new Machine();
    await asksForPasswords(machine);
    for (const [name, reason] of refused) {
      const other = url.replace(/[^/]*$/, name);
      const { code, text } = await machine.atTerminal(`store join ${other}`, {
        [question]: ["very secret\r"],
      });
      expect(code, text).toBe(1);
      expect(text.replace(/\s+/g, " ")).toContain(reason);
      expect(text.split(question)).toHaveLength(2);
      expect(text).not.toContain("That is not it.");
    }
    // A file has the password: nothing is asked at all.
    keepPassword(machine, 0o600);
    for (const [name, reason] of refused) {
      const other = url.replace(/[^/]*$/, name);
      const { code, text } = await machine.atTerminal(`store join ${other}`, {});
      expect(code, text).toBe(1);
      expect(text.replace(/\s+/g, " ")).toContain(reason);
      expect(text).not.toContain(question);
    }
    expect(machine.config).toEqual({});
  });

  it("keeps the password, and begins Kite's directory, once a person said yes", async () => {
    const machine = new Machine();
    await asksForPasswords(machine);
    const { home, storeSecret } = machine.home.paths;
    const no = await machine.atTerminal(`store join ${url}`, {
      [question]: ["very secret\r"],
      [confirm]: ["n\r"],
    });
    expect(no.code, no.text).toBe(1);
    expect(no.text).toContain("Nothing changed.");
    for (const path of [storeSecret, home]) expect(existsSync(path), path).toBe(false);
    // Kite never ran here.
    const yes = await machine.atTerminal(`store join ${url}`, {
      [question]: ["very secret\r"],
      [confirm]: ["y\r"],
      "Share it?": ["y\r"],
    });
    expect(yes.code, yes.text).toBe(0);
    expect(yes.text).toContain("Shared as example.com/team/shop");
    expect(readFileSync(storeSecret, "utf8")).toBe("very secret\n");
    expect(statSync(home).mode & 0o777).toBe(0o700);
  });

  it("says why a file with the password does not count before it asks", async () => {
    const machine = new Machine();
    await asksForPasswords(machine);
    keepPassword(machine, 0o600);
    chmodSync(passFile(machine), 0o644);
    const open = `${passFile(machine)} is left out: ${passFile(machine)} is open to other users (mode 0644); run: chmod 600`;
    const { code, text } = await machine.atTerminal(`store join ${url}`, {
      [question]: ["not this one\r", "very secret\r"],
      [confirm]: ["n\r"],
    });
    expect(code, text).toBe(1);
    const said = text.replace(/\s+/g, " ");
    expect(said.split(open)).toHaveLength(2);
    expect(said.indexOf(open)).toBeLessThan(said.indexOf(question));
  });
});
