/**
 * The daemon is killed again and again while clients lock and unlock: whatever was acknowledged is there afterwards,
 * and nothing is there that nobody asked for. `KITE_KILLS` says how often; 40 times unless it does.
 */
import { lstatSync, readdirSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Random } from "../simulation/random.ts";
import { type Client, Closed, Home, isLater, type Message } from "./daemon.ts";

const kills = Number(process.env["KITE_KILLS"] ?? 40);
let home: Home;

beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

/** What all workers share: when they may work, and who has which file as far as anybody was told. */
class World {
  /** Resolves while a daemon is there to be asked. */
  gate: Promise<void> = Promise.resolve();
  over = false;
  failed = false;
  acknowledged = 0;
  readonly tokens = new Set<string>();
  /** The latest token of each file. */
  readonly latest = new Map<string, string>();
  #open: () => void = () => {};
  #awaited: { readonly count: number; readonly resolve: () => void } | null = null;

  close(): void {
    this.gate = new Promise(resolve => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }

  /** Resolves after so many more acknowledged requests. */
  progress(more: number): Promise<void> {
    const count = this.acknowledged + more;
    return new Promise(resolve => {
      this.#awaited = { count, resolve };
    });
  }

  acknowledge(): void {
    this.acknowledged += 1;
    if (this.#awaited !== null && this.acknowledged >= this.#awaited.count) this.#awaited.resolve();
  }

  /** A lock was acknowledged: its token is a new one, and later than all this file had. */
  granted(file: string, token: string): void {
    expect(this.tokens.has(token), `${token} was given twice`).toBe(false);
    this.tokens.add(token);
    const before = this.latest.get(file);
    if (before !== undefined) expect(isLater(token, before), `${token} after ${before}`).toBe(true);
    this.latest.set(file, token);
  }
}

/** A session that locks and unlocks, and sends what was under way again after a crash, under the same requestId. */
class Worker {
  readonly id: string;
  readonly holds = new Map<string, string>();
  /** What was sent and not answered. */
  pending: { readonly type: string; readonly file: string } | null = null;
  client: Client | null = null;
  readonly #world: World;
  readonly #random: Random;
  readonly #shared: readonly string[];
  #count = 0;

  constructor(id: string, world: World, random: Random, shared: readonly string[]) {
    this.id = id;
    this.#world = world;
    this.#random = random;
    this.#shared = shared;
  }

  /** It is known to stand in line: the daemon said so. */
  get isQueued(): boolean {
    return this.client?.kept.some(message => message["event"] === "lock_queued") ?? false;
  }

  async run(): Promise<void> {
    while (!this.#world.over) {
      // At most one contended file at a time, so that nobody waits in a cycle.
      const own = `${home.work}/${this.id}-${this.#random.int(1, 3)}`;
      const shared = this.#random.pick(this.#shared);
      await this.#lock(own);
      await this.#lock(shared);
      await this.#unlock(this.#random.chance(0.5) ? own : shared);
      for (const file of [...this.holds.keys()]) await this.#unlock(file);
    }
  }

  async #lock(file: string): Promise<void> {
    const reply = await this.#ask("file_lock", file);
    // Refused for now: by a full line, or by a machine so busy that the path could not be looked at in time.
    if (reply["code"] === "lock_queue_full" || reply["code"] === "path_unreachable") return;
    expect(reply, this.id).toMatchObject({ ok: true, file });
    const token = String(reply["token"]);
    this.#world.granted(file, token);
    this.holds.set(file, token);
  }

  async #unlock(file: string): Promise<void> {
    if (!this.holds.has(file)) return;
    const reply = await this.#ask("file_unlock", file);
    expect(reply, this.id).toMatchObject({ ok: true, released: [file] });
    this.holds.delete(file);
  }

  async #ask(type: string, file: string): Promise<Message> {
    this.#count += 1;
    const wait = type === "file_lock" ? { waitMs: 600_000, progress: true } : {};
    const request = { type, id: this.id, file, requestId: `${this.#count}`, ...wait };
    this.pending = { type, file };
    for (;;) {
      const reply = await this.#try(request);
      if (reply === null && this.#world.failed) throw new Closed("the test has failed");
      if (reply === null) continue;
      this.pending = null;
      this.#world.acknowledge();
      return reply;
    }
  }

  /** The reply, or null where the daemon went away before it. */
  async #try(request: Message): Promise<Message | null> {
    await this.#world.gate;
    try {
      this.client ??= await home.connect();
      while (this.client.kept.length > 0) await this.client.next();
      const reply = await this.client.ask(request);
      if (reply["code"] !== "restarting") return reply;
      await this.client.ended;
    } catch (error) {
      if (!(error instanceof Closed) && !isAbsent(error)) throw error;
    }
    this.client = null;
    return null;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && ["ECONNREFUSED", "ENOENT"].includes(String(error.code));
}

async function locks(): Promise<Message[]> {
  const client = await home.connect();
  const { rows } = await client.ask({ type: "query", target: "locks", limit: 1000 });
  client.destroy();
  if (!Array.isArray(rows)) throw new Error("no rows");
  return rows;
}

/** Holds every worker's knowledge against what the daemon says, while nobody asks for anything. */
async function compare(workers: readonly Worker[]): Promise<void> {
  const rows = new Map((await locks()).map(row => [String(row["path"]), row]));
  for (const { id, holds, pending, isQueued } of workers) {
    for (const [file, token] of holds) {
      if (pending?.type === "file_unlock" && pending.file === file) continue;
      expect(rows.get(file), `${id} was told that it holds ${file}`).toMatchObject({ holder: { id }, token });
    }
    if (pending?.type !== "file_lock" || !isQueued) continue;
    const row = rows.get(pending.file);
    const isThere = idOf(row?.["holder"]) === id || waitersOf(row).includes(id);
    expect(isThere, `${id} was told that it waits for ${pending.file}: ${JSON.stringify(row)}`).toBe(true);
  }
  for (const [file, row] of rows) {
    const known = workers.find(({ id }) => id === idOf(row["holder"]));
    if (row["holder"] !== null) {
      const isMeant = known?.holds.has(file) || known?.pending?.file === file;
      expect(isMeant, `nobody knows of ${JSON.stringify(row)}`).toBe(true);
    }
    for (const waiter of waitersOf(row)) {
      expect(workers.find(({ id }) => id === waiter)?.pending).toEqual({ type: "file_lock", file });
    }
  }
}

function idOf(actor: unknown): string | null {
  return typeof actor === "object" && actor !== null && "id" in actor ? String(actor.id) : null;
}

function waitersOf(row: Message | undefined): (string | null)[] {
  const waiters = row?.["waiters"];
  return Array.isArray(waiters) ? waiters.map(idOf) : [];
}

describe("killed under load", () => {
  test(
    `${kills} times, nothing acknowledged is lost`,
    async () => {
      const seed = Date.now() % 2 ** 32;
      const random = new Random(seed);
      try {
        await killUnderLoad(random);
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    },
    3_000 * kills,
  );

  async function killUnderLoad(random: Random): Promise<void> {
    const world = new World();
    try {
      await work(world, random);
    } catch (error) {
      // Workers that are still there have nobody to come back to.
      world.over = true;
      world.failed = true;
      world.open();
      throw error;
    }
  }

  async function work(world: World, random: Random): Promise<void> {
    let daemon = await home.start();
    const shared = ["x", "y"].map(name => `${home.work}/${name}`);
    const workers = Array.from(
      { length: 6 },
      (_, n) => new Worker(`worker-${n}`, world, random.fork(), shared),
    );
    for (const { id } of workers) (await home.session(id, { pid: process.pid })).destroy();
    let failed: (error: unknown) => void = () => {};
    const failure = new Promise<never>((_, reject) => {
      failed = reject;
    });
    const running = Promise.all(workers.map(worker => worker.run()));
    running.catch(failed);
    for (let kill = 1; kill <= kills; kill += 1) {
      await Promise.race([failure, world.progress(random.int(1, 40))]);
      world.close();
      // Now and then it is asked to leave instead, which takes a snapshot.
      if (kill % 20 === 0) {
        daemon.signal("SIGTERM");
        expect(await daemon.exited).toEqual({ code: 0, signal: null });
      } else await daemon.kill();
      // What it had said is heard before its state is looked at.
      await Promise.all(workers.map(({ client }) => client?.ended));
      await nextTurn();
      // And now and then the next one is killed before it is up.
      if (kill % 10 === 5) {
        const { daemon: unborn, word } = home.begin();
        await Promise.race([word, afterTurns(random.int(1, 3000))]);
        await unborn.kill();
      }
      daemon = await home.start();
      await compare(workers);
      world.open();
    }
    world.over = true;
    await running;
    expect(await locks()).toEqual([]);
    expect(world.tokens.size).toBeGreaterThan(kills);
  }

  /** A moment that is never the same: a number of turns of the event loop. */
  async function afterTurns(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) await nextTurn();
  }
});

describe("a killed daemon", () => {
  /** A holder and three who wait, in this order. */
  async function lineUp(): Promise<{ file: string; token: unknown; waiting: readonly string[] }> {
    const file = `${home.work}/f`;
    const holder = await home.session("holder", { pid: process.pid });
    const { token } = await holder.ask({ type: "file_lock", id: "holder", file });
    const waiting = ["first", "second", "third"];
    for (const id of waiting) {
      const client = await home.session(id, { pid: process.pid });
      client.send({ type: "file_lock", id, file, progress: true });
      await client.event("lock_queued");
    }
    return { file, token, waiting };
  }

  test("is followed by one that knows who holds what and who waits; who comes back has its place", async () => {
    const daemon = await home.start();
    const { file, token, waiting } = await lineUp();
    await daemon.kill();
    // The socket is still there, and nobody behind it.
    expect(lstatSync(home.paths.socket).isSocket()).toBe(true);
    await home.start();
    expect(await locks()).toMatchObject([
      { path: file, token, holder: { id: "holder" }, waiters: waiting.map(id => ({ id, attached: false })) },
    ]);
    // They come back in the opposite order, and one more comes.
    const late = await home.session("late");
    const clients = new Map<string, Client>();
    for (const id of [...waiting].reverse()) {
      const client = await home.connect();
      clients.set(id, client);
      client.send({ type: "file_lock", id, file, progress: true });
      await client.event("lock_queued");
    }
    expect(await late.ask({ type: "file_lock", id: "late", file })).toMatchObject({
      code: "lock_queue_full",
    });
    const holder = await home.connect();
    expect(await holder.ask({ type: "file_check", id: "holder", file, token })).toMatchObject({ ok: true });
    expect(await holder.ask({ type: "file_lock", id: "holder", file })).toMatchObject({ token });
    let last = token;
    await holder.ask({ type: "file_unlock", id: "holder", file });
    for (const id of waiting) {
      const client = clients.get(id);
      if (client === undefined) throw new Error(id);
      const reply = await client.reply();
      expect(reply, id).toMatchObject({ ok: true, granted_from_queue: true });
      expect(isLater(reply["token"], last)).toBe(true);
      last = reply["token"];
      await client.ask({ type: "file_unlock", id, file });
    }
  });

  test("leaves no lock to those who do not come back: the line passes them over", async () => {
    const daemon = await home.start();
    const { file } = await lineUp();
    await daemon.kill();
    await home.start();
    const third = await home.connect();
    third.send({ type: "file_lock", id: "third", file, progress: true });
    await third.event("lock_queued");
    const holder = await home.connect();
    await holder.ask({ type: "file_unlock", id: "holder", file });
    expect(await third.reply()).toMatchObject({ ok: true, granted_from_queue: true });
  });

  test("answers a request that came twice as it did before, and applies it once", async () => {
    let daemon = await home.start();
    const file = `${home.work}/f`;
    const lock = { type: "file_lock", id: "s", file, requestId: "lock" };
    const unlock = { type: "file_unlock", id: "s", file, requestId: "unlock" };
    const first = await (await home.session("s")).ask(lock);
    await daemon.kill();
    daemon = await home.start();
    expect(await (await home.connect()).ask(lock)).toEqual(first);
    const released = await (await home.connect()).ask(unlock);
    await daemon.kill();
    daemon = await home.start();
    const other = await home.session("other");
    expect(await other.ask({ type: "file_lock", id: "other", file })).toMatchObject({ ok: true });
    expect(await (await home.connect()).ask(unlock)).toEqual(released);
    expect(await (await home.connect()).ask(lock)).toEqual(first);
    expect(await locks()).toMatchObject([{ path: file, holder: { id: "other" } }]);
    // A snapshot keeps them too.
    daemon.signal("SIGTERM");
    await daemon.exited;
    await home.start();
    expect(await (await home.connect()).ask(unlock)).toEqual(released);
  });

  test("keeps a lock bound to a connection for its client to come back", async () => {
    const daemon = await home.start();
    const file = `${home.work}/f`;
    const bound = { type: "file_lock", id: "s", file, bind: true };
    const { token } = await (await home.session("s")).ask(bound);
    await daemon.kill();
    await home.start();
    const again = await home.connect();
    expect(await again.ask(bound)).toMatchObject({ ok: true, token });
    const other = await home.session("other");
    other.send({ type: "file_lock", id: "other", file, progress: true });
    await other.event("lock_queued");
    // It is bound to the new connection now.
    again.destroy();
    expect(await other.reply()).toMatchObject({ ok: true, granted_from_queue: true });
  });
});

describe("SIGTERM", () => {
  test("tells those who wait to come back, takes a snapshot, removes the socket, and nobody can hold it up", async () => {
    const daemon = await home.start();
    const file = `${home.work}/f`;
    await (await home.session("holder")).ask({ type: "file_lock", id: "holder", file, bind: true });
    const waiter = await home.session("waiter");
    waiter.send({ type: "file_lock", id: "waiter", file, progress: true, rid: "wait" });
    await waiter.event("lock_queued");
    const hook = await home.connect();
    const blank = hook.blank();
    hook.send({
      type: "hook",
      event: {
        hook_event_name: "PreToolUse",
        session_id: "hooked",
        cwd: home.work,
        prompt_id: "p",
        tool_name: "Edit",
        tool_use_id: "u",
        tool_input: { file_path: file, old_string: "a", new_string: "b" },
      },
    });
    await blank;
    // An idle client, one in the middle of a line, one that does not read and one that does not close.
    const idle = await home.connect();
    const partial = await home.connect();
    partial.send('{"type":"pi');
    const deaf = await home.connect();
    deaf.stopReading();
    deaf.send('{"type":"ping"}\n'.repeat(20_000));
    await idle.ask({ type: "ping" });

    daemon.signal("SIGTERM");
    expect(await waiter.replyTo("wait")).toMatchObject({ ok: false, code: "restarting" });
    expect(await hook.reply()).toMatchObject({ ok: false, code: "restarting" });
    await Promise.all([waiter.ended, hook.ended, idle.ended, partial.ended]);
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
    expect(lstatSync(home.paths.socket, { throwIfNoEntry: false })).toBe(undefined);
    const names = readdirSync(home.paths.journal);
    expect(names.filter(name => name.endsWith(".snapshot"))).not.toEqual([]);

    await home.start();
    expect(await locks()).toMatchObject([
      { path: file, holder: { id: "holder" }, waiters: [{ id: "waiter" }, { id: "hooked" }] },
    ]);
  });

  test("twice is once, and shutdown on the wire is the same", async () => {
    const first = await home.start();
    first.signal("SIGTERM");
    first.signal("SIGTERM");
    first.signal("SIGINT");
    expect(await first.exited).toEqual({ code: 0, signal: null });
    const second = await home.start();
    const client = await home.connect();
    client.send('{"type":"shutdown"}\n{"type":"shutdown"}\n');
    expect(await client.reply()).toEqual({ ok: true });
    expect(await second.exited).toEqual({ code: 0, signal: null });
  });
});
