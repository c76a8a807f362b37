/** With the real client: what each agent wrote and nothing else, and the tokens that its transcript counts. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import type { Turn } from "./model.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import { World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  world.write("ann.txt", "ann.txt\n");
  world.write("sub.txt", "sub.txt\n");
  git("add", "ann.txt", "sub.txt");
  git("commit", "-qm", "first");
  await world.up();
  return () => world.dispose();
});

function git(...args: string[]): string {
  return gitIn(world.repository, ...args);
}

function gitIn(cwd: string, ...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
  const env = { PATH: process.env["PATH"], HOME: tmpdir(), GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", [...who, ...args], { cwd, env, encoding: "utf8" });
}

const write = (id: string, file: string, content: string): Turn =>
  call(id, "Write", { file_path: world.path(file), content });
const read = (id: string, file: string): Turn => call(id, "Read", { file_path: world.path(file) });

interface Diff {
  readonly worktree: string;
  readonly file: string;
  readonly was: string | null;
  readonly isText: boolean;
  readonly how: string;
  readonly diff: string;
}

interface Answer {
  readonly diffs: readonly Diff[];
  readonly unseen: readonly string[];
}

async function answer(...args: string[]): Promise<Answer> {
  return JSON.parse(await world.kite("diff", ...args, "--json"));
}

/** A file with its old name and the first line that it got, in short. */
function short({ how, was, file, isText, diff }: Diff): string {
  const name = was === null ? file : `${was} → ${file}`;
  return `${how} ${name} ${isText ? /^\+.*$/m.exec(diff)?.[0] : "no text"}`;
}

async function diffs(...args: string[]): Promise<readonly string[]> {
  return (await answer(...args)).diffs.map(short);
}

/** Counts a client's transcripts as a person would: each message once, by its last record. */
function countedByHand(
  wanted: RegExp,
  folder: string,
): { readonly output: number; readonly messages: number } {
  const last = new Map<string, number>();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(one =>
    wanted.test(one),
  ))
    for (const line of readFileSync(join(folder, name), "utf8").trim().split("\n")) {
      const { type, message } = JSON.parse(line);
      if (type === "assistant" && message.usage !== undefined)
        last.set(message.id, message.usage.output_tokens);
    }
  return { output: [...last.values()].reduce((a, b) => a + b, 0), messages: last.size };
}

test("a diff and the tokens of two sessions and a subagent, before a commit and after it", async () => {
  const agent = { description: "Edit", prompt: "Edit it.", subagent_type: "general-purpose" };
  const looked = new Moment();
  const ann = await world.session("ann", [
    read("toolu_1", "ann.txt"),
    write("toolu_2", "ann.txt", "ann.txt\nby ann\n"),
    call("toolu_3", "Agent", { ...agent, run_in_background: false }),
    read("toolu_4", "sub.txt"),
    write("toolu_5", "sub.txt", "sub.txt\nby sub\n"),
    say("Done, for the session."),
    looked.before(say("Done.")),
  ]);
  await ann.asked(7);
  const bob = await world.session("bob", [write("toolu_b", "bob.txt", "by bob\n"), say("Done.")]);
  expect(await bob.ended).toBe(0);
  const { sessions } = await world.status();
  const name = sessions.find(({ id }) => id === ann.id)?.name ?? "";
  const rows = JSON.parse(await world.kite("whose", "--json")) as {
    writes: { file: string; writers: { agent: string | null; name: string }[] }[];
  };
  const sub = rows.writes.find(({ file }) => file === "sub.txt")?.writers[0];
  expect(await diffs(name)).toEqual(["changed ann.txt +by ann"]);
  expect(await diffs(sub?.name ?? "")).toEqual(["changed sub.txt +by sub"]);
  expect(await diffs(bob.id)).toEqual(["added bob.txt +by bob"]);
  git("add", "ann.txt", "bob.txt");
  git("commit", "-qm", "two of three");
  expect(await diffs(name)).toEqual([]);
  expect(await diffs(name, "--commit")).toEqual(["changed ann.txt +by ann"]);
  expect(await diffs(bob.id, "--commit")).toEqual(["added bob.txt +by bob"]);
  expect(await diffs(sub?.name ?? "", "--commit")).toEqual([]);
  looked.reached();
  expect(await ann.ended).toBe(0);

  const { tokens } = JSON.parse(await world.kiteFor("ann", "explain", "--agent", ann.id, "--json"));
  const projects = join(dirname(world.repository), "ann/.claude/projects");
  const own = countedByHand(new RegExp(`^[^/]+/${ann.id}\\.jsonl$`), projects);
  const agents = countedByHand(new RegExp(`^[^/]+/${ann.id}/subagents/.*\\.jsonl$`), projects);
  expect(own.messages).toBeGreaterThan(3);
  expect(agents.messages).toBeGreaterThan(1);
  expect(tokens.own).toMatchObject({ tokens: { output: own.output }, messages: own.messages });
  expect(tokens.agents).toMatchObject({ tokens: { output: agents.output }, messages: agents.messages });
});

/** What one session of two writes: a file that it renames, a binary file and a new one; and one by a program. */
function worksIn(cwd: string, name: string): Turn[] {
  const turn = (n: number, tool: string, input: Readonly<Record<string, unknown>>) =>
    call(`toolu_${name}_${n}`, tool, input);
  const writes = (n: number, file: string, content: string) =>
    turn(n, "Write", { file_path: join(cwd, file), content });
  return [
    turn(1, "Read", { file_path: join(cwd, "ann.txt") }),
    writes(2, "ann.txt", `ann.txt\nby ${name}\n`),
    turn(3, "Bash", { command: "git mv ann.txt moved.txt && echo > made.txt", description: "Move it" }),
    writes(4, "image", `${name}\0\u0001`),
    writes(5, "new.txt", `by ${name}\n`),
  ];
}

test("a diff of sessions in two worktrees, over a rename, a binary file and a new one", async () => {
  const second = join(dirname(world.repository), "second");
  git("worktree", "add", "-q", second);
  await world.kite("install", "--project", second);
  const settings = { permissions: { allow: ["Bash"] } };
  const looked = new Moment();
  const places = { ann: world.repository, bob: second };
  const ids: string[] = [];
  for (const [name, cwd] of Object.entries(places)) {
    const script = [...worksIn(cwd, name), looked.before(say("Done."))];
    const session = await world.session(name, script, { cwd, settings });
    await session.asked(6);
    writeFileSync(join(cwd, "sub.txt"), "sub.txt\nby hand\n");
    ids.push(session.id);
  }
  const all = (...args: string[]) => Promise.all(ids.map(id => answer(id, ...args)));
  const wrote = [
    ["added image no text", "renamed ann.txt → moved.txt +by ann", "added new.txt +by ann"],
    ["added image no text", "renamed ann.txt → moved.txt +by bob", "added new.txt +by bob"],
  ];
  const before = await all();
  expect(before.map(one => one.diffs.map(short))).toEqual(wrote);
  for (const [n, { diffs, unseen }] of before.entries()) {
    expect(new Set(diffs.map(({ worktree }) => worktree))).toEqual(new Set([Object.values(places)[n]]));
    expect(unseen.filter(file => !file.startsWith(".claude/"))).toEqual(["made.txt", "sub.txt"]);
  }
  for (const cwd of Object.values(places)) {
    gitIn(cwd, "add", "moved.txt", "image", "new.txt", "made.txt");
    gitIn(cwd, "commit", "-qam", "all");
  }
  expect((await all()).map(one => one.diffs)).toEqual([[], []]);
  expect((await all("--commit")).map(one => one.diffs.map(short))).toEqual(wrote);
  looked.reached();
});
