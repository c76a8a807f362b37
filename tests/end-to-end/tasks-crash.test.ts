/**
 * The daemon is killed again and again while sessions create, claim and finish tasks: whatever was acknowledged is
 * there afterwards, once, and as it was. `KITE_KILLS` says how often; 20 times unless it does.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Random } from "../simulation/random.ts";
import { type Client, Closed, Home, type Message } from "./daemon.ts";

const kills = Number(process.env["KITE_KILLS"] ?? 20);

let home: Home;

beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

/** What the workers share: when they may work, and what they were told of each task. */
class Knowledge {
  gate: Promise<void> = Promise.resolve();
  over = false;
  failed = false;
  acknowledged = 0;
  /** By id: the status as it was last acknowledged, and to whom. */
  readonly tasks = new Map<string, { readonly status: string; readonly by: string | null }>();
  /** Descriptions, each of which was asked for once. */
  readonly descriptions = new Map<string, string>();
  /** Tasks about which requests are under way, and how many. */
  readonly touched = new Map<string, number>();
  readonly finished = new Set<string>();
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

  touch(id: string, more: 1 | -1): void {
    const count = (this.touched.get(id) ?? 0) + more;
    if (count > 0) this.touched.set(id, count);
    else this.touched.delete(id);
  }

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
}

/** A session that makes tasks and works on them; what a crash cut short it sends again, under the same requestId. */
class Worker {
  readonly id: string;
  client: Client | null = null;
  /** A claim is under way: which task it gets nobody knows yet. */
  claiming = false;
  readonly #known: Knowledge;
  readonly #random: Random;
  #count = 0;

  constructor(id: string, known: Knowledge, random: Random) {
    this.id = id;
    this.#known = known;
    this.#random = random;
  }

  async run(): Promise<void> {
    while (!this.#known.over) {
      await this.#create();
      if (this.#random.chance(0.7)) await this.#work();
    }
  }

  async #create(): Promise<void> {
    const known = this.#known;
    const description = `${this.id} wants ${this.#count}`;
    const needed = this.#random.chance(0.3) ? this.#random.pick([...known.tasks.keys(), null]) : null;
    const reply = await this.#ask({
      type: "task_create",
      description,
      project: "test",
      ...(needed === null ? {} : { dependsOn: [needed] }),
    });
    expect(reply, description).toMatchObject({ ok: true, task: { description, status: "pending" } });
    const id = taskIn(reply);
    expect(known.descriptions.get(description)).toBe(undefined);
    known.descriptions.set(description, id);
    // Somebody may have claimed it before this was heard.
    if (!known.tasks.has(id)) known.tasks.set(id, { status: "pending", by: null });
  }

  async #work(): Promise<void> {
    const known = this.#known;
    this.claiming = true;
    const claimed = await this.#ask({ type: "task_claim", project: "test" });
    this.claiming = false;
    if (claimed["code"] === "no_ready_task") return;
    expect(claimed, this.id).toMatchObject({ ok: true, task: { status: "active", assignee: this.id } });
    const id = taskIn(claimed);
    const before = known.tasks.get(id);
    // Who gave it back may hear so later than who has it now.
    const isFree = before === undefined || before.status === "pending" || known.touched.has(id);
    expect(isFree, `${id} was ${before?.status} for ${before?.by}`).toBe(true);
    known.tasks.set(id, { status: "active", by: this.id });
    known.touch(id, 1);
    const gives = this.#random.chance(0.2);
    const result = `${this.id} did it`;
    const reply = gives
      ? await this.#ask({ type: "task_release", task: id })
      : await this.#ask({ type: "task_update", task: id, status: "done", result });
    expect(reply, this.id).toMatchObject({ ok: true, task: { id } });
    if (!gives) expect(known.finished.has(id), `${id} was done twice`).toBe(false);
    if (!gives) known.finished.add(id);
    // Given back, it may be somebody's by now; what they were told counts.
    if (known.tasks.get(id)?.by === this.id)
      known.tasks.set(id, { status: gives ? "pending" : "done", by: gives ? null : this.id });
    known.touch(id, -1);
  }

  async #ask(request: Message): Promise<Message> {
    this.#count += 1;
    const whole = { ...request, id: this.id, requestId: `${this.#count}` };
    for (;;) {
      const reply = await this.#try(whole);
      if (reply === null && this.#known.failed) throw new Closed("the test has failed");
      if (reply === null) continue;
      this.#known.acknowledge();
      return reply;
    }
  }

  /** The reply, or null where the daemon went away before it. */
  async #try(request: Message): Promise<Message | null> {
    await this.#known.gate;
    try {
      this.client ??= await home.connect();
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

function taskIn(reply: Message): string {
  const { task } = reply;
  if (typeof task !== "object" || task === null || !("id" in task)) throw new Error(JSON.stringify(reply));
  return String(task.id);
}

async function rows(): Promise<Map<string, Message>> {
  const client = await home.connect();
  const found = new Map<string, Message>();
  let after: unknown;
  do {
    const page = await client.ask({
      type: "query",
      target: "tasks",
      limit: 1000,
      ...(after ? { after } : {}),
    });
    const { rows: some } = page;
    if (!Array.isArray(some)) throw new Error(JSON.stringify(page));
    for (const row of some) found.set(String(row.id), row);
    after = page["next"];
  } while (after !== undefined);
  client.destroy();
  return found;
}

/** Holds what was acknowledged against what the daemon says, while nobody asks for anything. */
async function compare(known: Knowledge, workers: readonly Worker[]): Promise<void> {
  const found = await rows();
  const seen = new Set<unknown>();
  for (const row of found.values()) {
    expect(seen.has(row["description"]), `${String(row["description"])} is there twice`).toBe(false);
    seen.add(row["description"]);
  }
  for (const [description, id] of known.descriptions) {
    expect(found.get(id), `${description} was acknowledged`).toMatchObject({ id, description });
  }
  const isClaiming = workers.some(({ claiming }) => claiming);
  for (const [id, { status, by }] of known.tasks) {
    // What is under way may be stored or not; so may a claim of something that was free.
    if (known.touched.has(id) || (status === "pending" && isClaiming)) continue;
    expect(found.get(id), id).toMatchObject({ status, assignee: by });
  }
}

test(
  `killed ${kills} times, no acknowledged task is lost, doubled or done twice`,
  async () => {
    const seed = Date.now() % 2 ** 32;
    const random = new Random(seed);
    const known = new Knowledge();
    try {
      await killUnderLoad(known, random);
    } catch (error) {
      known.over = true;
      known.failed = true;
      known.open();
      throw new Error(`seed ${seed}`, { cause: error });
    }
  },
  3_000 * kills,
);

async function killUnderLoad(known: Knowledge, random: Random): Promise<void> {
  let daemon = await home.start();
  const workers = Array.from({ length: 5 }, (_, n) => new Worker(`worker-${n}`, known, random.fork()));
  for (const { id } of workers) (await home.session(id, { pid: process.pid })).destroy();
  let failed: (error: unknown) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    failed = reject;
  });
  const running = Promise.all(workers.map(worker => worker.run()));
  running.catch(failed);
  for (let kill = 1; kill <= kills; kill += 1) {
    await Promise.race([failure, known.progress(random.int(1, 60))]);
    known.close();
    // Now and then it is asked to leave instead, which takes a snapshot.
    if (kill % 20 === 0) {
      daemon.signal("SIGTERM");
      expect(await daemon.exited).toEqual({ code: 0, signal: null });
    } else await daemon.kill();
    // What it had said is heard before its state is looked at.
    await Promise.all(workers.map(({ client }) => client?.ended));
    await nextTurn();
    daemon = await home.start();
    await compare(known, workers);
    known.open();
  }
  known.over = true;
  await running;
  await compare(known, workers);
  expect(known.finished.size).toBeGreaterThan(kills / 2);
}
