/** A store on another machine is reached by TLS with a checked certificate, or not at all. */
import { copyFileSync, rmSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Authority } from "../store/certificates.ts";
import { PostgresServer } from "../store/postgres-server.ts";
import { withServer } from "../store/postgres-world.ts";
import { database, Machine, sql, wide } from "./store-machine.ts";

const patient = { timeout: 60_000 };

/** An address of this machine that is not loopback: Kite takes who answers there for another machine. */
const network = Object.values(networkInterfaces())
  .flatMap(addresses => addresses ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

await withServer("a store that is reached by TLS", (_server, bin) => {
  if (network === undefined) {
    const loud = "SKIPPED: a store that is reached by TLS: this machine has no address but loopback";
    it(loud, () => console.warn(loud));
    return;
  }
  const authority = new Authority();
  const names = ["DNS:localhost", `IP:${network}`];
  let server: PostgresServer;
  beforeAll(async () => {
    const certificate = authority.sign(names);
    server = await PostgresServer.start(bin, { certificate, listens: [network] });
  });
  afterAll(() => server.end());

  /** The address of a new database, with the server called `host`. */
  async function address(host: string, query = ""): Promise<string> {
    const url = await database(server);
    return `${url.replace("127.0.0.1", host)}${query}`;
  }
  const root = `sslrootcert=${authority.path}`;

  /** Gives the server another certificate, which it shows to whoever connects next. */
  async function show(certificate: ReturnType<Authority["sign"]>): Promise<void> {
    server.useCertificate(certificate);
    await sql(server, "SELECT pg_reload_conf()");
  }

  /** Joins until the refusal is what the server's new certificate deserves: it reads that a moment later. */
  async function refusal(machine: Machine, url: string, words: RegExp): Promise<string> {
    let said = "";
    const join = async () => {
      said = await machine.fails("store", "join", url, "--yes");
      return said;
    };
    await expect.poll(join, { timeout: 30_000 }).toMatch(words);
    expect(machine.config).toEqual({});
    return said;
  }

  describe("a certificate", () => {
    it("that is checked lets a machine join, and all that passes is encrypted", async () => {
      const machine = await new Machine().start();
      const url = await address(network, `?${root}`);
      expect(await machine.kite("store", "join", url, "--yes")).toContain("Shared as example.com/team/shop");
      await machine.kite("task", "add", "over TLS");
      expect(await machine.tasks()).toEqual(["over TLS"]);
      const name = new URL(url).pathname.slice(1);
      const encrypted = await sql(
        server,
        `SELECT DISTINCT ssl, version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = '${name}'`,
      );
      expect(encrypted).toEqual([[true, expect.stringMatching(/^TLSv1\.[23]$/)]]);
    });

    it("is checked on loopback, too, if the address asks for it", async () => {
      const machine = await new Machine().start();
      const url = await address("localhost", `?sslmode=verify-full&${root}`);
      expect(await machine.kite("store", "join", url, "--yes")).toContain("Shared as");
      expect(machine.config["store"]).toContain("sslmode=verify-full");
    });

    it("of an authority that nobody named is refused", async () => {
      const machine = await new Machine().start();
      const said = await refusal(machine, await address(network), /certificate/);
      expect(said).toContain("nobody whom this machine trusts signed its certificate");
      expect(said).toContain("?sslrootcert=/path/ca.pem");
      const other = new Authority();
      const wrong = await address(network, `?sslrootcert=${other.path}`);
      expect(await refusal(machine, wrong, /certificate/)).toContain("signed its certificate");
    });

    it("for another name or address is refused, and so is one that has expired", async () => {
      const machine = await new Machine().start();
      const url = await address(network, `?${root}`);
      const here = await address("localhost", `?${root}`);
      await show(authority.sign(["DNS:db.example", "IP:192.0.2.77"]));
      for (const one of [url, here])
        expect(await refusal(machine, one, /db\.example|192\.0\.2\.77/)).toContain(
          "write the host as the certificate has it",
        );
      await show(authority.sign(names, -1));
      expect(await refusal(machine, url, /expired/)).toContain("give the server a new one");
      await show(authority.sign(names));
      await expect
        .poll(() => machine.home.command(["store", "join", url, "--yes"], {}, machine.repo), {
          timeout: 30_000,
        })
        .toMatchObject({ code: 0 });
    });

    it("of a new authority is taken as soon as the file has it, and status and doctor say what is wrong until then", async () => {
      const machine = await new Machine().start();
      const file = join(machine.home.work, "ca.pem");
      copyFileSync(authority.path, file);
      const url = await address(network, `?sslrootcert=${file}`);
      await machine.kite("store", "join", url, "--yes");
      await machine.kite("task", "add", "before");
      const next = new Authority();
      await show(next.sign(names));
      onTestFinished(() => show(authority.sign(names)));
      const name = new URL(url).pathname.slice(1);
      const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`;
      const status = () => machine.kite("status");
      // Who connects before the server has read its settings sees the old one, and is cut off again.
      await expect
        .poll(() => sql(server, cut).then(status), patient)
        .toMatch(/^the store cannot be used now \([^)]*certificate[^)]*\); tasks and messages as of \d/);
      rmSync(file);
      const wrong = `${file} does not exist; correct sslrootcert in the store's address`;
      await expect.poll(status, patient).toMatch(`(${wrong}); tasks and messages as of `);
      expect((await machine.home.command(["doctor"], wide, machine.repo)).out).toContain(wrong);
      copyFileSync(next.path, file);
      await expect.poll(status, patient).not.toContain("cannot be used");
      await machine.kite("task", "add", "after");
      expect(await machine.tasks()).toEqual(["before", "after"]);
    });
  });

  it("a server without TLS on another machine is refused, however the address asks", async () => {
    const plain = await PostgresServer.start(bin, { listens: [network] });
    try {
      const machine = await new Machine().start();
      const url = `postgresql://kite@${network}:${plain.port}/postgres?${root}`;
      const said = await refusal(machine, url, /TLS/);
      expect(said).toContain("ssl = on");
      const off = `postgresql://kite@${network}:${plain.port}/postgres?sslmode=disable`;
      expect(await refusal(machine, off, /TLS/)).toContain("without TLS");
    } finally {
      plain.end();
    }
  });
});
