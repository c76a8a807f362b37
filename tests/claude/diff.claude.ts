/** With the real client: what each agent wrote and nothing else, and the tokens that its transcript counts. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
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
  const who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
  const env = { PATH: process.env["PATH"], HOME: tmpdir(), GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", [...who, ...args], { cwd: world.repository, env, encoding: "utf8" });
}

const write = (id: string, file: string, content: string): Turn =>
  call(id, "Write", { file_path: world.path(file), content });
const read = (id: string, file: string): Turn => call(id, "Read", { file_path: world.path(file) });

interface Diff {
  readonly file: string;
  readonly how: string;
  readonly diff: string;
}

async function diffs(...args: string[]): Promise<readonly string[]> {
  const answer = JSON.parse(await world.kite("diff", ...args, "--json")) as { diffs: readonly Diff[] };
  return answer.diffs.map(({ file, how, diff }) => `${how} ${file} ${/^\+.*$/m.exec(diff)?.[0]}`);
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
