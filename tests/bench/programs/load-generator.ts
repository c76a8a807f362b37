/**
 * Asks and counts. It has to cost less than what it measures: lines are encoded beforehand, of the replies only the
 * newlines are looked at. Jobs come as messages, what came out of them goes back.
 */
import { once } from "node:events";
import { writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { sessionId } from "../wire-words.ts";

/** Locks and unlocks, `depth` requests in flight on each connection, for `ms` after `warmMs`. */
export interface Throughput {
  readonly kind: "throughput";
  readonly socket: string;
  readonly connections: number;
  readonly depth: number;
  /** What is asked for: locks and unlocks in turn, unless it is new tasks. */
  readonly tasks?: boolean;
  /** The server is Redis: a lock is a key that is set unless it exists, and deleted. */
  readonly redis?: boolean;
  /** The number of the first connection's session; 0 unless told. */
  readonly first?: number;
  readonly warmMs: number;
  readonly ms: number;
}

/** Alternately a ping, and a grant from one connection's unlock to the other one's lock. */
export interface Grants {
  readonly kind: "grants";
  readonly socket: string;
  readonly count: number;
}

/** Pings, one after the other, for `ms`. */
export interface Pings {
  readonly kind: "pings";
  readonly socket: string;
  readonly ms: number;
}

/** A lock and an unlock of one file, one after the other, for `ms`. */
export interface Pairs {
  readonly kind: "pairs";
  readonly socket: string;
  readonly ms: number;
}

/** Alternately a ping, a write of a record with its fdatasync beside the journal, and a new task, so many times. */
export interface Creates {
  readonly kind: "creates";
  readonly socket: string;
  /** A file on the disk of the journal. */
  readonly file: string;
  readonly count: number;
}

export type Job = Throughput | Grants | Pings | Pairs | Creates;

export interface Outcome {
  /** Replies per second. */
  readonly perSecond: number;
  readonly replies: number;
  /** Durations in microseconds. */
  readonly pingUs: readonly number[];
  readonly grantUs: readonly number[];
  /** From the lock that was sent to the answer to its unlock. */
  readonly pairUs?: readonly number[];
  readonly syncUs?: readonly number[];
  readonly createUs?: readonly number[];
}

const newline = 0x0a;
const filesPerConnection = 64;

function throughput(job: Throughput): Promise<Outcome> {
  const pumps: Pump[] = [];
  for (let c = 0; c < job.connections; c += 1) pumps.push(new Pump(job, c));
  const replies = () => pumps.reduce((sum, pump) => sum + pump.replies, 0);
  return new Promise(resolve => {
    setTimeout(() => {
      const before = replies();
      const began = performance.now();
      setTimeout(() => {
        const perSecond = ((replies() - before) / (performance.now() - began)) * 1000;
        void Promise.all(pumps.map(pump => pump.end())).then(() =>
          resolve({ perSecond, replies: replies(), pingUs: [], grantUs: [] }),
        );
      }, job.ms);
    }, job.warmMs);
  });
}

const shared = Buffer.alloc(256 * 1024);

/** One connection that keeps `depth` requests in flight. */
class Pump {
  replies = 0;
  #sent = 0;
  #ended: (() => void) | null = null;
  readonly #socket: Socket;
  readonly #lines: Buffer;
  readonly #starts: readonly number[];
  readonly #count: number;
  readonly #farewell: Buffer;

  constructor(
    { socket, connections, depth, first = 0, tasks = false, redis = false }: Throughput,
    c: number,
  ) {
    const id = sessionId(first + c);
    const lines: string[] = [];
    for (let n = 0; n < filesPerConnection; n += 1) {
      const file = connections === 1 ? `src/part-${n % 10}/file-${n}.ts` : own(c, n);
      if (tasks) {
        lines.push(`{"type":"task_create","rid":${n},"id":"${id}","description":"${taskText}"}\n`);
        continue;
      }
      if (redis) {
        lines.push(`SET ${file} ${id} NX PX 600000\r\n`, `DEL ${file}\r\n`);
        continue;
      }
      const rest = `"rid":${n},"id":"${id}","file":"${file}"}\n`;
      lines.push(`{"type":"file_lock",${rest}`, `{"type":"file_unlock",${rest}`);
    }
    this.#count = lines.length;
    // The cycle twice, so that any piece of it up to its length is one slice.
    this.#lines = Buffer.from([...lines, ...lines].join(""));
    const starts = [0];
    for (let at = this.#lines.indexOf(newline); at !== -1; at = this.#lines.indexOf(newline, at + 1))
      starts.push(at + 1);
    this.#starts = starts;
    this.#farewell = Buffer.from(redis ? "PING\r\n" : `{"type":"file_unlock","id":"${id}","all":true}\n`);
    const callback = (size: number) => this.#received(size);
    this.#socket = connect({ path: socket, onread: { buffer: shared, callback } }, () => this.#send(depth));
  }

  /** Sends no more, gives up what is held, and closes when everything was answered. */
  end(): Promise<void> {
    this.#socket.write(this.#farewell);
    this.#sent += 1;
    return new Promise(resolve => {
      this.#ended = resolve;
    });
  }

  #received(size: number): boolean {
    let count = 0;
    for (let at = shared.indexOf(newline); at !== -1 && at < size; at = shared.indexOf(newline, at + 1))
      count += 1;
    this.replies += count;
    if (this.#ended === null) {
      if (count > 0) this.#send(count);
    } else if (this.replies === this.#sent) {
      this.#socket.destroy();
      this.#ended();
    }
    return true;
  }

  #send(count: number): void {
    const next = this.#sent % this.#count;
    this.#socket.write(this.#lines.subarray(this.#starts[next], this.#starts[next + count]));
    this.#sent += count;
  }
}

/** Files of a connection that no other one asks for. */
function own(c: number, n: number): string {
  return `src/part-${c % 10}/file-${Math.floor(c / 10) * 16 + (n % 16)}.ts`;
}

/** A connection that resolves for the line awaited. */
class Talker {
  readonly #socket: Socket;
  #lines = 0;
  #wanted = 0;
  #arrived: () => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1)) {
        // Blank lines mean nothing; a line of one byte at the start of a chunk is one.
        this.#lines += 1;
      }
      if (this.#lines >= this.#wanted) this.#arrived();
    });
  }

  static async at(path: string): Promise<Talker> {
    const socket = connect(path);
    await once(socket, "connect");
    return new Talker(socket);
  }

  /** Resolves with the time when `count` more lines are there. */
  lines(count: number): Promise<number> {
    return new Promise(resolve => {
      this.#wanted = this.#lines + count;
      this.#arrived = () => {
        this.#arrived = () => {};
        resolve(performance.now());
      };
    });
  }

  send(line: Buffer): void {
    this.#socket.write(line);
  }

  close(): void {
    this.#socket.destroy();
  }
}

async function grants(job: Grants): Promise<Outcome> {
  const talkers = [await Talker.at(job.socket), await Talker.at(job.socket)] as const;
  const file = "src/part-0/file-0.ts";
  const line = (fields: object) => Buffer.from(`${JSON.stringify(fields)}\n`);
  const request = (type: string, n: number, more: object = {}) =>
    line({ type, rid: n, id: sessionId(n), file, ...more });
  const locks = [0, 1].map(n => request("file_lock", n, { waitMs: 60_000, progress: true }));
  const unlocks = [0, 1].map(n => request("file_unlock", n));
  const ping = line({ type: "ping", rid: 9 });
  const [first] = talkers;
  const pingUs: number[] = [];
  const grantUs: number[] = [];
  await Promise.all([first.lines(1), first.send(locks[0] ?? ping)]);
  for (let n = 0; n < job.count; n += 1) {
    const holder = n % 2 === 0 ? 0 : 1;
    const waiter = 1 - holder;
    const pinged = first.lines(1);
    let began = performance.now();
    first.send(ping);
    pingUs.push(((await pinged) - began) * 1000);
    const queued = talkers[waiter as 0 | 1].lines(1);
    talkers[waiter as 0 | 1].send(locks[waiter] ?? ping);
    await queued;
    const granted = talkers[waiter as 0 | 1].lines(1);
    const unlocked = talkers[holder as 0 | 1].lines(1);
    began = performance.now();
    talkers[holder as 0 | 1].send(unlocks[holder] ?? ping);
    grantUs.push(((await granted) - began) * 1000);
    await unlocked;
  }
  const last = job.count % 2 === 0 ? 0 : 1;
  const released = talkers[last as 0 | 1].lines(1);
  talkers[last as 0 | 1].send(unlocks[last] ?? ping);
  await released;
  for (const talker of talkers) talker.close();
  return { perSecond: 0, replies: 0, pingUs, grantUs };
}

const taskText = "Write the migration for the table of orders, and try it on a copy of the production data";

async function creates(job: Creates): Promise<Outcome> {
  const talker = await Talker.at(job.socket);
  const file = await open(job.file, "a");
  const record = Buffer.from(`${"x".repeat(400)}\n`);
  const ping = Buffer.from('{"type":"ping"}\n');
  const create = Buffer.from(`{"type":"task_create","id":"${sessionId(0)}","description":"${taskText}"}\n`);
  const pingUs: number[] = [];
  const syncUs: number[] = [];
  const createUs: number[] = [];
  const timed = async (line: Buffer, into: number[]) => {
    const answered = talker.lines(1);
    const began = performance.now();
    talker.send(line);
    into.push(((await answered) - began) * 1000);
  };
  for (let n = 0; n < job.count; n += 1) {
    // A ping before each of the two: the filesystem is not done with a sync when it returns.
    await timed(ping, pingUs);
    writeSync(file.fd, record);
    const began = performance.now();
    await file.datasync();
    syncUs.push((performance.now() - began) * 1000);
    await timed(ping, pingUs);
    await timed(create, createUs);
  }
  talker.close();
  await file.close();
  return { perSecond: 0, replies: 0, pingUs, grantUs: [], syncUs, createUs };
}

async function pings(job: Pings): Promise<Outcome> {
  const talker = await Talker.at(job.socket);
  const ping = Buffer.from('{"type":"ping"}\n');
  const pingUs: number[] = [];
  const until = performance.now() + job.ms;
  while (performance.now() < until) {
    const answered = talker.lines(1);
    const began = performance.now();
    talker.send(ping);
    pingUs.push(((await answered) - began) * 1000);
  }
  talker.close();
  return { perSecond: 0, replies: 0, pingUs, grantUs: [] };
}

async function pairs(job: Pairs): Promise<Outcome> {
  const talker = await Talker.at(job.socket);
  const line = (type: string) =>
    Buffer.from(`{"type":"${type}","id":"${sessionId(0)}","file":"src/part-0/file-0.ts"}\n`);
  const both = [line("file_lock"), line("file_unlock")];
  const pairUs: number[] = [];
  const until = performance.now() + job.ms;
  while (performance.now() < until) {
    const began = performance.now();
    for (const one of both) {
      const answered = talker.lines(1);
      talker.send(one);
      await answered;
    }
    pairUs.push((performance.now() - began) * 1000);
  }
  talker.close();
  return { perSecond: 0, replies: 0, pingUs: [], grantUs: [], pairUs };
}

function run(job: Job): Promise<Outcome> {
  switch (job.kind) {
    case "throughput":
      return throughput(job);
    case "grants":
      return grants(job);
    case "pings":
      return pings(job);
    case "pairs":
      return pairs(job);
    case "creates":
      return creates(job);
  }
}

process.on("message", (job: Job) => void run(job).then(outcome => process.send?.(outcome)));
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => process.exit());
process.send?.("ready");
