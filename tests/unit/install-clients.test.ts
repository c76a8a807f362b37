/** What an install puts into the files of Codex, Copilot and Gemini CLI. */

import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { codexEvents, copilotEvents, geminiEvents } from "../../hooks/clients/clients.ts";
import {
  addServer,
  codexEntries,
  hasServer,
  hasTrust,
  removeServer,
  removeTrust,
  tablesOf,
} from "../../hooks/install/codex.ts";
import { copilotHooks } from "../../hooks/install/copilot.ts";
import { geminiEntries } from "../../hooks/install/gemini.ts";
import { limits } from "../../protocol/limits.ts";

// What Kite has in Codex's config.toml: added behind all else, and taken out again.
describe("Codex's config.toml", () => {
  const bin = "/home/ana/.kite/bin";
  const program = `${bin}/mcp`;
  const block = `[mcp_servers.kite]\ncommand = "${program}"\n`;

  /** Texts as people and the client leave them. */
  const texts: Readonly<Record<string, string>> = {
    empty: "",
    "comments alone": "# mine\n",
    settings:
      '# mine\nmodel = "gpt-5.5" # the model\n\n[mcp_servers]\n# docs\n[mcp_servers."docs"]\ncommand = \'docs\'\n',
    "a byte order mark and CRLF": '\uFEFFmodel = "x"\r\n[a]\r\nb = 1\r\n',
    "a header's form in a list": 'args = [\n  ["a"],\n  [\n    "mcp_servers.kite" ]\n]\n[other]\nx = 1\n',
    "a header's form in texts":
      'a = """\n[mcp_servers.kite]\n\\"""\n"""\nb = \'\'\'\n[mcp_servers.kite]\n\'\'\'\nc = "\\"["\n[d]\n',
    "lists of tables": "[[mcp]]\na = { b = [1, { c = 2 }] }\n[[mcp]]\n",
    "a comment with brackets and quotes": "# it's \"[\nx = 1 # it's [\n[y]\n",
  };

  describe("the server of Kite's tools", () => {
    test.each(Object.keys(texts))("is added behind %s, and taken out to the byte", name => {
      const text = texts[name] ?? "";
      const eol = text.includes("\r\n") ? "\r\n" : "\n";
      const added = addServer(text, program, bin);
      expect(added).toBe(text + (text === "" ? "" : eol) + block.replaceAll("\n", eol));
      expect(hasServer(text, bin)).toBe(false);
      expect(hasServer(added, bin)).toBe(true);
      expect(addServer(added, program, bin)).toBe(added);
      expect(removeServer(added, bin)).toBe(text);
    });

    test("is put right where Kite's folder was another", () => {
      const old = `x = 1\n\n[mcp_servers.kite]\ncommand = "${bin}/old"\nargs = ["mcp"]\n`;
      expect(addServer(old, program, bin)).toBe(`x = 1\n\n${block}`);
    });

    test("goes with what the client keeps below it, and leaves the comments of what follows", () => {
      const text = `x = 1\n\n${block}\n[mcp_servers.kite.tools.kite_lock]\napproval_mode = "approve"\n\n# mine\n[other]\ny = 1\n`;
      expect(removeServer(text, bin)).toBe("x = 1\n\n# mine\n[other]\ny = 1\n");
    });

    test.each([
      ["another one has the name", '[mcp_servers.kite]\ncommand = "other"\n', "another kind"],
      ["the servers stand in braces", 'mcp_servers = { docs = { command = "x" } }\n', "in a form"],
      ["one stands with a dotted key", 'mcp_servers.kite.command = "x"\n', "in a form"],
      ["the name stands in the servers' table", '[mcp_servers]\nkite = { command = "x" }\n', "in a form"],
      ["a list is not closed", "x = [1,\n[a]\n", "no valid TOML"],
      ["a text is not closed", 'x = """\n[a]\n', "no valid TOML"],
    ])("is refused where %s", (_what, text, why) => {
      expect(() => addServer(text, program, bin)).toThrow(why);
    });
  });

  test("the client's notes on its trust go by their keys, with the table around them once it is empty", () => {
    const note = (key: string) => `[hooks.state."${key}"]\ntrusted_hash = "sha256:1"\n`;
    const text = `x = 1\n\n[hooks.state]\n\n${note("/h/hooks.json:stop:0:0")}\n${note("/h/hooks.json:stop:1:0")}`;
    const mine = (key: string) => key.endsWith(":1:0");
    expect(removeTrust(text, mine)).toBe(`x = 1\n\n[hooks.state]\n\n${note("/h/hooks.json:stop:0:0")}`);
    expect(removeTrust(text, () => true)).toBe("x = 1\n");
    expect(removeTrust(text, () => false)).toBe(text);
    expect(hasTrust(text, ["/h/hooks.json:stop:0:0"])).toBe(true);
    expect(hasTrust(text, ["/h/hooks.json:stop:0:9"])).toBe(false);
  });

  test("a table's name is read in each of its forms", () => {
    const text = '[a."b.c".\'d\'] # e\n  [ f . g ]\n[[h]]\n["i\\"j"]\n';
    expect(tablesOf(text).map(({ path }) => path)).toEqual([["a", "b.c", "d"], ["f", "g"], ["h"], ['i"j']]);
  });
});

describe("Codex's hooks", () => {
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
});

// The entries of clients that deny a call when a hook's program is missing, and count time in units of their own.
describe("the entries of Copilot and Gemini CLI", () => {
  describe("Copilot's file", () => {
    const { version, hooks } = copilotHooks(null);

    test("has one entry an event, with its time in seconds", () => {
      expect(version).toBe(1);
      expect(Object.keys(hooks)).toEqual(copilotEvents.map(({ event }) => event));
      for (const { event, timeoutMs, matcher } of copilotEvents)
        expect(hooks[event]).toMatchObject([
          { type: "command", timeoutSec: timeoutMs / 1000, ...(matcher && { matcher }) },
        ]);
    });

    test("gives the write more time than the longest wait, and names the client", () => {
      expect(hooks["PreToolUse"]?.[0]).toMatchObject({
        timeoutSec: 30,
        bash: expect.stringMatching(/^set -- 17000 '' '' copilot; /),
      });
    });
  });

  test("Gemini CLI's entries have a name, and their time in milliseconds", () => {
    const groups = new Map(geminiEntries(null));
    expect([...groups.keys()]).toEqual(geminiEvents.map(({ event }) => event));
    expect(groups.get("BeforeTool")).toEqual({
      matcher: "^(?:write_file|replace|run_shell_command|mcp_kite_.*)$",
      hooks: [{ name: "kite", type: "command", command: expect.any(String), timeout: 30_000 }],
    });
  });

  test.each(["/bin/sh", "/bin/bash"])(
    "where Kite is gone, an entry ends with 0 and says nothing: %s",
    shell => {
      const commands = [
        ...Object.values(copilotHooks(null).hooks).flatMap(entries => entries.map(({ bash }) => bash)),
        ...geminiEntries(null).flatMap(([, { hooks }]) => hooks.map(hook => Reflect.get(hook, "command"))),
      ];
      for (const command of new Set(commands)) {
        const env = { PATH: process.env["PATH"] ?? "", KITE_HOME: "/nowhere/kite", HOME: "/nowhere" };
        const { status, stdout, stderr } = spawnSync(shell, ["-c", command], {
          env,
          input: "{}",
          encoding: "utf8",
        });
        expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
      }
    },
  );
});
