/** A store's address, and how a journal connects by it. */
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it, onTestFinished, test, vi } from "vitest";
import { readStoreAddress, type StoreAddress } from "../../daemon/store/address.ts";
import type { JournalAddress } from "../../daemon/store/connection.ts";
import { readRootCertificate, storeConnection } from "../../daemon/store/private-files.ts";
import { codes } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** Reads an address that has to be one. */
function address(text: string): StoreAddress {
  const found = readStoreAddress(text);
  if ("ok" in found) throw new Error(found.error);
  return found;
}

function refusal(text: string) {
  const found = readStoreAddress(text);
  if (!("ok" in found)) throw new Error(`read as ${found.text}`);
  return found;
}

describe("the address of a store", () => {
  it("has a user, a host, a port and a database", () => {
    expect(address("postgresql://ada@db.example.com:5433/kite")).toEqual({
      hosts: [{ host: "db.example.com", port: 5433, hasTls: true }],
      user: "ada",
      database: "kite",
      rootCertificate: null,
      text: "postgresql://ada@db.example.com:5433/kite",
    });
  });

  it.each([
    ["postgres://ada@DB.example.com/kite", "postgresql://ada@db.example.com/kite"],
    ["POSTGRESQL://ada@db/kite", "postgresql://ada@db/kite"],
    ["postgresql://ada@db:5432/kite", "postgresql://ada@db/kite"],
    ["postgresql://ada@db:05433/kite", "postgresql://ada@db:5433/kite"],
    ["postgresql://ada@db/kite?sslmode=verify-full", "postgresql://ada@db/kite"],
    ["postgresql://ada@db/kite?sslmode=require", "postgresql://ada@db/kite"],
    ["postgresql://ada@db/kite?sslrootcert=system", "postgresql://ada@db/kite"],
    ["postgresql://ada@[2001:DB8:0::1]:6000/kite", "postgresql://ada@[2001:db8::1]:6000/kite"],
    ["postgresql://ada@127.0.0.1/kite?sslmode=disable", "postgresql://ada@127.0.0.1/kite"],
    [
      "postgresql://ada@localhost/kite?sslmode=verify-full",
      "postgresql://ada@localhost/kite?sslmode=verify-full",
    ],
    ["postgresql://ada@/kite?host=/run/postgresql/", "postgresql://ada@%2Frun%2Fpostgresql/kite"],
    ["postgresql://ada@/kite?host=/Run&port=5433", "postgresql://ada@%2FRun:5433/kite"],
    ["postgresql://ada@%2fRun:5433/kite", "postgresql://ada@%2FRun:5433/kite"],
    ["postgresql://ad%41@db/k%69te%2Ftwo", "postgresql://adA@db/kite%2Ftwo"],
    ["postgresql://ada@a,b:5433,%2Ftmp/kite", "postgresql://ada@a,b:5433,%2Ftmp/kite"],
    [
      "postgresql://ada@db/kite?sslrootcert=/etc/ca%20x.pem",
      "postgresql://ada@db/kite?sslrootcert=%2Fetc%2Fca%20x.pem",
    ],
  ])("%s is %s", (text, spelled) => {
    expect(address(text).text).toBe(spelled);
    expect(address(spelled)).toEqual(address(text));
  });

  it("has TLS for each host that is another machine, and for this one if it asks", () => {
    const tls = (text: string) => address(text).hosts.map(({ hasTls }) => hasTls);
    const here = "127.0.0.1,127.9.8.7,[::1],localhost,%2Ftmp";
    expect(tls(`postgresql://ada@${here}/kite`)).toEqual([false, false, false, false, false]);
    // A socket has no TLS.
    expect(tls(`postgresql://ada@${here}/kite?sslmode=verify-full`)).toEqual([true, true, true, true, false]);
    const away = "10.0.0.1,db,[::2],0177.0.0.1,localhost.example";
    expect(tls(`postgresql://ada@${away}/kite`)).toEqual([true, true, true, true, true]);
    expect(tls("postgresql://ada@localhost,db/kite")).toEqual([false, true]);
    expect(tls("postgresql://ada@localhost/kite?sslrootcert=/ca.pem")).toEqual([true]);
  });

  it.each([
    ["", "store_address", /begins with no postgresql:/],
    ["mysql://ada@db/kite", "store_address", /begins with no postgresql:/],
    ["host=db user=ada dbname=kite", "store_address", /begins with no postgresql:/],
    ["postgresql://db/kite", "store_address", /names no user/],
    ["postgresql://@db/kite", "store_address", /names no user/],
    ["postgresql://ada@db", "store_address", /names no database/],
    ["postgresql://ada@db/", "store_address", /names no database/],
    ["postgresql://ada@db/a/b", "store_address", /names no database/],
    [`postgresql://ada@db/${"d".repeat(64)}`, "store_address", /1 to 63 bytes/],
    [`postgresql://${"%C3%A4".repeat(32)}@db/kite`, "store_address", /names no user/],
    ["postgresql://ada@db/a%00b", "store_address", /names no database/],
    ["postgresql://ada@db/a%0Ab", "store_address", /names no database/],
    ["postgresql://ada@db/a%zz", "store_address", /names no database/],
    ["postgresql://ada@/kite", "store_address", /names no host/],
    ["postgresql://ada@,db/kite", "store_address", /has a host/],
    ["postgresql://ada@::1/kite", "store_address", /between \[ and \]/],
    ["postgresql://ada@[::g]/kite", "store_address", /has a host/],
    ["postgresql://ada@[fe80::1%25eth0]/kite", "store_address", /has a host/],
    ["postgresql://ada@d%20b/kite", "store_address", /has a host/],
    ["postgresql://ada@%40kite/kite", "store_address", /has a host/],
    [`postgresql://ada@%2F${"f".repeat(limits.socketPathBytes)}/kite`, "store_address", /has a host/],
    [`postgresql://ada@${"a.".repeat(127)}com/kite`, "store_address", /has a host/],
    [`postgresql://ada@${Array(9).fill("db").join(",")}/kite`, "store_address", /9 hosts; at most 8/],
    ["postgresql://ada@db:0/kite", "store_address", /from 1 to 65535/],
    ["postgresql://ada@db:65536/kite", "store_address", /from 1 to 65535/],
    ["postgresql://ada@db:/kite", "store_address", /from 1 to 65535/],
    ["postgresql://ada@db:1e3/kite", "store_address", /from 1 to 65535/],
    ["postgresql://ada@db/kite#x", "store_address", /%23/],
    ["postgresql://ada@db/ki te", "store_address", /blank/],
    ["postgresql://ada@db/kite\n", "store_address", /line break/],
    ["postgresql://ada@db/kïte", "store_address", /ASCII/],
    ["postgresql://ada@db/kite?sslmod=disable", "store_address", /"sslmod".*did you mean sslmode\?/],
    ["postgresql://ada@db/kite?options=-c%20x", "store_address", /"options".*take it out; known are sslmode/],
    ["postgresql://ada@db/kite?sslmode", "store_address", /NAME=VALUE/],
    ["postgresql://ada@db/kite?=x", "store_address", /NAME=VALUE/],
    ["postgresql://ada@db/kite?", "", /./],
    ["postgresql://ada@db/kite?sslmode=verify-full&sslmode=disable", "store_address", /twice/],
    ["postgresql://ada@db/kite?sslmode=none", "store_address", /known are disable, allow/],
    ["postgresql://ada@db/kite?sslmode=toString", "store_address", /unknown sslmode/],
    ["postgresql://ada@db/kite?sslrootcert=ca.pem", "store_address", /absolute path/],
    ["postgresql://ada@db/kite?sslrootcert=%zz", "store_address", /%25/],
    [
      "postgresql://ada@localhost/kite?sslmode=prefer&sslrootcert=/ca.pem",
      "store_address",
      /take one of them out/,
    ],
    ["postgresql://ada@/kite?host=db.example.com", "store_address", /unix socket/],
    ["postgresql://ada@db/kite?host=/tmp", "store_address", /name them once/],
    ["postgresql://ada@db/kite?port=5433", "store_address", /name them once/],
    ["postgresql://ada@/kite?host=/tmp&port=x", "store_address", /from 1 to 65535/],
    ["postgresql://ada@db/kite?sslmode=disable", "store_tls", /verify-full/],
    ["postgresql://ada@db/kite?sslmode=allow", "store_tls", /verify-full/],
    ["postgresql://ada@db/kite?sslmode=prefer", "store_tls", /verify-full/],
    ["postgresql://ada@localhost,db/kite?sslmode=disable", "store_tls", /verify-full/],
    ["postgresql://ada@127.0.0.1.example.com/kite?sslmode=disable", "store_tls", /verify-full/],
  ])("%s is refused: %s", (text, code, error) => {
    // An empty list of parameters is none.
    if (code === "") return expect(address(text).text).toBe("postgresql://ada@db/kite");
    expect(refusal(text)).toMatchObject({ ok: false, code, error: expect.stringMatching(error) });
  });

  it("is refused if it is too long", () => {
    const text = `postgresql://ada@db/${"d".repeat(limits.storeAddressBytes)}`;
    expect(refusal(text)).toMatchObject({
      code: "store_address",
      error: expect.stringMatching(/2068 bytes; at most 2048/),
    });
  });

  it("is read again as it was written", () => {
    const name = fc
      .string({ minLength: 1, maxLength: 15, unit: "grapheme" })
      .filter(text => !/\p{Cc}/u.test(text));
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map(ip => `[${ip}]`),
      fc.constantFrom("localhost", "127.0.0.1", "[::1]", "%2Ftmp"),
    );
    const place = fc.tuple(host, fc.option(fc.integer({ min: 1, max: 65_535 })));
    const places = fc.array(place, { minLength: 1, maxLength: limits.storeHostsMax });
    const query = fc.constantFrom("", "?sslmode=verify-full", "?sslrootcert=/ca%26b.pem");
    fc.assert(
      fc.property(name, name, places, query, (user, database, list, parameters) => {
        const hosts = list.map(([at, port]) => (port === null ? at : `${at}:${port}`)).join(",");
        const [before, behind] = [user, database].map(encodeURIComponent);
        const text = `postgresql://${before}@${hosts}/${behind}${parameters}`;
        const found = readStoreAddress(text);
        if ("ok" in found) {
          // Long names and hosts of the generators.
          expect(found.error).toMatch(/1 to 63 bytes|has a host|at most 2048/);
          return;
        }
        expect(found).toMatchObject({ user, database });
        expect(found.hosts).toHaveLength(list.length);
        expect(address(found.text)).toEqual(found);
      }),
    );
  });
});

describe("a password in an address", () => {
  it.each([
    "postgresql://ada:hunter2@db/kite",
    "postgresql://ada:@db/kite",
    "postgresql://:hunter2@db/kite",
    "postgresql://ada@example.com:hunter2@db/kite",
    "postgresql://ada:hunt/er2@db/kite",
    "postgresql://ada:hunt?er2@db/kite",
    "postgresql://ada:hunt#er2@db/kite",
    "postgresql://ada:hunt er2@db/kite",
    "postgresql://ada:hunt@er2@db/kite",
    "postgresql://ada:hünter2@db:5433/kite",
    "postgresql://ada@db/kite?password=hunter2",
    "postgresql://ada@db/kite?sslmode=disable&PASSWORD=hunter2",
    "postgresql://ada@db/kite?pass%77ord=hunter2",
    "postgresql://ada@db/kite?sslpassword=hunter2",
  ])("is refused: %s", text => {
    const { code, error } = refusal(text);
    expect(code).toBe("store_password");
    expect(error).toMatch(/~\/\.pgpass.*store\.secret/);
    expect(error).not.toMatch(/hunt|er2|ada/);
  });

  it("is in no refusal, whatever the address looks like", () => {
    const word = fc.string({ maxLength: 10 });
    const forms: ((password: string, word: string) => string)[] = [
      p => `postgresql://ada:${p}@db/kite`,
      p => `postgresql://ada@example.com:${p}@db/kite`,
      p => `postgresql://ada:${p}`,
      p => `mysql://ada:${p}@db/kite`,
      p => `ada:${p}@db`,
      p => `postgresql://ada@db/kite?password=${p}`,
      p => `postgresql://ada@db/kite?${p}`,
      p => `postgresql://ada@db:${p}/kite`,
      p => `postgresql://ada@${p}:${p}/${p}`,
      p => `postgresql://${p}/kite`,
      p => `host=db password=${p}`,
      (p, w) => `postgresql://${w}${p}@${w}/${w}`,
      (p, w) => `postgresql://${w}:${w}${p}${w}@${w}`,
    ];
    fc.assert(
      fc.property(fc.constantFrom(...forms), word, word, (form, before, behind) => {
        const found = readStoreAddress(form(`${before}hunter2${behind}`, before));
        // `?hunter2=x` is a parameter whose name is repeated: nobody writes a password before a `=` alone.
        if (!("ok" in found) || /parameter "/.test(found.error)) return;
        expect(found.error).not.toContain("hunter2");
        expect(Object.keys(codes)).toContain(found.code);
      }),
    );
  });
});

describe("the certificates that the address names", () => {
  test("are read, or a refusal says what is wrong with their file", () => {
    const file = join(temporaryFolder(), "ca.pem");
    const of = address(`postgresql://ada@db/kite?sslrootcert=${file}`);
    expect(readRootCertificate(of)).toMatchObject({
      code: "store_certificate",
      error: expect.stringMatching(/does not exist/),
    });
    writeFileSync(file, "no certificate");
    expect(readRootCertificate(of)).toMatchObject({
      code: "store_certificate",
      error: expect.stringMatching(/holds no certificate/),
    });
    writeFileSync(file, "x".repeat(limits.rootCertificateBytes + 1));
    expect(readRootCertificate(of)).toMatchObject({
      code: "store_certificate",
      error: expect.stringMatching(/more than/),
    });
    const text = "-----BEGIN CERTIFICATE-----\n";
    writeFileSync(file, text, { mode: 0o644 });
    expect(readRootCertificate(of)).toBe(text);
    expect(readRootCertificate(address("postgresql://ada@db/kite"))).toBeNull();
  });
});

// What a journal connects by, made of a store's address, its certificates and the files with its password.
describe("what a journal connects by", () => {
  let home: string;
  let storeSecret: string;
  let passFile: string;

  beforeEach(() => {
    home = temporaryFolder();
    storeSecret = join(home, "store.secret");
    passFile = join(home, ".pgpass");
    for (const [name, value] of Object.entries({ HOME: home, PGPASSWORD: "of the environment" }))
      vi.stubEnv(name, value);
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
  });

  function connection(text: string): JournalAddress {
    const found = storeConnection(address(text), { storeSecret });
    if ("ok" in found) throw new Error(found.error);
    return found;
  }

  describe("a connection", () => {
    test("has its server, TLS and password for each host", () => {
      writeFileSync(passFile, "db:5433:*:ada:first\n127.0.0.1:*:*:ada:second\n", { mode: 0o600 });
      const found = connection("postgresql://ada@db:5433,127.0.0.1/kite");
      expect(found).toMatchObject({
        user: "ada",
        database: "kite",
        schema: "kite",
        hosts: [
          { host: "db", port: 5433, tls: { minVersion: "TLSv1.2" } },
          { host: "127.0.0.1", port: 5432, tls: false },
        ],
      });
      // Without a file of its own the system's certificates count.
      expect(found.hosts[0]?.tls).not.toHaveProperty("readCa");
      expect(found.hosts.map(({ password }) => password())).toEqual(["first", "second"]);
    });

    test("reads the password's files anew each time, and never the environment", () => {
      const [host] = connection("postgresql://ada@127.0.0.1/kite").hosts;
      expect(host?.password()).toBeNull();
      writeFileSync(passFile, "127.0.0.1:*:*:*:shared\n", { mode: 0o600 });
      expect(host?.password()).toBe("shared");
      writeFileSync(storeSecret, "own\n", { mode: 0o600 });
      expect(host?.password()).toBe("own");
      rmSync(storeSecret);
      expect(host?.password()).toBe("shared");
    });

    test("says which file may not be used, and why", () => {
      const [host] = connection("postgresql://ada@127.0.0.1/kite").hosts;
      writeFileSync(passFile, "127.0.0.1:*:*:*:shared\n", { mode: 0o600 });
      chmodSync(passFile, 0o644);
      expect(() => host?.password()).toThrow(`${passFile} is left out`);
      writeFileSync(storeSecret, "own\n", { mode: 0o600 });
      chmodSync(storeSecret, 0o644);
      expect(() => host?.password()).toThrow(`chmod 600 ${storeSecret}`);
    });

    test("shows its password in no text", () => {
      writeFileSync(storeSecret, "hunter2\n", { mode: 0o600 });
      const found = connection("postgresql://ada@127.0.0.1/kite");
      expect(JSON.stringify(found)).not.toContain("hunter2");
    });

    test("is refused where the certificates cannot be read", () => {
      const of = address(`postgresql://ada@db/kite?sslrootcert=${join(home, "ca.pem")}`);
      expect(storeConnection(of, { storeSecret })).toMatchObject({ ok: false, code: "store_certificate" });
    });

    test("reads the certificates anew each time, and says what is wrong with them then", () => {
      const file = join(home, "ca.pem");
      const text = (of: string) => `-----BEGIN CERTIFICATE-----\n${of}\n`;
      writeFileSync(file, text("first"));
      const [host] = connection(`postgresql://ada@db/kite?sslrootcert=${file}`).hosts;
      const read = () => (host?.tls === false ? null : host?.tls.readCa?.());
      expect(read()).toBe(text("first"));
      writeFileSync(file, text("second"));
      expect(read()).toBe(text("second"));
      writeFileSync(file, "");
      expect(read).toThrow(`${file} holds no certificate`);
      rmSync(file);
      expect(read).toThrow(`${file} does not exist; correct sslrootcert in the store's address`);
    });
  });
});
