/** What tasks cost: alone and safe on disk, from many at once, and where there are many. */
import { join } from "node:path";
import { interleaved, quantile, ratio } from "./measure.ts";
import { Bench, heard, rssOf, type Started, work } from "./processes.ts";
import { figure, plain, type Table, type Tables, table } from "./report.ts";
import { ask } from "./talk.ts";
import { sessionId } from "./wire-words.ts";

const rounds = 7;
const createsPerRound = 300;
const connections = 100;
const few = 10_000;
const many = 100_000;
const megabyte = 1024 * 1024;

/** Over the socket of a real daemon, on this machine's disk. */
export async function* tasks(): Tables {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const at = (name: string) => join(bench.dir, name);
    await bench.start("kite-daemon", [at("synced"), "file"]);
    await bench.start("kite-daemon", [at("unsynced"), "unsynced"]);
    const sockets = { synced: at("synced/kite.sock"), unsynced: at("unsynced/kite.sock") };
    const sessions = Array.from({ length: connections }, (_, n) => {
      return { type: "register", id: sessionId(n), cwd, project: `/project-${n}` };
    });
    for (const socket of Object.values(sockets)) await ask(socket, sessions);
    const generator = await bench.start("load-generator", []);
    yield await alone(generator, sockets.synced, at("record"));
    yield await together(generator, sockets);
  } finally {
    await bench.end();
  }
}

async function alone(generator: Started, socket: string, file: string): Promise<Table> {
  const samples = { ping: [] as number[], sync: [] as number[], create: [] as number[] };
  const ratios: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const job = { kind: "creates", socket, file, count: createsPerRound } as const;
    const { pingUs, syncUs = [], createUs = [] } = await work(generator, job);
    // The first round is for the compilers.
    if (round === 0) continue;
    const [ping, sync, create] = [pingUs, syncUs, createUs].map(us => quantile(us, 0.5));
    samples.ping.push(ping ?? Number.NaN);
    samples.sync.push(sync ?? Number.NaN);
    samples.create.push(create ?? Number.NaN);
    ratios.push((create ?? Number.NaN) / ((ping ?? 0) + (sync ?? 0)));
  }
  return table(
    `a task that is safe on disk, one after the other, p50 of ${createsPerRound}, ${rounds} rounds`,
    [
      plain("ping", samples.ping, " us"),
      plain("a write and an asynchronous fdatasync", samples.sync, " us"),
      plain("task_create", samples.create, " us"),
      figure("task_create / (ping + fdatasync)", ratios, { atMost: 1.3 }),
    ],
  );
}

async function together(
  generator: Started,
  sockets: { readonly synced: string; readonly unsynced: string },
): Promise<Table> {
  const job = { kind: "throughput", connections, depth: 1, tasks: true, warmMs: 200, ms: 600 } as const;
  const rate = (socket: string) => async () => (await work(generator, { ...job, socket })).perSecond;
  const subjects = { synced: rate(sockets.synced), unsynced: rate(sockets.unsynced) };
  await interleaved(1, subjects);
  const samples = await interleaved(rounds, subjects);
  const of = (name: string) => samples.get(name) ?? [];
  return table(`task_create from ${connections} connections at depth 1, ${rounds} rounds interleaved`, [
    plain("safe on disk", of("synced"), "/s"),
    plain("the same daemon, calling everything written safe", of("unsynced"), "/s"),
    figure("safe on disk / with sync off", ratio(of("synced"), of("unsynced")), { atLeast: 0.55 }),
  ]);
}

/** Engine and core alone, where there are ten times as many tasks. */
export async function* tasksInCore(): Tables {
  const bench = new Bench();
  try {
    const a = await bench.start("task-engine", [`${few}`]);
    const b = await bench.start("task-engine", [`${many}`]);
    const samples = { few: [] as Costs[], many: [] as Costs[] };
    for (let round = 0; round <= rounds; round += 1) {
      const [x, y] = [await costs(a), await costs(b)];
      if (round === 0) continue;
      samples.few.push(x);
      samples.many.push(y);
    }
    const of = (list: readonly Costs[], kind: string) => list.map(one => one[kind] ?? Number.NaN);
    const kinds = ["create", "claim", "complete", "ready", "prefix"];
    yield table(
      `processor time of one task among many, engine and core over the memory journal, ${rounds} rounds`,
      [
        ...kinds.flatMap(kind => [
          plain(`${kind}, ${few} tasks`, of(samples.few, kind), " us"),
          plain(`${kind}, ${many} tasks`, of(samples.many, kind), " us"),
          figure(`${kind}, ${many} / ${few}`, ratio(of(samples.many, kind), of(samples.few, kind)), {
            atMost: 2,
          }),
        ]),
        plain(`memory, ${many} tasks`, rssOf(b) / megabyte, " MB"),
      ],
    );
  } finally {
    await bench.end();
  }
}

type Costs = Readonly<Record<string, number>>;

async function costs({ child }: Started): Promise<Costs> {
  child.send("run");
  return (await heard(child, "task-engine")) as Costs;
}
