/**
 * Merges that come back to authors of the real client whose turn is over: a background session that Kite spawned, and a
 * session in a person's terminal. Kite wakes them, and they read why; one that is not woken any more is marked.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { LeadWorld } from "./lead-world.ts";
import { programs } from "./programs.ts";
import { call, say } from "./script.ts";

const unread = "bob has not read that its merge came back";

let all: LeadWorld;

beforeEach(async () => {
  all = await LeadWorld.create(programs, { files: { "shared.txt": "one\n" }, check: "! grep -q BAD *.txt" });
});
afterEach(() => all.dispose());

const bash = (id: string, command: string) => call(id, "Bash", { command, description: "Do it" });
const commit = (id: string, text: string) => bash(id, `echo ${text} > shared.txt && git commit -qam ${text}`);

/** The base goes another way. */
function changeBase(): void {
  all.world.write("shared.txt", "otherwise\n");
  all.git("commit", "-qam", "otherwise");
}

/** Starts the agent, whose script is beside an idle lead's, and resolves when its turn is over. */
async function spawned(script: Parameters<LeadWorld["start"]>[0]): Promise<void> {
  await all.start([say("I rest.")], { bob: script });
  await all.kite("spawn", "[[agent:bob]] Do it.", "--name", "bob", "--wait");
  await all.agent("bob", ({ state }) => state === "idle");
}

const oneLine = async (...args: string[]) => (await all.kite(...args)).replaceAll(/\s+/g, " ");

test("an idle background agent is woken by a conflict, reads which, mends it, and is merged", async () => {
  await spawned([
    commit("toolu_commit", "two"),
    say("Done."),
    bash("toolu_mend", "git merge -q -X ours -m mended master"),
    say("Mended."),
  ]);
  changeBase();
  expect(await all.mergeReturns("bob")).toContain(`${unread}; Kite has told it`);
  await all.model.asked(4, "bob");
  const read = [...all.model.prompts, ...all.model.notes].join("\n");
  expect(read).toMatch(/worktree-bob was not merged into master .*Files: shared\.txt/);
  expect(all.model.result("toolu_mend")).toMatchObject({ isError: false });
  expect(await oneLine("agents")).not.toContain("has not read");
  await all.agent("bob", ({ state }) => state === "idle");
  expect(await all.kite("merge", "bob")).toMatch(/^merged +worktree-bob/m);
  expect(all.world.read("shared.txt")).toBe("two\n");
});

test("an author is woken by red checks as often as Kite may, then marked until a person's word reaches it", async () => {
  const wakes = Array.from({ length: limits.wakesMax }, () => say("I cannot mend it."));
  await spawned([commit("toolu_commit", "BAD"), say("Done."), ...wakes, say("Now I know.")]);
  for (const [n] of wakes.entries()) {
    expect(await all.mergeReturns("bob")).toContain(`${unread}; Kite has told it`);
    await all.model.asked(3 + n, "bob");
    await all.agent("bob", ({ state }) => state === "idle");
  }
  const what = `${unread}; it is idle, and goes on only when prompted: type a word to it in kite agents attach bob`;
  expect(await all.mergeReturns("bob")).toContain(what);
  expect(await oneLine("agents")).toContain(what);
  expect(await oneLine("status")).toContain(what);

  const before = all.model.notes.length;
  const terminal = all.attach("bob");
  await terminal.shows("cannot");
  terminal.type("Look!");
  await terminal.shows("Look!");
  terminal.type("\r");
  await all.model.asked(3 + wakes.length, "bob");
  await terminal.close();
  expect(all.model.notes.slice(before).join("\n")).toMatch(/worktree-bob was not merged into master .*words/);
  expect(await oneLine("agents")).not.toContain("has not read");
  expect(await oneLine("status")).not.toContain("has not read");
});

test("an idle session in a person's terminal is woken by the merge of its worktree that comes back", async () => {
  const lead = await all.start([commit("toolu_commit", "two"), say("Done."), say("I shall mend it.")], {}, [
    "--worktree",
    "feature",
  ]);
  await lead.asked(2);
  while (!(await all.world.status()).sessions.some(s => s.id === lead.id && s.status === "idle"));
  changeBase();
  expect(await all.mergeReturns("worktree-feature")).toContain(
    "lead has not read that its merge came back; Kite has told it",
  );
  await lead.asked(3);
  const read = [...lead.model.prompts, ...lead.model.notes].join("\n");
  expect(read).toMatch(/worktree-feature was not merged into master .*Files: shared\.txt/);
  expect(await oneLine("status")).not.toContain("has not read");
});
