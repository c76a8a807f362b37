import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventTable } from "../../hooks/codex/rows.ts";
import { limits } from "../../protocol/limits.ts";

const chapter = readFileSync(new URL("../../bin/man/install.md", import.meta.url), "utf8");
const [, text = ""] = /^```json\n(\{"hooks": .*?)^```/ms.exec(chapter) ?? [];

test("the manual has an entry for each event, in the order of the table and with its times", () => {
  const entries = Object.entries<unknown>(JSON.parse(text).hooks);
  const program = `f=\${KITE_HOME:-$HOME/.kite}/bin/hook; [ ! -r "$f" ] || . "$f"`;
  expect(entries).toEqual(
    eventTable.map(({ event, matcher, budgetMs, timeoutMs }) => {
      const command = `set -- ${budgetMs} '' '' codex; ${program}`;
      const hooks = [{ type: "command", command, timeout: timeoutMs / 1000 }];
      return [event, [{ ...(matcher === undefined ? {} : { matcher }), hooks }]];
    }),
  );
});

test("a hook answers before its client lets the tool run, and a wait fits in", () => {
  for (const { budgetMs, timeoutMs } of eventTable) expect(timeoutMs).toBeGreaterThan(budgetMs);
  const before = eventTable.find(({ event }) => event === "PreToolUse");
  expect(before?.budgetMs).toBeGreaterThan(limits.hookWaitMs);
});
