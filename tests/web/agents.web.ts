/** Spawned agents, merges, checks, teams, debates and declarations as a person sees them, live. */
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client, Message } from "../end-to-end/daemon.ts";
import { TeamFiles } from "../end-to-end/native-team.ts";
import { picture, Site } from "./browser.ts";
import { Repository } from "./repository.ts";
import { violations } from "./violations.ts";

const alice = "11111111-1111-4111-8111-111111111111";
const bob = "22222222-2222-4222-8222-222222222222";
const hash = "c".repeat(40);

let site: Site;
let shop: Repository;
let wire: Client;

/** Asks the daemon; throws if it refuses. */
async function ask(request: Message): Promise<Message> {
  const reply = await wire.ask({ project: shop.top, ...request });
  if (reply["ok"] !== true) throw new Error(JSON.stringify(reply));
  return reply;
}

beforeAll(async () => {
  site = await Site.start();
  shop = new Repository(site.home, "shop", ["src/a.ts"]);
  wire = await site.home.connectPerson();
  await shop.begin(alice, "alice", shop.top);
  await shop.begin(bob, "bob", shop.top);
});
afterAll(() => site.dispose());

test("shows an agent from its start to its end, and why it failed", async () => {
  const page = await site.view("agents");
  await page.getByText("No spawned agents. To start one").waitFor();
  await page.getByText("No merges.").waitFor();
  const { task } = await ask({ type: "task_create", id: alice, description: "Add paging" });
  const { spawn } = await ask({
    type: "spawn_create",
    id: alice,
    name: "paging",
    role: "tester",
    task: (task as { readonly id: string }).id,
    backend: "tmux",
    client: "codex",
    model: "small",
    prompt: "Add paging",
  });
  const { id } = spawn as { readonly id: string };
  const row = page.getByRole("row", { name: /paging/ });
  await row.waitFor();
  await ask({
    type: "spawn_update",
    spawn: id,
    worktree: join(shop.top, ".claude/worktrees/paging"),
    branch: "worktree-paging",
  });
  await page.getByText("worktree-paging").waitFor();
  const said = await row.innerText();
  for (const word of ["codex, small", "starting", "tester", "#1 Add paging", "in paging/", "alice"])
    expect(said).toContain(word);
  await picture(page, "agents-starting");
  await ask({
    type: "spawn_update",
    spawn: id,
    state: "failed",
    reason: "its client did not start: no such program",
  });
  await page.getByText("its client did not start: no such program").waitFor();
  expect(await row.innerText()).toContain("failed");
  expect(site.faults).toEqual([]);
});

test("shows the merges of a base in their order, and why one came back", async () => {
  const page = await site.view("agents");
  const base = "refs/heads/main";
  const branches = ["one", "two", "three"].map(name => ({
    branch: `refs/heads/${name}`,
    author: { id: bob },
  }));
  await ask({ type: "merge_queue", runner: "r", base, merges: branches });
  const merges = page.getByRole("region", { name: "Merges into main in shop" });
  await merges.waitFor();
  const lines = () => merges.locator("tbody tr").allInnerTexts();
  expect((await lines()).map(line => /one|two|three/.exec(line)?.[0])).toEqual(["one", "two", "three"]);
  const { merge } = await ask({ type: "merge_take", runner: "r", base });
  await merges.getByText("running").waitFor();
  const reason = { code: "red_check", text: "test is red", files: [], more: 0, output: "1 test failed" };
  const { id } = merge as { readonly id: string };
  await ask({ type: "merge_report", runner: "r", run: 1, merge: id, outcome: { is: "returned", reason } });
  await merges.getByText("test is red").waitFor();
  const [first = "", , last = ""] = await lines();
  expect(first).toContain("two");
  for (const word of ["one", "returned", "1 test failed", "bob has not read that its merge came back"])
    expect(last).toContain(word);
  const state = { worktree: shop.top, commit: hash, dirty: "d".repeat(40), files: 2, ranMs: 5 };
  await ask({ type: "check_record", id: alice, name: "test", command: hash, exit: 1, ...state });
  const checks = page.getByRole("region", { name: "Checks" });
  await checks.waitFor();
  expect(await checks.innerText()).toMatch(
    /test[\s\S]*last red at ccccccc \+ 2 changed files, exit code 1, .* ago, by alice/,
  );
  await picture(page, "agents-merges");
  expect(await violations(page)).toEqual([]);
  expect(site.faults).toEqual([]);
});

test("shows teams with what is wrong, debates with what they lack, and who declared the same file", async () => {
  const page = await site.view("teams");
  for (const none of [
    "No team of Claude Code",
    "No debates.",
    "No agent has another role",
    "No agent declared",
  ])
    await page.getByText(none).waitFor();
  const files = new TeamFiles(dirname(site.home.work), alice);
  files.config("in-process", "mate");
  files.tasks({ id: "1", subject: "Draw the page", status: "in_progress", owner: "ghost" });
  const transcript_path = join(files.home, "projects", "p", `${alice}.jsonl`);
  await shop.event(alice, shop.top, {
    transcript_path,
    hook_event_name: "UserPromptSubmit",
    prompt: "go on",
  });
  const team = page.getByRole("region", { name: /^Team / });
  await team.waitFor();
  for (const word of ["led by alice", "mate", "Draw the page", "ghost"])
    expect(await team.innerText()).toContain(word);

  const hypotheses = [
    { name: "race", claim: "two write at once" },
    { name: "leak", claim: "no memory is left" },
  ];
  await ask({ type: "debate_open", id: alice, question: "Why does it hang?", hypotheses });
  const debates = page.getByRole("region", { name: "Debates" });
  await debates.waitFor();
  await ask({ type: "debate_challenge", id: bob, debate: "1", hypothesis: "race", text: "Only one writes." });
  await debates.getByText("1 challenge, unanswered: 1").waitFor();
  expect(await debates.innerText()).toMatch(/Why does it hang\?[\s\S]*1 unanswered, 1 unchallenged/);
  await ask({ type: "debate_close", debate: "1", verdict: "leak", because: "the log shows it", force: true });
  await debates.getByText("because the log shows it").waitFor();

  const view = (will: string) => ({ codeView: [{ file: "src/a.ts", sees: "a query", will }] });
  await ask({ type: "declare", id: alice, identity: { role: "reviewer" }, ...view("add a cursor") });
  await ask({ type: "declare", id: bob, understanding: { task: "Page the list" }, ...view("rename it") });
  const declarations = page.getByRole("region", { name: "Declarations" });
  await declarations.getByText("Declared by two agents").waitFor();
  const overlap = await declarations.locator("li.dispute").innerText();
  for (const word of ["src/a.ts", "alice", "bob"]) expect(overlap).toContain(word);
  const roles = page.getByRole("region", { name: "Roles" });
  await roles.waitFor();
  expect(await roles.innerText()).toMatch(/alice[\s\S]*reviewer[\s\S]*declared[\s\S]*no edits/);
  await picture(page, "teams");
  expect(await violations(page)).toEqual([]);
  expect(site.faults).toEqual([]);
});
