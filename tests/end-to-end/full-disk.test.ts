/**
 * A full disk under the daemon: what wants space is refused by name, what frees goes on, and when there is space again
 * so does everything, without help. Nothing that was acknowledged is lost, whatever happens meanwhile.
 */
import { spawnSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterEach, describe, expect, test } from "vitest";
import { type Client, Home, isLater, type Message } from "./daemon.ts";

/** A daemon's home whose disk can be filled. */
interface SmallDisk {
  readonly home: Home;
  start(): Promise<unknown>;
  fill(): void;
  free(): void;
  dispose(): Promise<void>;
}

/** A file system of its own; null where none may be mounted. */
async function mounted(): Promise<SmallDisk | null> {
  const home = new Home();
  const disk = home.paths.home;
  const filler = join(disk, "filler");
  mkdirSync(disk, { mode: 0o700 });
  const options = "size=6m,mode=0700";
  const env = { PATH: process.env["PATH"] ?? "" };
  const mount = spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", disk], { env, stdio: "ignore" });
  if (mount.status !== 0) {
    await home.dispose();
    return null;
  }
  return {
    home,
    start: () => home.start(),
    fill: () => {
      const file = openSync(filler, "a");
      try {
        for (;;) writeSync(file, Buffer.alloc(4096));
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler),
    dispose: async () => {
      for (const daemon of daemons.splice(0)) await daemon.kill();
      spawnSync("umount", [disk], { env, stdio: "ignore" });
      await home.dispose();
    },
  };
}

/** The same by a stand-in: a journal that may have so many bytes. */
async function standIn(): Promise<SmallDisk> {
  const home = new Home();
  const quota = join(home.work, "..", "quota");
  const program = join(home.work, "..", "daemon.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("full-disk-daemon.ts", import.meta.url))],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: program,
    banner: { js: 'import{createRequire as r}from"node:module";const require=r(import.meta.url);' },
  });
  const { journal } = home.paths;
  const free = () => writeFileSync(quota, "100000000");
  free();
  return {
    home,
    start: () => home.start([process.execPath, program, quota]),
    fill: () => {
      const used = readdirSync(journal).reduce((sum, name) => sum + statSync(join(journal, name)).size, 0);
      writeFileSync(quota, String(used));
    },
    free,
    dispose: () => home.dispose(),
  };
}

const daemons: { kill(): Promise<void> }[] = [];
const open: SmallDisk[] = [];
afterEach(async () => {
  for (const disk of open.splice(0)) await disk.dispose();
});

const probe = await mounted();
await probe?.dispose();
const kinds: readonly { readonly name: string; readonly make: () => Promise<SmallDisk> }[] = [
  { name: "a journal with a quota", make: standIn },
  ...(probe === null ? [] : [{ name: "a full file system", make: mountedForSure }]),
];

async function mountedForSure(): Promise<SmallDisk> {
  const disk = await mounted();
  if (disk === null) throw new Error("a file system could be mounted a moment ago");
  return disk;
}

function idOf(row: unknown): string {
  if (typeof row === "object" && row !== null && "id" in row) return String(row.id);
  throw new Error(`no row: ${JSON.stringify(row)}`);
}

/** A client that keeps account of what was acknowledged. */
class Account {
  readonly held = new Map<string, unknown>();
  readonly refused: Message[] = [];
  readonly #client: Client;
  readonly #id: string;
  readonly #work: string;
  #count = 0;

  constructor(client: Client, id: string, work: string) {
    this.#client = client;
    this.#id = id;
    this.#work = work;
  }

  /** Asks for so many locks at once. */
  async lock(count: number): Promise<void> {
    const asked = Array.from({ length: count }, () => {
      this.#count += 1;
      const file = `${this.#work}/${this.#id}-${this.#count}`;
      this.#client.send({ type: "file_lock", rid: file, id: this.#id, file, waitMs: 0 });
      return file;
    });
    for (const file of asked) {
      const reply = await this.#client.replyTo(file);
      if (reply["ok"] === true) this.held.set(file, reply["token"]);
      else this.refused.push(reply);
    }
  }

  async unlock(file: string): Promise<void> {
    expect(await this.#client.ask({ type: "file_unlock", id: this.#id, file })).toMatchObject({ ok: true });
    this.held.delete(file);
  }
}

async function storedLocks(client: Client): Promise<Map<string, unknown>> {
  const { rows } = await client.ask({ type: "query", target: "locks", limit: 1000 });
  if (!Array.isArray(rows)) throw new Error("no rows");
  return new Map(rows.map((row: Message) => [String(row["file"]), row["token"]]));
}

describe.each(kinds)("$name", ({ make }) => {
  async function world(): Promise<{ disk: SmallDisk; home: Home; ann: Client; account: Account }> {
    const disk = await make();
    open.push(disk);
    await disk.start();
    daemons.push(disk.home.daemon);
    const ann = await disk.home.session("ann");
    return { disk, home: disk.home, ann, account: new Account(ann, "ann", disk.home.work) };
  }

  /** Locks until the disk is full; it is met in the middle of a burst. */
  async function untilFull({ disk, account }: { disk: SmallDisk; account: Account }): Promise<void> {
    await account.lock(20);
    expect(account.refused).toEqual([]);
    disk.fill();
    while (account.refused.length === 0) await account.lock(50);
  }

  test("refuses what wants space by name and goes on with the rest, until there is space", async () => {
    const w = await world();
    const { disk, home, ann, account } = w;
    const file = `${home.work}/wanted`;
    await ann.ask({ type: "file_lock", id: "ann", file });
    const bob = await home.session("bob");
    bob.send({ type: "file_lock", id: "bob", file, progress: true });
    await bob.event("lock_queued");
    const spawned = await ann.ask({ type: "spawn_create", backend: "background", client: "claude-code" });
    const agent = { type: "spawn_update", spawn: idOf(spawned["spawn"]) };
    await untilFull(w);
    for (const refusal of account.refused) {
      expect(refusal).toMatchObject({ ok: false, code: "store_full" });
      expect(refusal["error"]).toMatch(/the disk is full.*make space/);
    }
    expect(await ann.ask({ type: "register", id: "cyd", cwd: home.work })).toMatchObject({
      code: "store_full",
    });
    expect(await ann.ask({ type: "stats" })).toMatchObject({ ok: true, storeFull: true });
    // Reads, signs of life and everything that frees.
    expect(await ann.ask({ type: "heartbeat", id: "ann" })).toMatchObject({ ok: true });
    expect(await storedLocks(ann)).toEqual(new Map([...account.held, [file, expect.any(String)]]));
    expect(await ann.ask({ type: "file_unlock", id: "ann", file })).toMatchObject({ ok: true });
    expect(await bob.reply()).toMatchObject({ ok: true, granted_from_queue: true });
    for (const one of [...account.held.keys()].slice(0, 10)) await account.unlock(one);
    bob.destroy();
    expect(await ann.ask({ type: "deregister", id: "bob" })).toMatchObject({ ok: true });
    // An agent can be stopped, as `kite agents stop` does it.
    const person = await home.connectPerson();
    expect(await person.ask({ ...agent, output: "x" })).toMatchObject({ code: "store_full" });
    expect(await person.ask({ ...agent, stopping: true, reason: "x" })).toMatchObject({ code: "store_full" });
    for (const step of [{ replacing: false }, { stopping: true }, { stopping: false }, { state: "stopped" }])
      expect(await person.ask({ ...agent, ...step }), JSON.stringify(step)).toMatchObject({ ok: true });
    // By itself: nobody asks for anything that wants space.
    disk.free();
    for (let full = true; full; ) full = (await ann.ask({ type: "stats" }))["storeFull"] === true;
    const before = account.refused.length;
    await account.lock(20);
    expect(account.refused).toHaveLength(before);
    expect(await storedLocks(ann)).toEqual(account.held);
  });

  test("keeps what was acknowledged, and nothing that was refused, through kills while it is full and after", async () => {
    const w = await world();
    const { disk, home, account } = w;
    await untilFull(w);
    const last = [...account.held.values()].at(-1);
    for (const one of [...account.held.keys()].slice(0, 5)) await account.unlock(one);
    await home.daemon.kill();
    // It comes up on the full disk: people can see what is held, and release it.
    await disk.start();
    daemons.push(home.daemon);
    const again = await home.connect();
    expect(await storedLocks(again)).toEqual(account.held);
    const [first] = account.held.keys();
    expect(await again.ask({ type: "file_unlock", id: "ann", file: first ?? "" })).toMatchObject({
      ok: true,
    });
    account.held.delete(first ?? "");
    disk.free();
    await home.daemon.kill();
    await disk.start();
    daemons.push(home.daemon);
    const third = await home.session("ann");
    expect(await storedLocks(third)).toEqual(account.held);
    const reply = await third.ask({ type: "file_lock", id: "ann", file: `${home.work}/new` });
    expect(reply).toMatchObject({ ok: true });
    expect(isLater(reply["token"], last)).toBe(true);
  });
});
