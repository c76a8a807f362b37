/** The table of what only a person may do: an agent's shell is refused each row, in one way, and changes nothing. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { type PersonsDeed, personOnly } from "../../bin/context/person.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { fakeDaemon, fakeWorld, runWords } from "./command-world.ts";

/** What an agent types for each row. */
const lines: { readonly [Deed in PersonsDeed]: readonly [string, ...string[]] } = {
  role: ["role", "bob", "architect"],
  lead: ["spawn", "work", "--lead"],
  approve: ["task", "approve", "1"],
  pr: ["merge", "bob", "--pr"],
  trust: ["check", "--trust", "--yes"],
  revoke: ["check", "--trust", "--revoke"],
  config: ["config", "set", "treeGuard", "off"],
  store: ["store", "join", "postgresql://kite@127.0.0.1/kite", "--yes"],
  off: ["off"],
  down: ["down", "--yes"],
  empty: ["up", "--empty"],
  repair: ["repair", "--discard-after", "0"],
  fix: ["doctor", "--fix", "--yes"],
  install: ["install"],
  uninstall: ["uninstall", "--all"],
  go: ["go", "bob"],
  unlock: ["unlock", "--force", "a"],
  purge: ["rescue", "purge", "a"],
  rescue: ["rescue"],
  thaw: ["thaw"],
  freeze: ["freeze", "a"],
  spawn: ["spawn", "work"],
  stop: ["agents", "stop", "bob"],
  replace: ["agents", "replace", "bob"],
  prune: ["agents", "prune"],
  release: ["release", "bob"],
  rename: ["rename", "bob", "eve"],
  edit: ["task", "edit", "1", "--risk", "green"],
  finish: ["task", "done", "1"],
  import: ["task", "import", "tasks.json"],
  close: ["debate", "close", "1", "--verdict", "a", "--because", "b", "--force"],
};

/** `doctor` says it of its steps, and goes on: `command-questions.test.ts`. */
const rows = Object.entries(lines).filter(([deed]) => deed !== "fix") as [
  PersonsDeed,
  readonly [string, ...string[]],
][];

async function run(words: readonly [string, ...string[]], env: Record<string, string>) {
  const root = temporaryFolder("kite-person-");
  const home = join(root, ".kite");
  mkdirSync(join(home, "journal"), { recursive: true, mode: 0o700 });
  if (words[0] === "repair") {
    const journal = fileURLToPath(new URL("../fixtures/journals/0.1.0/journal", import.meta.url));
    cpSync(journal, join(home, "journal"), { recursive: true });
    for (const name of readdirSync(join(home, "journal")))
      if (name.endsWith(".log")) truncateSync(join(home, "journal", name), 10);
  }
  writeFileSync(
    join(root, "tasks.json"),
    JSON.stringify([{ id: "t-1-1", description: "a", status: "done" }]),
  );
  const before = filesOf(root);
  const daemon = fakeDaemon();
  const world = {
    ...fakeWorld({ home, env: { HOME: root, PATH: process.env["PATH"] ?? "", ...env }, daemon }),
    argv: ["node", "kite", ...words],
    cwd: root,
  };
  const { load } = commands[words[0]] ?? {};
  const { add } = (await load?.()) ?? {};
  if (add === undefined) throw new Error(`no command ${words[0]}`);
  const code = await runWords(world, (command, inCall) => add(command, inCall, commands), [
    ...words,
    "--json",
  ]);
  return { code, said: JSON.parse(world.out()), daemon, before, after: filesOf(root) };
}

function filesOf(root: string): Record<string, string> {
  const names = existsSync(root) ? readdirSync(root, { recursive: true, withFileTypes: true }) : [];
  const files = names.filter(one => one.isFile() && one.name !== "daemon.lock");
  return Object.fromEntries(
    files.map(one => [
      join(one.parentPath, one.name),
      readFileSync(join(one.parentPath, one.name), "latin1"),
    ]),
  );
}

describe("in an agent's shell", () => {
  it.each(rows)(
    "%s is refused with person_only, asks the daemon nothing and writes nothing",
    async (deed, words) => {
      const { code, said, daemon, before, after } = await run(words, { CLAUDECODE: "1" });
      expect([code, said]).toEqual([1, { ok: false, code: "person_only", error: expect.any(String) }]);
      expect(said.error).toContain(`only a person ${personOnly[deed].does}`);
      // Named rows tell the agent how it may; the others have the line for its user.
      const next = personOnly[deed].isNamed === true ? "leave KITE_SESSION" : "in a terminal of their own: ";
      expect(said.error).toContain(next);
      expect(daemon.asked).toEqual([]);
      expect(after).toEqual(before);
    },
  );

  it.each(rows.filter(([deed]) => personOnly[deed].isNamed !== true))(
    "%s is refused to an agent with its session's name, too",
    async (_deed, words) => {
      const { said } = await run(words, { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: "s1" });
      expect(said).toMatchObject({ ok: false, code: "person_only" });
    },
  );
});
