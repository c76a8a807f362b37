/** Agents that work for one another in one checkout: what a wiping line of one may do to the work of the others. */

import { existsSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LineWorld, read } from "./guard-scene.ts";
import { firstCommit } from "./guard-world.ts";

const w = new LineWorld();
beforeAll(() => w.start());
afterAll(() => w.dispose());

const helper = { agent_id: "a1234567890abcde1", agent_type: "Explore" };
const sibling = { agent_id: "a1234567890abcde2", agent_type: "Plan" };

let count = 0;
let dir = "";
let main = "";

/** A whole edit of an agent of the session. */
async function edits(agent: object, file: string, text: string): Promise<void> {
  count += 1;
  const call = { tool_name: "Write", tool_input: { file_path: `${dir}/${file}` }, tool_use_id: `k${count}` };
  expect(await w.event(main, dir, { hook_event_name: "PreToolUse", ...call, ...agent })).toBe("");
  w.put(dir, file, text);
  await w.event(main, dir, { hook_event_name: "PostToolUse", tool_response: {}, ...call, ...agent });
}

/** What an agent of the session reads of its line; a line that is let through runs to its end. */
async function runs(agent: object, command: string): Promise<string> {
  count += 1;
  const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: `k${count}` };
  const said = await w.event(main, dir, { hook_event_name: "PreToolUse", ...call, ...agent });
  if (said.includes('"deny"')) return read(said);
  w.shell(dir, command);
  const end = { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 5, ...call, ...agent };
  await w.event(main, dir, end);
  return read(said);
}

/** What the session's main agent is told with its next prompt. */
async function told(): Promise<string> {
  return read(await w.event(main, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" }));
}

beforeEach(async () => {
  count += 1;
  main = `main${count}`;
  dir = w.copy(`kin${count}`, { "a.ts": "old\n", "b.ts": "old\n" }, firstCommit);
  await w.event(main, dir, { hook_event_name: "SessionStart", source: "startup" });
  await edits({}, "a.ts", "main's\n");
  await w.event(main, dir, { hook_event_name: "SubagentStart", ...helper });
});

describe("a subagent's line over work of its main agent", () => {
  it.each(["git checkout -- a.ts", "git checkout .", "git reset -q --hard", "git stash -q", "git restore ."])(
    "is refused once, runs when it is sent again, and the main agent is told: %s",
    async line => {
      const said = await runs(helper, line);
      expect(said).toContain("did not run yet");
      expect(said).toMatch(/"a\.ts" has uncommitted changes of "[^"]+", for whom you work,/);
      expect(said).toContain("send exactly the same command again: it will run");
      expect(w.read(dir, "a.ts")).toBe("main's\n");
      expect(await runs(helper, line)).toBe("");
      expect(w.read(dir, "a.ts")).toBe("old\n");
      expect(await told()).toMatch(
        /your uncommitted work was (?:wiped|removed)|removed your uncommitted work/,
      );
    },
  );

  it("asks again when the main agent has written since", async () => {
    expect(await runs(helper, "git checkout -q .")).toContain("did not run yet");
    await edits({}, "a.ts", "main's second\n");
    expect(await runs(helper, "git checkout -q .")).toContain("did not run yet");
    expect(await runs(helper, "git checkout -q .")).toBe("");
  });

  it("is refused once of a plain command, too", async () => {
    const said = await runs(helper, "rm a.ts");
    expect(said).toContain("did not run yet: `rm` in it may wipe uncommitted work");
    expect(said).toContain("send exactly the same command again: it will run");
    expect(existsSync(`${dir}/a.ts`)).toBe(true);
    expect(await runs(helper, "rm a.ts")).toBe("");
    expect(existsSync(`${dir}/a.ts`)).toBe(false);
  });

  it("runs at once where it takes only the subagent's own work, or commits", async () => {
    await edits(helper, "b.ts", "helper's\n");
    expect(await runs(helper, "git checkout -q -- b.ts")).toBe("");
    await edits(helper, "b.ts", "helper's\n");
    expect(await runs(helper, "git commit -qam both")).toBe("");
  });

  it("names its own part alone where both wrote", async () => {
    await edits(helper, "b.ts", "helper's\n");
    expect(await runs(helper, "git checkout .")).toContain(
      "to take back your own lines alone: kite undo --all b.ts\n",
    );
  });
});

describe("the main agent's line", () => {
  it("is denied over work of a subagent that is at work, and free over an ended one's", async () => {
    await edits(helper, "b.ts", "helper's\n");
    expect(await runs({}, "git checkout -q -- b.ts")).toContain("did not run: ");
    await w.event(main, dir, { hook_event_name: "SubagentStop", ...helper });
    expect(await runs({}, "git checkout -q -- b.ts")).toBe("");
    expect(w.read(dir, "b.ts")).toBe("old\n");
  });
});

it("a sibling's work is a stranger's", async () => {
  await w.event(main, dir, { hook_event_name: "SubagentStart", ...sibling });
  await edits(sibling, "b.ts", "sibling's\n");
  const said = await runs(helper, "git checkout -q -- b.ts");
  expect(said).toContain("did not run: ");
  expect(await runs(helper, "git checkout -q -- b.ts")).toContain("did not run: ");
});
