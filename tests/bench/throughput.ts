/**
 * Locks and unlocks per second over the socket, against echo servers of the same framing. Kite writes once for all that
 * answers one batch, so its rival is the one that does the same, and the goals are against that; what writes each line on
 * its own is shown beside it.
 */
import { join } from "node:path";
import { type Other, redis } from "./instead.ts";
import { interleaved, median, ratio } from "./measure.ts";
import { Bench, heard, type Started, work } from "./processes.ts";
import { beside, figure, plain, type Table, type Tables, table } from "./report.ts";
import { ask } from "./talk.ts";
import { sessionId } from "./wire-words.ts";

const rounds = 7;
const shapes = [
  { connections: 100, depth: 1, file: 0.45 },
  { connections: 1, depth: 64, file: 0.22 },
] as const;

interface Server {
  readonly socket: string;
  readonly started: Started;
}

type Name = "echo" | "batching" | "refused" | "file" | "memory";

/** Sessions that no daemon knows: their relative names are refused before anything else is done. */
const strangers = 1_000;

export async function* throughput(): Tables {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const servers = {
      echo: await echoServer(bench, "line"),
      batching: await echoServer(bench, "batch"),
      file: await daemon(bench, cwd, "file"),
      memory: await daemon(bench, cwd, "memory"),
      refused: await daemon(bench, cwd, "memory", "refusing"),
    };
    const generator = await bench.start("load-generator", []);
    const other = await redis(bench.dir);
    try {
      for (const shape of shapes) yield await one(generator, shape, servers, other);
    } finally {
      await other?.end();
    }
    for (const server of [servers.file, servers.memory]) await nothingRefused(server.socket);
  } finally {
    await bench.end();
  }
}

async function one(
  generator: Started,
  { connections, depth, file }: (typeof shapes)[number],
  servers: Readonly<Record<Name, Server>>,
  other: Other | null,
): Promise<Table> {
  const cpu = new Map<string, number[]>();
  const rate = (name: Name) => async () => {
    const { socket, started } = servers[name];
    const before = await cpuUs(started);
    const first = name === "refused" ? strangers : 0;
    const job = { kind: "throughput", socket, connections, depth, first, warmMs: 300, ms: 1_000 } as const;
    const { perSecond, replies } = await work(generator, job);
    cpu.set(name, [...(cpu.get(name) ?? []), ((await cpuUs(started)) - before) / replies]);
    return perSecond;
  };
  const redisRate = (socket: string) => async () =>
    (
      await work(generator, {
        kind: "throughput",
        socket,
        connections,
        depth,
        redis: true,
        warmMs: 300,
        ms: 1_000,
      })
    ).perSecond;
  const subjects: Record<string, () => Promise<number>> = {
    echo: rate("echo"),
    file: rate("file"),
    memory: rate("memory"),
    batching: rate("batching"),
    refused: rate("refused"),
    ...(other === null ? {} : { redis: redisRate(other.socket) }),
  };
  await interleaved(1, subjects);
  cpu.clear();
  const samples = await interleaved(rounds, subjects);
  const of = (name: Name | "redis") => samples.get(name) ?? [];
  /** Redis's requests a second against those of an echo server. */
  const redisTo = (name: Name) => (other === null ? null : ratio(of("redis"), of(name)));
  const cpuOf = (name: Name) => median(cpu.get(name) ?? []);
  return table(
    `lock and unlock, ${connections} connection(s) at depth ${depth}, ${rounds} rounds interleaved`,
    [
      plain("echo server, one write a batch", of("batching"), "/s"),
      plain("echo server, one write a line", of("echo"), "/s"),
      plain("Kite, file journal", of("file"), "/s"),
      plain("Kite, memory journal", of("memory"), "/s"),
      beside(
        figure("file journal / echo with one write a batch", ratio(of("file"), of("batching")), {
          atLeast: file,
        }),
        "Redis",
        redisTo("batching"),
      ),
      plain("memory journal / echo with one write a batch", ratio(of("memory"), of("batching"))),
      plain(
        "read, validated and refused / echo with one write a batch",
        ratio(of("refused"), of("batching")),
      ),
      beside(
        plain("file journal / echo with one write a line", ratio(of("file"), of("echo"))),
        "Redis",
        redisTo("echo"),
      ),
      plain("memory journal / echo with one write a line", ratio(of("memory"), of("echo"))),
      plain("read, validated and refused / echo with one write a line", ratio(of("refused"), of("echo"))),
      plain("processor time of the echo server with one write a line", cpuOf("echo"), " us each"),
      plain("processor time of the echo server with one write a batch", cpuOf("batching"), " us each"),
      plain("processor time of a request that is refused at once", cpuOf("refused"), " us each"),
      plain("processor time of Kite, file journal", cpuOf("file"), " us each"),
      plain("processor time of Kite, memory journal", cpuOf("memory"), " us each"),
      plain(
        "the same as a ratio: echo with one write a batch / file journal",
        cpuOf("batching") / cpuOf("file"),
      ),
      plain("the same as a ratio: echo with one write a line / file journal", cpuOf("echo") / cpuOf("file")),
    ],
  );
}

async function echoServer(bench: Bench, mode: "line" | "batch"): Promise<Server> {
  const socket = join(bench.dir, `${mode}.sock`);
  return { socket, started: await bench.start("echo-server", [socket, mode]) };
}

async function cpuUs({ child }: Started): Promise<number> {
  child.send("cpu");
  const { user, system } = (await heard(child, "a server")) as NodeJS.CpuUsage;
  return user + system;
}

/** A daemon with a hundred sessions in `cwd`. */
async function daemon(
  bench: Bench,
  cwd: string,
  journal: "file" | "memory",
  name: string = journal,
): Promise<Server> {
  const home = join(bench.dir, name);
  const started = await bench.start("kite-daemon", [home, journal]);
  const socket = join(home, "kite.sock");
  const sessions = Array.from({ length: 100 }, (_, n) => ({ type: "register", id: sessionId(n), cwd }));
  await ask(socket, sessions);
  return { socket, started };
}

/** What was measured were locks, not refusals. */
async function nothingRefused(socket: string): Promise<void> {
  const [stats] = await ask(socket, [{ type: "stats" }]);
  if (stats?.["refused"] !== 0) throw new Error(`${stats?.["refused"]} requests were refused`);
}
