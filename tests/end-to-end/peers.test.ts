/** What a session is told of the others: at its start the nearest first, at a prompt what changed. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import type { Message } from "./daemon.ts";
import { GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();

beforeAll(() => w.start("deny", claudeCode));
afterAll(() => w.dispose());

async function context(session: string, cwd: string, fields: object): Promise<string[]> {
  const said = await w.event(session, cwd, fields);
  return said === "" ? [] : JSON.parse(said).hookSpecificOutput.additionalContext.split("\n");
}

const start = (session: string, cwd: string) =>
  context(session, cwd, { hook_event_name: "SessionStart", source: "startup" });

async function reply(request: Readonly<Record<string, unknown>>): Promise<Message> {
  const client = await w.client();
  const answer = await client.ask(request);
  expect(answer).toMatchObject({ ok: true });
  return answer;
}

async function ask(request: Readonly<Record<string, unknown>>): Promise<void> {
  await reply(request);
}

it("a start tells of the same files, the same directory, the same branch, then of the rest", async () => {
  const dir = w.repo("near");
  const tree = `${w.folder}/near-tree`;
  w.git(dir, "worktree", "add", "-qb", "other", tree);
  const join = (id: string, cwd: string) => ask({ type: "register", id, name: id, cwd });
  // The one seen last would come first if nothing else counted.
  for (const name of ["same-file", "same-file-elsewhere", "same-directory"]) {
    await join(name, name === "same-file-elsewhere" ? tree : dir);
  }
  await ask({ type: "file_lock", id: "same-file", file: `${dir}/src/c.ts` });
  await ask({
    type: "declare",
    id: "same-file-elsewhere",
    codeView: [{ file: "src/c.ts" }],
  });
  await ask({ type: "file_lock", id: "same-directory", file: `${dir}/src/new.ts` });
  await join("same-branch", `${dir}/src/deep`);
  await ask({ type: "file_lock", id: "same-branch", file: `${dir}/src/deep/d.ts` });
  await join("far", tree);
  await ask({ type: "file_lock", id: "far", file: `${tree}/b.ts` });
  await join("me", dir);
  await ask({ type: "declare", id: "me", codeView: [{ file: "src/c.ts" }] });
  const names = (await start("me", dir)).flatMap(line => /^- "([^"]+)"/.exec(line)?.[1] ?? []);
  expect(names).toEqual(["same-file", "same-file-elsewhere", "same-directory", "same-branch", "far"]);
});

it("a session without files of its own is nearest to those in its directory", async () => {
  const dir = w.repo("dirs");
  for (const [id, cwd] of [
    ["beside", `${dir}/src`],
    ["above", dir],
  ] as const) {
    await ask({ type: "register", id, name: id, cwd });
  }
  const lines = await start("in-src", `${dir}/src`);
  expect(lines.slice(2).map(line => line.slice(0, 10))).toEqual(['- "beside"', '- "above",']);
});

it("a prompt tells what changed in the work of others, once, and nothing else", async () => {
  const dir = w.repo("news");
  const prompt = async () =>
    (await context("pia", dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" })).slice(2);
  const register = (id: string) => ask({ type: "register", id, name: id, cwd: dir });
  await register("old");
  expect((await start("pia", dir)).join("\n")).toContain('"old"');
  expect(await prompt()).toEqual([]);
  // Who is only there is no news; nor is what the session itself did.
  await register("new");
  await ask({ type: "context_set", id: "pia", key: "own", value: 1 });
  expect(await prompt()).toEqual([]);
  await ask({ type: "file_lock", id: "old", file: `${dir}/src/` });
  await ask({ type: "context_set", id: "old", key: "port", value: 1 });
  const { task } = await reply({ type: "task_create", id: "new", description: "Write it" });
  const { id: write } = task as { id: string };
  await ask({ type: "task_claim", id: "new", task: write });
  const lines = await prompt();
  expect(lines).toEqual([
    expect.stringMatching(/^- "new", branch "main", idle, works on "Write it"$/),
    expect.stringMatching(/^- "old", branch "main", idle, keeps "src\/" \(.+\) locked$/),
    '- shared values, to be read with kite context get KEY: "port"',
  ]);
  expect(await prompt()).toEqual([]);
  await ask({ type: "task_update", id: "new", task: write, status: "done", result: "written" });
  await ask({ type: "deregister", id: "old" });
  expect(await prompt()).toEqual([
    '- "new", branch "main", idle',
    '- ended: "old"',
    '- finished by "new": "Write it": "written"',
  ]);
  expect(await prompt()).toEqual([]);
});

it("a session keeps what it locked also while an agent of its own edits it", async () => {
  const dir = w.repo("lent");
  await ask({ type: "register", id: "tom", name: "tom", cwd: dir });
  await ask({ type: "file_lock", id: "tom", file: `${dir}/a.ts` });
  const prompt = async () =>
    (await context("una", dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" })).slice(2);
  const keeps = expect.stringMatching(/^- "tom", branch "main", .+, keeps "a.ts" \(.+\) locked$/);
  expect(await prompt()).toEqual([keeps]);
  const agent = { agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" };
  await w.event("tom", dir, { hook_event_name: "SubagentStart", ...agent });
  const edit = { tool_name: "Edit", tool_input: { file_path: `${dir}/a.ts` }, tool_use_id: "toolu_1" };
  expect(await w.event("tom", dir, { hook_event_name: "PreToolUse", ...edit, ...agent })).toBe("");
  const { rows } = await reply({ type: "query", target: "locks", id: "tom" });
  expect(rows).toMatchObject([{ holder: { agent: agent.agent_id } }]);
  expect(await prompt()).toEqual([]);
  expect((await start("una", dir)).slice(2)).toEqual([keeps]);
  await w.event("tom", dir, { hook_event_name: "SubagentStop", ...agent });
  expect(await prompt()).toEqual([]);
});

it("a session that was told nothing yet, as after a restart, is told once what others do", async () => {
  const dir = w.repo("restart");
  for (const id of ["rob", "idle"]) await ask({ type: "register", id, name: id, cwd: dir });
  await ask({ type: "file_lock", id: "rob", file: `${dir}/a.ts` });
  const prompt = () => context("sue", dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" });
  for (let n = 0; n < 2; n += 1) {
    const [head, , ...lines] = await prompt();
    expect(head).toBe("Kite: what other agents of this project do.");
    expect(lines).toEqual([
      expect.stringMatching(/^- "rob", branch "main", idle, keeps "a.ts" \(.+\) locked$/),
    ]);
    expect(await prompt()).toEqual([]);
    await w.stop();
    await w.start("deny", claudeCode);
  }
});
