/**
 * Sixteen processes race for one file: never two holders, always first come, first served. `KITE_ROUNDS` says how often
 * each of them takes it; 30 times unless it does.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { type Client, Home, isLater, type Message } from "./daemon.ts";

const racer = fileURLToPath(new URL("race-racer.mjs", import.meta.url));
const rounds = Number(process.env["KITE_ROUNDS"] ?? 30);
const sixteen = Array.from({ length: 16 }, (_, n) => `racer-${n}`);

let home: Home;
let file: string;

beforeEach(async () => {
  home = new Home();
  await home.start();
  file = `${home.work}/wanted`;
});
afterEach(() => home.dispose());

/** Follows the line of one file by the events of the daemon, which come in the order of its log. */
class Line {
  /** Who waits, first first. */
  readonly #waiting: string[] = [];
  #holder: string | null = null;
  #token: unknown = null;
  /** The lock was released by this entry, while somebody waited: it has to pass on in the same one. */
  #passing: string | null = null;
  longest = 0;
  grants = 0;

  take(event: Message): void {
    const { event: name, cursor } = event;
    const entry = String(cursor).split(".").slice(0, 2).join(".");
    if (this.#passing !== null && entry !== this.#passing) {
      throw new Error(`${this.#waiting} waited for a free file: ${JSON.stringify(event)}`);
    }
    if (name === "lock_queued") {
      this.#waiting.push(idOf(event["waiter"]));
      expect(event["position"]).toBe(this.#waiting.length);
      this.longest = Math.max(this.longest, this.#waiting.length);
    } else if (name === "lock_granted") this.#grant(event);
    else if (name === "lock_released") {
      expect(idOf(event["holder"])).toBe(this.#holder);
      this.#holder = null;
      this.#passing = this.#waiting.length === 0 ? null : entry;
    } else throw new Error(`unexpected: ${JSON.stringify(event)}`);
  }

  #grant(event: Message): void {
    const id = idOf(event["holder"]);
    expect(this.#holder, "two holders").toBe(null);
    if (this.#waiting.length > 0) expect(id, "out of turn").toBe(this.#waiting.shift());
    if (this.#token !== null) expect(isLater(event["token"], this.#token)).toBe(true);
    this.#token = event["token"];
    this.#holder = id;
    this.#passing = null;
    this.grants += 1;
  }
}

function idOf(actor: unknown): string {
  if (typeof actor !== "object" || actor === null || !("id" in actor)) throw new Error("no actor");
  return String(actor.id);
}

/** Runs all racers; returns what their line looked like. */
async function race(how: "request" | "hook"): Promise<Line> {
  writeFileSync(`${file}.counter`, JSON.stringify({ count: 0, last: null }));
  const watcher = await home.connect();
  await watcher.ask({
    type: "subscribe",
    events: ["lock_queued", "lock_granted", "lock_released", "lock_wait_ended"],
  });
  const racers = sixteen.map(id => {
    const args = [racer, home.paths.socket, file, how, id, String(rounds)];
    const stdio: ["pipe", "pipe", "inherit"] = ["pipe", "pipe", "inherit"];
    return home.adopt(spawn(process.execPath, args, { env: home.environment, stdio }));
  });
  await Promise.all(racers.map(({ stdout }) => once(stdout, "data")));
  const ended = racers.map(child => exitCode(child));
  for (const { stdin } of racers) stdin.write("go\n");
  const line = new Line();
  const total = sixteen.length * rounds;
  const [codes] = await Promise.all([Promise.all(ended), follow(watcher, line, total)]);
  expect(codes).toEqual(sixteen.map(() => 0));
  expect(JSON.parse(readFileSync(`${file}.counter`, "utf8"))).toMatchObject({ count: total });
  return line;
}

async function exitCode(child: ChildProcess): Promise<number | null> {
  const [code] = await once(child, "exit");
  return code;
}

/** Until the last lock is given up. */
async function follow(watcher: Client, line: Line, total: number): Promise<void> {
  for (let released = 0; released < total; ) {
    const event = await watcher.next();
    line.take(event);
    if (event["event"] === "lock_released") released += 1;
  }
  expect(line.grants).toBe(total);
}

describe(`sixteen processes, ${rounds} rounds`, () => {
  test("by file_lock, where a full line refuses and one asks again", async () => {
    const line = await race("request");
    expect(line.longest).toBe(limits.queueDepth);
  });

  test("by hooks, where all of them stand in line", async () => {
    const line = await race("hook");
    expect(line.longest).toBe(sixteen.length - 1);
  });
});

test("the order of the line is that in which the requests reached the daemon", async () => {
  // Each one asks when the one before is known to stand in line; the order is another one in every round.
  const clients = await Promise.all(
    sixteen.map(async id => ({ id, client: await home.session(id), granted: 0 })),
  );
  const holder = await home.session("holder");
  for (let round = 0; round < 50; round += 1) {
    await holder.ask({ type: "file_lock", id: "holder", file, bind: true });
    const order = clients.slice(round % 16).concat(clients.slice(0, round % 16));
    if (round % 2 === 1) order.reverse();
    for (const { id, client } of order) {
      const blank = client.blank();
      client.send({
        type: "hook",
        event: {
          hook_event_name: "PreToolUse",
          session_id: id,
          cwd: home.work,
          prompt_id: "p",
          tool_name: "Edit",
          tool_use_id: `${id}-${round}`,
          tool_input: { file_path: file, old_string: "a", new_string: "b" },
        },
      });
      // It waits: the next one is behind it.
      await blank;
    }
    await holder.ask({ type: "file_unlock", id: "holder", file });
    for (const [n, one] of order.entries()) {
      expect(await one.client.reply()).toEqual({ ok: true, output: "" });
      for (const { client } of order.slice(n + 1)) expect(client.kept).toEqual([]);
      await one.client.ask({
        type: "hook",
        event: { hook_event_name: "Stop", session_id: one.id, cwd: home.work },
      });
    }
  }
});
