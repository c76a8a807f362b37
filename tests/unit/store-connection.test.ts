/** What a journal connects by, made of a store's address, its certificates and the files with its password. */
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { JournalAddress } from "../../daemon/journal/shared-journal.ts";
import { readStoreAddress, type StoreAddress } from "../../daemon/store/address.ts";
import { storeConnection } from "../../daemon/store/connection.ts";
import { temporaryFolder } from "../temporary-folder.ts";

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

function address(text: string): StoreAddress {
  const found = readStoreAddress(text);
  if ("ok" in found) throw new Error(found.error);
  return found;
}

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
