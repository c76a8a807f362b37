import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { nodeProber, type Prober } from "../../daemon/facts/prober.ts";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import { GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();
let onTeamRead = () => {};
const prober: Prober = {
  ...nodeProber,
  readSmall: async (path, bytesMax) => {
    const text = await nodeProber.readSmall(path, bytesMax);
    if (path.endsWith("/config.json")) onTeamRead();
    return text;
  },
};
beforeAll(() => w.start("deny", claudeCode, { outside: new BudgetedFs(prober) }));
afterAll(() => w.dispose());

it("a task is given to a member whose call to begin it is heard just behind", async () => {
  const lead = "1234abcd-lead";
  const client = join(w.folder, "claude");
  const repo = w.repo("shop");
  const files = {
    "teams/session-1234abcd/config.json": { name: "session-1234abcd", leadSessionId: lead, members: [] },
    "tasks/session-1234abcd/1.json": { id: "1", subject: "s", status: "pending", blockedBy: [] },
  };
  for (const [path, value] of Object.entries(files)) {
    mkdirSync(join(client, path, ".."), { recursive: true });
    writeFileSync(join(client, path), JSON.stringify(value));
  }
  const call = (tool_name: string, tool_input: object) =>
    w.event(lead, repo, {
      ...{ hook_event_name: "PreToolUse", tool_name, tool_input, tool_use_id: `use-${tool_name}` },
      transcript_path: join(client, "projects", "p", `${lead}.jsonl`),
    });
  await w.event(lead, repo, { hook_event_name: "SessionStart", source: "startup" });
  expect(await call("TaskUpdate", { taskId: "1", owner: "eve" })).toContain("is no member");
  const read = new Promise<void>(resolve => {
    onTeamRead = resolve;
  });
  const give = call("TaskUpdate", { taskId: "1", owner: "cyd" });
  await read;
  await call("Agent", { name: "cyd", prompt: "go", description: "x" });
  expect(await give).toBe("");
});
