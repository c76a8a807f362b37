import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parentAgent } from "../../daemon/facts/facts.ts";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { nodeProber } from "../../daemon/facts/prober.ts";
import { agentFile } from "../../hooks/claude-code/adapter.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const folder = join(temporaryFolder("kite-agent-"), "projects", "p", "s", "subagents");
mkdirSync(folder, { recursive: true });

test("an agent's parent is what the client's file says, or none; what cannot be read now is not none", async () => {
  const file = join(folder, "agent-1.meta.json");
  const outside = new BudgetedFs();
  expect(await parentAgent(outside, [agentFile], file)).toBeNull();
  writeFileSync(file, '{"parentAgentId":"helper"}');
  expect(await parentAgent(outside, [agentFile], file)).toBe("helper");
  expect(await parentAgent(outside, [agentFile], "/etc/passwd")).toBeNull();
  const failing = {
    ...nodeProber,
    readSmall: () => Promise.reject(Object.assign(new Error("no"), { code: "EIO", syscall: "open" })),
  };
  expect(await parentAgent(new BudgetedFs(failing), [agentFile], file)).toMatchObject({
    unreachable: expect.stringContaining("EIO"),
  });
});
