/** What an agent and its user said last, from the transcript that the client keeps. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lastMessages } from "../../bin/lead/spawn/look.ts";

const at = "2026-11-22T14:02:03.000Z";
const line = (type: string, content: unknown, more = {}) =>
  JSON.stringify({ type, timestamp: at, message: { role: type, content }, ...more });

const transcript = [
  '{"half',
  line("user", "Mend the importer"),
  line("user", "<local-command>", { isMeta: true }),
  line("assistant", [{ type: "thinking", thinking: "hm" }]),
  line("assistant", [{ type: "tool_use", name: "Edit", input: {} }]),
  line("user", [{ type: "tool_result", tool_use_id: "t", content: "ok" }]),
  line("assistant", [{ type: "text", text: "Done.\nIt had lost a row." }]),
  JSON.stringify({ type: "api-request" }),
  "",
].join("\n");

test("of its session alone: words, else the tools that it uses; no result, thought or mark of the client", async () => {
  const home = mkdtempSync(join(tmpdir(), "kite-messages-"));
  const env = { CLAUDE_CONFIG_DIR: home };
  try {
    expect(await lastMessages(env, "s-1")).toBeNull();
    mkdirSync(join(home, "projects/-other"), { recursive: true });
    mkdirSync(join(home, "projects/-shop"));
    writeFileSync(join(home, "projects/-shop/s-1.jsonl"), transcript);
    expect(await lastMessages(env, "s-1")).toEqual([
      { by: "prompt", at, text: "Mend the importer" },
      { by: "agent", at, text: "uses Edit" },
      { by: "agent", at, text: "Done.\nIt had lost a row." },
    ]);
    expect(await lastMessages(env, "../s-1")).toBeNull();
    expect(await lastMessages(env, null)).toBeNull();
  } finally {
    rmSync(home, { recursive: true });
  }
});

test("a long transcript is read from its end, and shows the last ten", async () => {
  const home = mkdtempSync(join(tmpdir(), "kite-messages-"));
  try {
    mkdirSync(join(home, "projects/-shop"), { recursive: true });
    const long = Array.from({ length: 3_000 }, (_, n) =>
      line("assistant", [{ type: "text", text: `${n} ${"x".repeat(400)}` }]),
    );
    writeFileSync(join(home, "projects/-shop/s-1.jsonl"), long.join("\n"));
    const said = await lastMessages({ CLAUDE_CONFIG_DIR: home }, "s-1");
    expect(said?.map(({ text }) => text.split(" ")[0])).toEqual(
      Array.from({ length: 10 }, (_, n) => `${2_990 + n}`),
    );
  } finally {
    rmSync(home, { recursive: true });
  }
});
