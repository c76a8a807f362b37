import { expect, test } from "vitest";
import { codexEvents } from "../../hooks/clients/clients.ts";
import { codexEntries } from "../../hooks/install/codex.ts";
import { limits } from "../../protocol/limits.ts";

const behind = `codex; f=\${KITE_HOME:-$HOME/.kite}/bin/hook; [ ! -r "$f" ] || . "$f"`;

test("each entry has the command that people have trusted, to the letter", () => {
  const commands = codexEntries(null).flatMap(([event, { hooks }]) => hooks.map(entry => [event, entry]));
  expect(commands).toEqual([
    ["SessionStart", { type: "command", command: `set -- 3000 '' '' ${behind}`, timeout: 6 }],
    ["UserPromptSubmit", { type: "command", command: `set -- 1000 '' '' ${behind}`, timeout: 3 }],
    ["PreToolUse", { type: "command", command: `set -- 52000 '' '' ${behind}`, timeout: 75 }],
    ["PermissionRequest", { type: "command", command: `set -- 1000 '' '' ${behind}`, timeout: 3 }],
    ["PostToolUse", { type: "command", command: `set -- 5000 '' '' ${behind}`, timeout: 7 }],
    ["SubagentStart", { type: "command", command: `set -- 1000 '' '' ${behind}`, timeout: 3 }],
    ["SubagentStop", { type: "command", command: `set -- 1000 '' '' ${behind}`, timeout: 3 }],
    ["Stop", { type: "command", command: `set -- 1000 '' '' ${behind}`, timeout: 3 }],
    ["Interrupt", { type: "command", command: `set -- 1000 '' '' ${behind}`, timeout: 3 }],
    ["SessionEnd", { type: "command", command: `set -- 1000 '' '' ${behind}`, timeout: 3 }],
  ]);
  const matchers = codexEntries(null).flatMap(([event, { matcher }]) =>
    matcher === undefined ? [] : [[event, matcher]],
  );
  expect(matchers).toEqual([
    ["PreToolUse", "^(?:apply_patch|Bash|mcp__kite__.*)$"],
    ["PostToolUse", "^(?:apply_patch|Bash)$"],
  ]);
});

test("another home is named in each command", () => {
  const commands = codexEntries("/srv/ana's kite/bin").map(([, { hooks }]) => JSON.stringify(hooks));
  for (const command of commands)
    expect(JSON.parse(command)[0].command).toContain(
      `codex; f='/srv/ana'\\''s kite/bin/hook'; [ ! -r "$f" ]`,
    );
});

test("a hook answers before its client lets the tool run, and a wait fits in", () => {
  for (const { budgetMs, timeoutMs } of codexEvents) expect(timeoutMs).toBeGreaterThan(budgetMs);
  const before = codexEvents.find(({ event }) => event === "PreToolUse");
  expect(before?.budgetMs).toBeGreaterThan(limits.hookWaitMs);
});
