/** What keeping the agents' work costs: many versions read, listed and pruned without a stall. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonServices } from "../../daemon/requests/handler.ts";
import { Archive, labelOf, recordOf } from "../../daemon/rescue/archive.ts";
import { ContentStore, hashOf, IndexFile } from "../../daemon/rescue/contents.ts";
import { rescueTargets } from "../../daemon/rescue/listing.ts";
import type { Version } from "../../daemon/rescue/versions.ts";
import { Turns } from "../../daemon/server/call.ts";
import { page, placeIn } from "../../daemon/views/paging.ts";
import { limits } from "../../protocol/limits.ts";
import { Bench, heard, type Started } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";
import { ask } from "./talk.ts";

const versions = 100_000;
const files = 5_000;
const contents = 2_000;
const dayMs = 24 * 3_600_000;

/** `root` is the folder of the project: its sources are the files that agents edit here. */
export async function* rescue(root: string): Tables {
  const dir = mkdtempSync(join(tmpdir(), "kite-bench-rescue-"));
  try {
    yield await edits();
    yield await wipes();
    yield await hour(join(dir, "hour"), join(root, "daemon"));
    yield await manyVersions(join(dir, "many"));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const editBytes = 100_000;
const editsPerRound = 100;
const rounds = 5;

/** Edits of a long file, as a client's hooks tell them, by a daemon that keeps them and one that does not. */
async function edits() {
  const bench = new Bench();
  try {
    const [on, off] = [await editedBy(bench, "on"), await editedBy(bench, "off")];
    const samples = { on: [] as number[], off: [] as number[] };
    for (let round = 0; round <= rounds; round += 1) {
      const [x, y] = [await on(), await off()];
      // The first round is for the compilers.
      if (round === 0) continue;
      samples.on.push(x);
      samples.off.push(y);
    }
    const more = samples.on.map((ms, i) => ms - (samples.off[i] ?? Number.NaN));
    const words = `${editsPerRound} edits of ${editBytes / 1_000} kB, ${rounds} rounds`;
    return table(`processor time of the daemon an edit, ${words}`, [
      plain("rescue on", samples.on, " ms"),
      plain("rescue off", samples.off, " ms"),
      figure("the difference", more, { atMost: 1 }, " ms"),
    ]);
  } finally {
    await bench.end();
  }
}

/** Returns what makes a round of edits, and says how much of the processor's time the daemon took for one. */
async function editedBy(bench: Bench, setting: "on" | "off"): Promise<() => Promise<number>> {
  const { daemon, socket, cwd, person } = await daemonOf(bench, setting);
  const file = join(cwd, "long.ts");
  // All lines are of one length, and so is the file.
  const lineOf = (i: number, value: number) => `const value${i} = compute(${value});`.padEnd(39).concat("\n");
  const lines = Array.from({ length: editBytes / 40 }, (_, i) => lineOf(i, i * 7_919));
  const textOf = () => lines.join("");
  let n = 0;
  const edit = async () => {
    n += 1;
    const [old_string, new_string] = [lines[n % 2_000] ?? "", lineOf(n % 2_000, n + 1_000_000)];
    const before = textOf();
    lines[n % 2_000] = new_string;
    const tool_input = { file_path: file, old_string, new_string };
    const tool_response = {
      filePath: file,
      oldString: old_string,
      newString: new_string,
      originalFile: before,
    };
    const call = {
      session_id: "s1",
      cwd,
      prompt_id: "p",
      tool_name: "Edit",
      tool_use_id: `t${n}`,
      tool_input,
    };
    const event = (name: string, more: object = {}) => ({
      type: "hook",
      event: { ...call, hook_event_name: name, ...more },
    });
    await ask(socket, [event("PreToolUse")]);
    writeFileSync(file, textOf());
    await ask(socket, [event("PostToolUse", { tool_response })]);
    // Answered when the version is kept.
    await ask(socket, [person, { type: "query", target: "versions", limit: 1 }]);
  };
  return async () => {
    const before = await processorOf(daemon);
    for (let i = 0; i < editsPerRound; i += 1) await edit();
    return (await processorOf(daemon)) - before;
  };
}

/** A daemon with this setting, and a repository that its agents work in. */
async function daemonOf(bench: Bench, setting: "on" | "off") {
  const [home, cwd] = [join(bench.dir, setting), join(bench.dir, `work-${setting}`)];
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(cwd);
  writeFileSync(join(home, "config.json"), JSON.stringify({ rescue: setting }));
  writeFileSync(join(cwd, "long.ts"), "first\n");
  const git = ["init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm first"];
  for (const line of git) execFileSync("git", line.split(" "), { cwd });
  const daemon = await bench.start("kite-daemon", [home, "file"]);
  const person = { type: "hello", person: readFileSync(join(home, "person.token"), "utf8").trim() };
  return { daemon, socket: join(home, "kite.sock"), cwd, person };
}

/** Milliseconds of processor time of a daemon, for each edit of a round. */
async function processorOf(daemon: Started): Promise<number> {
  daemon.child.send("cpu");
  const { user, system } = (await heard(daemon.child, "its processor time")) as NodeJS.CpuUsage;
  return (user + system) / 1_000 / editsPerRound;
}

const dirtyFiles = 100;

/** The hook before a line that wipes files with uncommitted work, all of which are kept: the only one that waits for the store. */
async function wipes() {
  const bench = new Bench();
  try {
    const [on, off] = [await wipedBy(bench, "on"), await wipedBy(bench, "off")];
    const samples = { on: [] as number[], off: [] as number[] };
    for (let round = 0; round <= 40; round += 1) {
      const [x, y] = [await on(), await off()];
      if (round === 0) continue;
      samples.on.push(x);
      samples.off.push(y);
    }
    const more = samples.on.map((ms, i) => ms - (samples.off[i] ?? Number.NaN));
    return table(`the hook before git checkout . over ${dirtyFiles} files of the agent's own, wall time`, [
      plain("rescue on", samples.on, " ms"),
      plain("rescue off", samples.off, " ms"),
      figure("the difference", more, { atMost: 10 }, " ms"),
    ]);
  } finally {
    await bench.end();
  }
}

/** Returns what sends such a line's event and says how long its answer took. */
async function wipedBy(bench: Bench, setting: "on" | "off"): Promise<() => Promise<number>> {
  const { socket, cwd, person } = await daemonOf(bench, setting);
  const call = { session_id: "s1", cwd, prompt_id: "p" };
  let uses = 0;
  const event = (hook_event_name: string, fields: object) => {
    uses += 1;
    return { type: "hook", event: { ...call, hook_event_name, tool_use_id: `w${uses}`, ...fields } };
  };
  for (let n = 0; n < dirtyFiles; n += 1) {
    const tool_input = { file_path: join(cwd, `file-${n}.ts`), content: `file ${n}\n` };
    const write = { tool_name: "Write", tool_input, tool_response: {} };
    await ask(socket, [event("PreToolUse", write)]);
    writeFileSync(tool_input.file_path, tool_input.content);
    await ask(socket, [event("PostToolUse", write)]);
  }
  await ask(socket, [person, { type: "query", target: "versions", limit: 1 }]);
  return async () => {
    const began = performance.now();
    const line = { tool_name: "Bash", tool_input: { command: "git checkout ." } };
    await ask(socket, [event("PreToolUse", line)]);
    return performance.now() - began;
  };
}

const agents = 4;
/** Edits of an agent that is at work all the time: one in twenty seconds. */
const editsPerHour = 180;

/** What the store takes for an hour of edits of real sources, each of a few lines. */
async function hour(dir: string, sources: string) {
  const names = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter(name =>
    name.endsWith(".ts"),
  );
  mkdirSync(dir, { recursive: true });
  const store = new ContentStore(dir);
  await store.open();
  const texts = new Map(names.slice(0, 60).map(name => [name, readFileSync(join(sources, name), "utf8")]));
  const known = [...texts.keys()];
  let [seed, written, stored] = [1, 0, 0];
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const seen = new Set<string>();
  for (let n = 0; n < agents * editsPerHour; n += 1) {
    const name = known[random(known.length)] ?? "";
    const lines = (texts.get(name) ?? "").split("\n");
    const at = random(lines.length);
    const added = Array.from(
      { length: 1 + random(8) },
      (_, i) => `  const added${n}${i} = read(${random(9_999)});`,
    );
    lines.splice(at, random(6), ...added);
    const content = Buffer.from(lines.join("\n"));
    texts.set(name, content.toString());
    const hash = await hashOf(content);
    written += content.length;
    if (!seen.has(hash)) stored += await store.put(hash, content, labelOf(versionOf(n, name, 0), 1), null);
    seen.add(hash);
  }
  return table(
    `the store after an hour: ${agents} agents, ${agents * editsPerHour} edits of ${known.length} files`,
    [
      plain("bytes written by the tools", written / 1_000_000, " MB"),
      plain("bytes in the store", stored / 1_000_000, " MB"),
      figure("store / written", stored / written, { atMost: 0.5 }),
      plain("hours until the store is full", limits.rescueStoreBytes / stored, " h"),
    ],
  );
}

async function manyVersions(dir: string) {
  const nowMs = 100 * dayMs;
  await writeMany(dir, nowMs);
  const archive = new Archive({
    dir,
    wall: () => nowMs,
    dirtyPaths: () => new Set(),
    onTrouble: message => {
      throw new Error(message);
    },
    bounds: { bytesMax: 1e12, versionsMax: versions / 2, keptMs: 14 * dayMs },
  });
  const read = await stallOf(() => archive.open());
  const listed = await stallOf(() => list(archive));
  const before = archive.versions.size;
  const pruned = await stallOf(async () => void (await archive.prune()));
  const gone = before - archive.versions.size;
  await archive.close();
  return table(`${versions.toLocaleString("en")} versions of ${files.toLocaleString("en")} files`, [
    plain("read at a start", read.ms, " ms"),
    figure("longest stall meanwhile", read.stallMs, { atMost: 50 }, " ms"),
    plain("listed, in pages of 1,000", listed.ms, " ms"),
    figure("longest stall meanwhile", listed.stallMs, { atMost: 50 }, " ms"),
    plain(`${gone.toLocaleString("en")} of them pruned`, pruned.ms, " ms"),
    figure("longest stall meanwhile", pruned.stallMs, { atMost: 50 }, " ms"),
  ]);
}

async function writeMany(dir: string, nowMs: number): Promise<void> {
  mkdirSync(dir, { recursive: true });
  const store = new ContentStore(dir);
  await store.open();
  const stored: { readonly hash: string; readonly storedBytes: number; readonly sizeBytes: number }[] = [];
  for (let n = 0; n < contents; n += 1) {
    const content = Buffer.from(`content ${n}\n`.repeat(20));
    const hash = await hashOf(content);
    stored.push({ hash, storedBytes: await store.put(hash, content, {}, null), sizeBytes: content.length });
  }
  function* records() {
    for (let i = 0; i < versions; i += 1) {
      const [file, content] = [`src/part-${i % 97}/file-${i % files}.ts`, stored[i % contents]];
      if (content === undefined) throw new Error("no content");
      yield recordOf({ ...versionOf(i, file, nowMs - (versions - i) * 10_000), ...content });
    }
  }
  const index = new IndexFile(join(dir, "index"), error => {
    throw error;
  });
  await index.rewrite(records());
  await index.close();
}

function versionOf(i: number, file: string, atMs: number): Version {
  return {
    ...{ n: i + 1, path: `/w/shop/${file}`, file, worktree: "/w/shop", project: "/w/shop" },
    by: { session: `s${i % 8}`, agent: null, name: `agent-${i % 8}` },
    ...{ tool: "Edit", kind: "write", atMs, base: "0".repeat(40), mode: 0o644, added: 3, taken: 1 },
    ...{ asSent: false, sizeBytes: 0, storedBytes: 0, hash: "0".repeat(64) },
  };
}

/** Reads all rows as a client does that asks for page after page. */
async function list(archive: Archive): Promise<void> {
  const turns = new Turns();
  const services = {
    rescue: { archive, settled: async () => {} },
    engine: { state: { sessions: { live: new Map() } } },
    facts: null,
  };
  let from = null;
  for (;;) {
    const rows = await rescueTargets.versions.open(services as unknown as DaemonServices, { from });
    const wanted = { wanted: () => true, from, max: limits.rowsMax };
    const text = await turns.make({ isClosed: false }, page(rows(), wanted));
    const { next } = JSON.parse(text ?? "{}") as { readonly next?: string };
    if (next === undefined) return;
    const place = placeIn(next);
    if (place === "nowhere") throw new Error(`${next} is no place`);
    from = place;
  }
}

/**
 * How long it takes, and the most processor time meanwhile between two turns of the event loop: what else runs on the machine
 * makes a turn longer, and is no stall of this process.
 */
async function stallOf(
  work: () => Promise<void>,
): Promise<{ readonly ms: number; readonly stallMs: number }> {
  let stallMs = 0;
  let last = processorMs();
  let isOver = false;
  const turn = () => {
    const now = processorMs();
    stallMs = Math.max(stallMs, now - last);
    last = now;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  turn();
  isOver = true;
  return { ms, stallMs };
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
