import { readFileSync } from "node:fs";
import { call, Moment, say } from "./script.ts";
import type { ClaudeSession } from "./session.ts";
import { type Programs, World } from "./world.ts";

/**
 * What Kite adds to a call of a tool, seen by the real client: the time from the model's answer, which has the call,
 * to the next request, which has its result. One session each with no hooks, with none once more (what differs
 * between these two is noise), with Kite, and with a hook that is a Node process which does nothing; they take turns
 * in short blocks, so that whatever else the machine does falls on all of them.
 */
const tools = ["Read", "Bash", "Edit", "TaskUpdate"] as const;
type Tool = (typeof tools)[number];

const blocks = 12;
/** The first call of a block still feels what the session before left behind, and does not count. */
const callsPerBlock = 6;
/** Turns of the model before the first block. */
const before = 3;
const turns = blocks * tools.length * callsPerBlock;

const variants = ["none", "again", "kite", "node"] as const;
type Variant = (typeof variants)[number];

interface Runner {
  readonly session: ClaudeSession;
  readonly moments: readonly Moment[];
  readonly times: Readonly<Record<Tool, number[]>>;
}

const [claude = "", kite = ""] = process.argv.slice(2);
const worlds: World[] = [];
try {
  const runners = new Map<Variant, Runner>();
  for (const variant of variants) runners.set(variant, await start(variant, { claude, kite }));
  let turn = 0;
  for (let block = 0; block < blocks; block += 1) {
    for (const tool of tools) {
      for (let i = 0; i < variants.length; i += 1) {
        const runner = runners.get(variants[(i + block) % variants.length] ?? "none");
        if (runner !== undefined) await run(runner, tool, turn);
      }
      turn += callsPerBlock;
    }
    process.stderr.write(`block ${block + 1} of ${blocks}\n`);
  }
  console.log(`\nKite's hook: ${hookOf(worlds[variants.indexOf("kite")])}`);
  report(variant => runners.get(variant)?.times);
} finally {
  await Promise.all(worlds.map(world => world.dispose()));
}

async function start(variant: Variant, programs: Programs): Promise<Runner> {
  const world = await World.create(programs, variant === "kite");
  worlds.push(world);
  if (variant === "kite") await world.up();
  world.write("file.txt", "word 0\n");
  const moments = Array.from({ length: turns }, () => new Moment());
  const idle = { type: "command", command: process.execPath, args: ["-e", "0"] };
  const hooks = { PreToolUse: [{ matcher: tools.join("|"), hooks: [idle] }] };
  const session = await world.session(
    variant,
    [
      call("toolu_read", "Read", { file_path: world.path("file.txt") }),
      call("toolu_tools", "ToolSearch", { query: "select:TaskCreate,TaskUpdate" }),
      call("toolu_task", "TaskCreate", { subject: "measure", description: "the calls" }),
      ...moments.map((moment, index) => moment.before(turnOf(world, index))),
      say("Done."),
    ],
    {
      limitMs: 900_000,
      settings: {
        permissions: { allow: ["Bash"] },
        // The client offers its task list only to some models.
        env: { CLAUDE_CODE_ENABLE_TODO_TOOLS: "1" },
        ...(variant === "node" ? { hooks } : {}),
      },
    },
  );
  await session.asked(before + 1);
  return { session, moments, times: { Read: [], Bash: [], Edit: [], TaskUpdate: [] } };
}

/** The calls of one block after the other, each a different edit. */
function turnOf(world: World, index: number) {
  const tool = tools[Math.floor(index / callsPerBlock) % tools.length] ?? "Read";
  const file_path = world.path("file.txt");
  const input = {
    Read: { file_path },
    Bash: { command: "true" },
    Edit: { file_path, old_string: `word ${edits(index)}`, new_string: `word ${edits(index) + 1}` },
    TaskUpdate: { taskId: "1", status: "in_progress" },
  };
  return call(`toolu_${index}`, tool, input[tool]);
}

/** How many edits come before this turn. */
function edits(index: number): number {
  const perRound = callsPerBlock * tools.length;
  return Math.floor(index / perRound) * callsPerBlock + (index % callsPerBlock);
}

async function run({ session, moments, times }: Runner, tool: Tool, from: number): Promise<void> {
  for (let i = from; i < from + callsPerBlock; i += 1) {
    const answeredMs = performance.now();
    moments[i]?.reached();
    await session.asked(i + before + 2);
    const { isError, text } = session.model.result(`toolu_${i}`);
    if (isError) throw new Error(`${tool} failed: ${text}`);
    if (i > from) times[tool].push((session.model.askedAtMs[i + before + 1] ?? Number.NaN) - answeredMs);
  }
}

/** The hook client that `kite install` chose: the last path in the entry for edits. */
function hookOf(world: World | undefined): string {
  const settings =
    world === undefined ? "{}" : readFileSync(world.path(".claude/settings.local.json"), "utf8");
  const words: unknown[] = JSON.parse(settings).hooks?.PreToolUse?.[0]?.hooks?.[0]?.args ?? [];
  return String(words.findLast(word => String(word).startsWith("/")) ?? "none");
}

function report(timesOf: (variant: Variant) => Runner["times"] | undefined): void {
  const calls = blocks * (callsPerBlock - 1);
  console.log(`median ms from a call to its result, ${calls} calls each; Node ${process.version}\n`);
  console.log("            no hooks   noise   Kite adds   node -e 0 adds   share");
  for (const tool of tools) {
    const of = (variant: Variant) => median(timesOf(variant)?.[tool] ?? []);
    const base = (of("none") + of("again")) / 2;
    const [noise, ours, theirs] = [Math.abs(of("none") - of("again")), of("kite") - base, of("node") - base];
    const share = `${((ours / theirs) * 100).toFixed(0)} %`;
    const cells = [base, noise, ours, theirs].map(ms => ms.toFixed(1));
    const widths = [8, 8, 12, 17];
    console.log(
      `${tool.padEnd(12)}${cells.map((c, i) => c.padStart(widths[i] ?? 0)).join("")}${share.padStart(8)}`,
    );
  }
}

function median(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
