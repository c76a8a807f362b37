import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { format, inspect } from "node:util";
import fc from "fast-check";
import { pino } from "pino";
import { afterEach, describe, expect, it, test, vi } from "vitest";
import { readStoreAddress, type StoreAddress } from "../../daemon/store/address.ts";
import {
  findSecrets,
  keepSecret,
  type PassQuery,
  passwordIn,
  type SecretSearch,
  StoreSecret,
} from "../../daemon/store/private-files.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

function address(text: string): StoreAddress {
  const found = readStoreAddress(text);
  if ("ok" in found) throw new Error(found.error);
  return found;
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const store = address("postgresql://ada@db:5433/kite");

function places() {
  const folder = temporaryFolder();
  return { storeSecret: join(folder, "store.secret"), passFile: join(folder, ".pgpass") };
}

/** The passwords of a search that has to succeed. */
function passwords(found: ReturnType<typeof findSecrets>): (string | null)[] {
  if (!found.ok) throw new Error(found.error);
  return found.secrets.map(secret => secret?.reveal() ?? null);
}

describe("a line of .pgpass", () => {
  const query: PassQuery = { host: "db", port: 5433, database: "kite", user: "ada" };

  it.each<[string, string | null, Partial<PassQuery>?]>([
    ["db:5433:kite:ada:pw", "pw"],
    ["*:*:*:*:pw", "pw"],
    ["db:*:kite:*:pw", "pw"],
    ["db2:5433:kite:ada:pw", null],
    ["db:5432:kite:ada:pw", null],
    ["db:5433:other:ada:pw", null],
    ["db:5433:kite:bob:pw", null],
    ["db:5433:kite:ada", null],
    ["db:5433:kite:ada:", null],
    ["", null],
    ["\n\n# db:5433:kite:ada:no\ndb:5433:kite:ada:pw\n", "pw"],
    ["#db:5433:kite:ada:no", null],
    // Only at the beginning of a line.
    ["db:5433:kite:ada:#pw", "#pw"],
    ["db:5433:kite:bob:no\n*:5433:kite:ada:first\ndb:5433:kite:ada:second", "first"],
    // The first line that matches counts, though it has no password.
    ["db:5433:kite:ada:\ndb:5433:kite:ada:second", null],
    ["db:5433:kite:ada:pw\r\n", "pw"],
    ["db:5433:kite:ada: p w ", " p w "],
    [String.raw`db:5433:kite:ada:p\:w\\x\y`, String.raw`p:w\xy`],
    ["db:5433:kite:ada:pw\\", "pw\\"],
    // What stands behind a fifth colon is no part of the password.
    ["db:5433:kite:ada:pw:x", "pw"],
    [String.raw`db:5433:k\:i\\te:ada:pw`, "pw", { database: String.raw`k:i\te` }],
    [String.raw`db:5433:\*:ada:pw`, "pw", { database: "*" }],
    [String.raw`db:5433:\*:ada:pw`, null],
    ["db:5433:*x:ada:pw", null, { database: "kitex" }],
    [String.raw`\:\:1:5433:kite:ada:pw`, "pw", { host: "::1" }],
    ["localhost:5433:kite:ada:pw", "pw", { host: "localhost" }],
    ["localhost:5433:kite:ada:pw", "pw", { host: "/run/postgresql" }],
    ["localhost:5433:kite:ada:pw", "pw", { host: "/tmp" }],
    ["localhost:5433:kite:ada:pw", null, { host: "/srv/sockets" }],
    ["/srv/sockets:5433:kite:ada:pw", "pw", { host: "/srv/sockets" }],
  ])("%j gives %j", (text, password, other = {}) => {
    expect(passwordIn(text, { ...query, ...other })).toBe(password);
  });

  it("gives back every password and every name that is written with escapes", () => {
    const word = fc.string({ minLength: 1, unit: "grapheme" }).filter(text => !/[\r\n]/.test(text));
    const escaped = (text: string) => text.replace(/[\\:]/g, "\\$&");
    fc.assert(
      fc.property(word, word, word, fc.nat(65_535), word, (host, database, user, port, password) => {
        // A comment, and a wildcard, are what they are: such a first name needs another line.
        fc.pre(!host.startsWith("#") && ![host, database, user].includes("*"));
        const line = [host, String(port), database, user, password].map(escaped).join(":");
        expect(passwordIn(`other:1:a:b:c\n${line}\n`, { host, port, database, user })).toBe(password);
      }),
    );
  });
});

describe("the password of a store", () => {
  test("is Kite's own, else that of .pgpass, else there is none", () => {
    const at = places();
    expect(findSecrets(store, at)).toEqual({ ok: true, secrets: [null], from: null, notes: [] });
    writeFileSync(at.passFile, "db:5433:kite:ada:shared\n", { mode: 0o600 });
    expect(findSecrets(store, at)).toMatchObject({ from: at.passFile, notes: [] });
    expect(passwords(findSecrets(store, at))).toEqual(["shared"]);
    writeFileSync(at.storeSecret, "own\n", { mode: 0o600 });
    expect(findSecrets(store, at)).toMatchObject({ from: at.storeSecret, notes: [] });
    expect(passwords(findSecrets(store, at))).toEqual(["own"]);
  });

  test("is found for each host", () => {
    const at = places();
    writeFileSync(at.passFile, "a:5432:kite:ada:of a\nc:*:*:*:of c\n", { mode: 0o600 });
    const three = address("postgresql://ada@a,b,c/kite");
    expect(passwords(findSecrets(three, at))).toEqual(["of a", null, "of c"]);
    writeFileSync(at.storeSecret, "own", { mode: 0o400 });
    expect(passwords(findSecrets(three, at))).toEqual(["own", "own", "own"]);
  });

  test("is never taken from the environment", () => {
    const at = places();
    for (const name of ["PGPASSWORD", "KITE_STORE_SECRET"]) vi.stubEnv(name, "no");
    vi.stubEnv("PGPASSFILE", `${at.passFile}.other`);
    writeFileSync(`${at.passFile}.other`, "*:*:*:*:no\n", { mode: 0o600 });
    expect(passwords(findSecrets(store, at))).toEqual([null]);
  });

  test("is left in a .pgpass that others may open, with a note; a link to one is followed", () => {
    const at = places();
    writeFileSync(at.passFile, "*:*:*:*:shared\n");
    for (const mode of [0o640, 0o604, 0o620, 0o660]) {
      chmodSync(at.passFile, mode);
      const found = findSecrets(store, at) as SecretSearch;
      expect(passwords(found)).toEqual([null]);
      expect(found.from).toBeNull();
      expect(found.notes).toEqual([
        expect.stringMatching(/\.pgpass is left out: .*open to other users.*chmod 600/),
      ]);
    }
    chmodSync(at.passFile, 0o600);
    const linked = { ...at, passFile: `${at.passFile}.link` };
    symlinkSync(at.passFile, linked.passFile);
    expect(passwords(findSecrets(store, linked))).toEqual(["shared"]);
  });

  test("is left in a .pgpass that is no file, or too long", () => {
    const at = places();
    mkdirSync(at.passFile, { mode: 0o700 });
    expect(findSecrets(store, at)).toMatchObject({
      secrets: [null],
      notes: [expect.stringMatching(/is no file/)],
    });
    const long = places();
    writeFileSync(long.passFile, "#".repeat(limits.passFileBytes + 1), { mode: 0o600 });
    expect(findSecrets(store, long)).toMatchObject({
      notes: [expect.stringMatching(/more than 262144 bytes/)],
    });
    const odd = places();
    writeFileSync(odd.passFile, Buffer.from([0x2a, 0xff]), { mode: 0o600 });
    expect(findSecrets(store, odd)).toMatchObject({ notes: [expect.stringMatching(/no text in UTF-8/)] });
  });

  test("is refused in a store.secret that is not this user's alone", () => {
    const refusal = (at: ReturnType<typeof places>, error: RegExp) =>
      expect(findSecrets(store, at)).toEqual({
        ok: false,
        code: "store_secret",
        error: expect.stringMatching(error),
      });
    const open = places();
    writeFileSync(open.storeSecret, "hunter2\n", { mode: 0o600 });
    for (const mode of [0o640, 0o604, 0o610, 0o666]) {
      chmodSync(open.storeSecret, mode);
      refusal(open, /store\.secret is open to other users \(mode 06..\); run: chmod 600 \S+store\.secret$/);
    }
    const link = places();
    writeFileSync(link.passFile, "hunter2\n", { mode: 0o600 });
    symlinkSync(link.passFile, link.storeSecret);
    refusal(link, /is a link/);
    const folder = places();
    mkdirSync(folder.storeSecret, { mode: 0o700 });
    refusal(folder, /is no file/);
    const pipe = places();
    execFileSync("mkfifo", ["-m", "600", pipe.storeSecret]);
    refusal(pipe, /is no file/);
  });

  test("is refused in a store.secret of another user", () => {
    const at = places();
    writeFileSync(at.storeSecret, "hunter2\n", { mode: 0o600 });
    const uid = process.getuid?.() ?? 0;
    vi.spyOn(process, "getuid").mockReturnValue(uid + 1);
    expect(findSecrets(store, at)).toMatchObject({
      code: "store_secret",
      error: expect.stringMatching(new RegExp(`belongs to user ${uid}, not to you \\(${uid + 1}\\)`)),
    });
  });

  it.each(["", "\n", "hunter2\nhunter2\n", "hunter2\0", "hunter2\t", "\r\n"])(
    "is refused in a store.secret of another form: %j",
    text => {
      const at = places();
      writeFileSync(at.storeSecret, text, { mode: 0o600 });
      const found = findSecrets(store, at);
      expect(found).toMatchObject({
        code: "store_secret",
        error: expect.stringMatching(/alone, on one line/),
      });
      expect(JSON.stringify(found)).not.toContain("hunter2");
    },
  );

  test("is bounded", () => {
    const at = places();
    writeFileSync(at.storeSecret, "h".repeat(limits.storeSecretBytes + 1), { mode: 0o600 });
    expect(findSecrets(store, at)).toMatchObject({ error: expect.stringMatching(/more than 8192 bytes/) });
    writeFileSync(at.storeSecret, "h".repeat(limits.storeSecretBytes));
    expect(passwords(findSecrets(store, at))).toEqual(["h".repeat(limits.storeSecretBytes)]);
  });
});

describe("a password that a person typed", () => {
  test("is kept for this user alone, and found", () => {
    const at = places();
    expect(keepSecret(at, "first")).toBeNull();
    expect(keepSecret(at, " pässword ")).toBeNull();
    expect(statSync(at.storeSecret).mode & 0o777).toBe(0o600);
    expect(passwords(findSecrets(store, at))).toEqual([" pässword "]);
    expect(existsSync(`${at.storeSecret}.new`)).toBe(false);
  });

  test("is kept over what a crash left, and over a file that is open to others", () => {
    const at = places();
    writeFileSync(`${at.storeSecret}.new`, "half");
    writeFileSync(at.storeSecret, "old", { mode: 0o644 });
    expect(keepSecret(at, "new")).toBeNull();
    expect(statSync(at.storeSecret).mode & 0o777).toBe(0o600);
    expect(readFileSync(at.storeSecret, "utf8")).toBe("new\n");
  });

  test("leaves the one before if it cannot be written", () => {
    const at = places();
    keepSecret(at, "old");
    mkdirSync(`${at.storeSecret}.new`);
    expect(() => keepSecret(at, "new")).toThrow(/\.new/);
    expect(passwords(findSecrets(store, at))).toEqual(["old"]);
  });

  it.each(["", "a\nb", "a\0", "h".repeat(limits.storeSecretBytes), "ä".repeat(limits.storeSecretBytes / 2)])(
    "is refused: %#",
    password => {
      const at = places();
      expect(keepSecret(at, password)).toMatchObject({ code: "store_secret" });
      expect(existsSync(at.storeSecret)).toBe(false);
    },
  );
});

test("a password is in no log, no error and no JSON", () => {
  const secret = new StoreSecret("hunter2");
  const lines: string[] = [];
  const logger = pino({}, { write: line => lines.push(line) });
  logger.info({ secret, at: { secret } }, "connect %s %o", secret, { secret });
  const shown = [
    JSON.stringify({ secret }),
    `${secret}`,
    String([secret]),
    inspect(secret, { showHidden: true, depth: 9 }),
    inspect({ secret }),
    format("%s %o %O %j %d", secret, secret, secret, secret, secret),
    new Error(`cannot connect with ${secret}`, { cause: secret }).stack ?? "",
    inspect(new Error("no", { cause: secret })),
    JSON.stringify(Object.entries(secret)),
    JSON.stringify({ ...secret }),
    JSON.stringify(structuredClone(secret)),
    ...lines,
  ];
  for (const text of shown) expect(text).not.toContain("hunter2");
  expect(`${secret}`).toBe("[the store's password]");
  expect(secret.reveal()).toBe("hunter2");
});
