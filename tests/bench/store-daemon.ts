/** What a shared task costs through the daemon against the store's own write, and what an edit pays for a store. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Connection } from "../../daemon/store/connection.ts";
import { findPostgres, PostgresServer } from "../store/postgres-server.ts";
import { interleaved, ratio } from "./measure.ts";
import { Bench, heard, type Started } from "./processes.ts";
import { figure, plain, type Table, type Tables, table } from "./report.ts";
import { Conversation } from "./talk.ts";
import { sessionId } from "./wire-words.ts";

const rounds = 1_500;
/** A daemon lives for days: what its first seconds cost, before Node compiled its code, is not measured. */
const warmRounds = 500;
const daemons = 20;
const contendedMs = 4_000;
const openTriesMax = 300;

/** A daemon, and a session that speaks on a connection of its own. */
interface Member {
  readonly daemon: Started;
  readonly talk: Conversation;
  readonly id: string;
  readonly cwd: string;
}

/** `payloads`: the folder of recorded events. */
export async function* storeDaemon(payloads: string): Tables {
  const postgres = await findPostgres();
  if ("missing" in postgres) throw new Error(postgres.missing);
  const server = await PostgresServer.start(postgres.bin, { isSafe: true });
  const bench = new Bench();
  try {
    const plainWrites = await Connection.open(server.address("kite"), 5_000, 30_000);
    await plainWrites.query("CREATE TABLE plain (seq bigserial PRIMARY KEY, command text)");
    const first = await member(bench, 0, server);
    yield await oneAtATime(first, plainWrites);
    const without = await member(bench, daemons, null);
    yield await edits(payloads, first, without);
    const others: Member[] = [];
    for (let n = 1; n < daemons; n += 1) others.push(await member(bench, n, server));
    yield await allAtOnce([first, ...others]);
    await plainWrites.end();
    await server.kill();
    const away = await edits(payloads, first, without);
    yield { ...away, title: `${away.title}, while the store is away` };
  } finally {
    await bench.end();
    server.end();
  }
}

/** Starts a daemon; with a server it shares its clone there. */
async function member(bench: Bench, n: number, server: PostgresServer | null): Promise<Member> {
  const [home, cwd] = [join(bench.dir, `home-${n}`), join(bench.dir, `clone-${n}`)];
  mkdirSync(home, { mode: 0o700 });
  for (const folder of ["objects", "refs"]) mkdirSync(join(cwd, ".git", folder), { recursive: true });
  writeFileSync(join(cwd, ".git", "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(cwd, ".git", "config"), '[remote "origin"]\n\turl = https://example.com/team/app.git\n');
  const store = server === null ? {} : { store: `postgresql://kite@127.0.0.1:${server.port}/postgres` };
  writeFileSync(join(home, "config.json"), JSON.stringify({ rescue: "off", ...store }), { mode: 0o600 });
  const daemon = await bench.start("kite-daemon", [home, "file"]);
  const socket = join(home, "kite.sock");
  if (server !== null) await share(socket, readFileSync(join(home, "person.token"), "utf8").trim(), cwd);
  const talk = await Conversation.at(socket);
  const id = sessionId(n);
  await answered(talk, { type: "register", id, cwd, name: `agent-${n}` });
  return { daemon, talk, id, cwd };
}

/** Shares the clone when the store is open. */
async function share(socket: string, person: string, cwd: string): Promise<void> {
  const talk = await Conversation.at(socket);
  await answered(talk, { type: "hello", person });
  for (let tries = 1; ; tries += 1) {
    const reply = await talk.ask({ type: "store_share", cwd });
    if (reply["ok"] === true) break;
    if (tries === openTriesMax || reply["code"] !== "store_away")
      throw new Error(`the clone is not shared: ${JSON.stringify(reply)}`);
    await delay(100);
  }
  talk.close();
}

async function answered(talk: Conversation, request: Readonly<Record<string, unknown>>): Promise<void> {
  const reply = await talk.ask(request);
  if (reply["ok"] !== true) throw new Error(`refused: ${JSON.stringify(reply)}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function create({ talk, id }: Member): Promise<void> {
  return answered(talk, { type: "task_create", id, description: "as long as a task's description is" });
}

async function oneAtATime(one: Member, writes: Connection): Promise<Table> {
  const { talk, id } = one;
  const text = "x".repeat(300);
  const all = await interleaved(rounds, {
    insert: () => timed(() => writes.query("INSERT INTO plain (command) VALUES ($1)", [text])),
    ping: () => timed(() => answered(talk, { type: "ping" })),
    create: () => timed(() => create(one)),
    claim: () => timed(() => answered(talk, { type: "task_claim", id })),
    // As many claims as a session may have are soon there.
    done: () => timed(() => finishClaim(one)),
  });
  const [insert, ping, made, claimed] = ["insert", "ping", "create", "claim"].map(name =>
    (all.get(name) ?? []).slice(warmRounds),
  );
  // Of each round: what disturbs a round disturbs all of it.
  const allowed = (insert ?? []).map((ms, i) => 1.5 * ms + (ping?.[i] ?? Number.NaN));
  return table(`a task of a store through one daemon, ${rounds} rounds`, [
    plain("an INSERT in a transaction of its own", insert ?? [], " ms"),
    plain("ping", ping ?? [], " ms"),
    plain("task_create", made ?? [], " ms"),
    plain("task_claim", claimed ?? [], " ms"),
    figure("task_create / (1.5 INSERT + ping), by rounds", ratio(made ?? [], allowed), { atMost: 1 }),
    figure("task_claim / (1.5 INSERT + ping), by rounds", ratio(claimed ?? [], allowed), { atMost: 1 }),
  ]);
}

/** Finishes what the session claimed last. */
async function finishClaim({ talk, id, cwd }: Member): Promise<void> {
  const reply = await talk.ask({ type: "query", target: "tasks", project: cwd, status: "active", limit: 1 });
  const rows = reply["rows"] as readonly { readonly id: string }[];
  await answered(talk, { type: "task_update", id, task: rows[0]?.id, status: "done" });
}

async function allAtOnce(members: readonly Member[]): Promise<Table> {
  const samples: number[] = [];
  const before = await cpuOf(members);
  const until = performance.now() + contendedMs;
  await Promise.all(
    members.map(async one => {
      while (performance.now() < until) samples.push(await timed(() => create(one)));
    }),
  );
  const cpuMs = (await cpuOf(members)) - before;
  return table(`task_create by ${members.length} daemons at once`, [
    plain("until it is answered", samples, " ms"),
    plain("tasks a second, of all", (samples.length * 1000) / contendedMs),
    // Each applies each task: on one machine that is what bounds them.
    plain("a task's processor time in one daemon", cpuMs / samples.length / members.length, " ms"),
  ]);
}

/** Returns the processor time of the daemons so far, in milliseconds. */
async function cpuOf(members: readonly Member[]): Promise<number> {
  const all = members.map(async ({ daemon: { child } }) => {
    const reply = heard(child, "kite-daemon");
    child.send("cpu");
    const { user, system } = (await reply) as NodeJS.CpuUsage;
    return (user + system) / 1_000;
  });
  return (await Promise.all(all)).reduce((sum, ms) => sum + ms, 0);
}

/** An edit's two events over the socket: what the hook's process costs is the same for both. */
async function edits(payloads: string, shared: Member, alone: Member): Promise<Table> {
  const recorded: object = JSON.parse(readFileSync(join(payloads, "PreToolUse--Write.json"), "utf8"));
  let uses = 0;
  const edit = ({ talk, id, cwd }: Member) => {
    uses += 1;
    const tool_input = { file_path: join(cwd, "a.ts"), content: "hello\n" };
    const event = { ...recorded, session_id: id, cwd, tool_use_id: `toolu_${uses}`, tool_input };
    return timed(async () => {
      for (const hook_event_name of ["PreToolUse", "PostToolUse"])
        await answered(talk, { type: "hook", event: { ...event, hook_event_name } });
    });
  };
  const all = await interleaved(rounds, { alone: () => edit(alone), shared: () => edit(shared) });
  const [without, withStore] = ["alone", "shared"].map(name => (all.get(name) ?? []).slice(warmRounds));
  return table(`an edit's events before and after it, over the socket, ${rounds} rounds`, [
    plain("without a store", without ?? [], " ms"),
    plain("with a store", withStore ?? [], " ms"),
    figure("with / without, by rounds", ratio(withStore ?? [], without ?? []), { atMost: 1.05 }),
  ]);
}
