/** What only a person may do, and what a command asks first. */
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
import { beforeEach, describe, expect, it } from "vitest";
import { rename } from "../../bin/agents/agents.ts";
import { commands } from "../../bin/command-table.ts";
import { down } from "../../bin/commands/daemon.ts";
import { isYes, type PersonsDeed, personOnly } from "../../bin/context/person.ts";
import type { ProcessContext } from "../../bin/context/process-context.ts";
import { fixAll } from "../../bin/doctor/doctor.ts";
import { repair } from "../../bin/doctor/repair.ts";
import type { Check, Fix } from "../../bin/doctor/results.ts";
import { add as addDebate } from "../../bin/lead/debates.ts";
import { release } from "../../bin/lead/release.ts";
import { stop } from "../../bin/lead/spawn/replace.ts";
import { set } from "../../bin/tasks/change.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { fakeDaemon, fakeWorld, runWords } from "./command-world.ts";
import { busy, session } from "./view-rows.ts";

// The table of what only a person may do: an agent's shell is refused each row, in one way, and changes nothing.

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
  own: ["commit", "-m", "all"],
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

/** `doctor` says it of its steps, and goes on: see below. */
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

// What a command does of what it asks about: nothing without a yes.
describe("what a command asks first", () => {
  const noes = ["n", "N", "no", "", " ", "yn", "yesno", "oui"];
  const yeses = ["y", "Y", "yes", " YES "];

  it("a yes is a whole word", () => {
    expect(noes.filter(isYes)).toEqual([]);
    expect(yeses.filter(isYes)).toEqual(yeses);
  });

  describe("a fix of kite doctor", () => {
    let done: readonly string[] = [];
    let asked = 0;

    beforeEach(() => {
      done = [];
      asked = 0;
    });

    const who = { ask: null, isQuiet: true, isAgent: false };
    const check = (does: string, more: Partial<Fix> = {}): Check => {
      const work = () => {
        done = [...done, does];
        return "";
      };
      return { check: does, result: "fail", detail: "", fix: { does, work, ...more } };
    };
    const answers =
      (...all: readonly string[]) =>
      async () => {
        asked += 1;
        return all[asked - 1] ?? "";
      };

    it.each(noes)("that is answered with %j is not done", async answer => {
      const world = fakeWorld();
      const again = () => Promise.reject(new Error("nothing was done, so nothing is checked again"));
      const { steps } = await fixAll(
        world,
        [check("a")],
        { ...who, ask: answers(answer), isQuiet: false },
        again,
      );
      expect([asked, done, steps]).toEqual([1, [], []]);
      expect(world.out()).not.toContain("done");
    });

    it.each(yeses)("that is answered with %j is done", async answer => {
      const { steps } = await fixAll(
        fakeWorld(),
        [check("a")],
        { ...who, ask: answers(answer) },
        async () => [],
      );
      expect([done, steps]).toEqual([["a"], [{ fix: "a" }]]);
    });

    it("is asked about by itself, and not again once it was answered", async () => {
      const all = () => ["a", "b", "c"].map(does => check(does));
      const ask = answers("n", "y", "n");
      const { steps } = await fixAll(fakeWorld(), all(), { ...who, ask }, async () => all());
      expect([asked, done, steps]).toEqual([3, ["b"], [{ fix: "b" }]]);
    });

    const kinds = [check("own"), check("up", { byAgents: true }), check("drop", { givesUp: true })];

    it("that gives up what is stored is not done with --yes, and that is said", async () => {
      const { steps } = await fixAll(fakeWorld(), kinds, { ...who, ask: null }, async () => []);
      expect(done).toEqual(["own", "up"]);
      expect(steps[2]?.failed).toMatch(/^--yes does not stand for this: .*; run it yourself: drop$/);
    });

    it("that concerns others is not done by an agent, and the line for its user is said", async () => {
      const world = fakeWorld();
      const agent = { ask: null, isQuiet: false, isAgent: true };
      const { steps } = await fixAll(world, kinds, agent, async () => []);
      expect(done).toEqual(["up"]);
      expect(steps.map(({ failed }) => failed)).toEqual(
        ["own", undefined, "drop"].map(line =>
          line === undefined
            ? line
            : expect.stringMatching(new RegExp(`^only a person does this step; .*: ${line}$`)),
        ),
      );
      expect(world.out()).toContain("only a person does this step");
    });
  });

  describe("a command that is answered with no", () => {
    const no = async () => "n";

    it("stops no daemon", async () => {
      const home = temporaryFolder("kite-down-");
      const sessions = { ok: true, rows: busy.sessions };
      const whoami = { ok: false, code: "unknown_session", error: "none" };
      const daemon = fakeDaemon({ whoami, "query sessions": sessions });
      const world = fakeWorld({ daemon, home });
      expect(await down(world, {}, no)).toBe(1);
      expect(world.out()).toContain("The daemon goes on.");
      expect(daemon.asked.map(({ type }) => type)).toEqual(["whoami", "query"]);
      // It would keep hooks from starting the next one.
      expect(existsSync(world.paths.downFile)).toBe(false);
    });

    it("changes no damaged journal", async () => {
      const home = temporaryFolder("kite-repair-");
      const world = fakeWorld({ home });
      const { journal } = world.paths;
      mkdirSync(home, { recursive: true });
      cpSync(fileURLToPath(new URL("../fixtures/journals/0.1.0/journal", import.meta.url)), journal, {
        recursive: true,
      });
      for (const name of readdirSync(journal)) {
        if (!name.endsWith(".log")) continue;
        const bytes = readFileSync(join(journal, name));
        bytes[20] = (bytes[20] ?? 0) ^ 1;
        writeFileSync(join(journal, name), bytes);
      }
      const files = () =>
        readdirSync(journal).map(name => [name, readFileSync(join(journal, name), "latin1")]);
      const before = files();
      expect(await repair(world, {}, no)).toBe(1);
      expect(world.out()).toContain("Nothing was changed.");
      expect(files()).toEqual(before);
      expect(readdirSync(home).filter(name => name.includes("damaged"))).toEqual([]);
    });
  });
});

// What an agent's shell is told that hides its session: words that fit the command.
describe("an agent's shell that hides its session", () => {
  type Run = (world: ProcessContext) => Promise<number>;

  const commands: readonly (readonly [name: string, run: Run, what: string, tool: string | null])[] = [
    ["kite rename", world => rename(world, "calm", "alice", {}), "renames a session", null],
    ["kite release", world => release(world, "alice", {}), "gives back what an agent has", null],
    ["kite agents stop", world => stop(world, "alice", false), "stops an agent", null],
    [
      "kite debate close --force",
      world =>
        runWords(world, addDebate, ["debate", "close", "1", "--verdict", "a", "--because", "b", "--force"]),
      "forces a debate to close",
      null,
    ],
    ["kite task done", world => set(world, "1", "done", null, {}), "ends a task", "kite_task_complete"],
  ];

  describe("an agent's shell without a session's name", () => {
    it.each(commands)("%s is told what fits it", async (_name, run, what, tool) => {
      const daemon = fakeDaemon();
      const world = fakeWorld({ daemon, env: { CLAUDECODE: "1" } });
      expect(await run(world)).toBe(1);
      expect(world.err()).toContain(`only a person ${what} without a session's name`);
      expect(world.err().match(/kite_\w+/g)).toEqual(tool === null ? null : [tool]);
      expect(daemon.asked).toEqual([]);
    });
  });
});

// `kite release`: who may run it without a session's name.

describe("kite release", () => {
  it("counts an agent's shell without a session's name as no person", async () => {
    const daemon = fakeDaemon();
    const world = fakeWorld({ daemon, env: { CLAUDECODE: "1" } });
    expect(await release(world, "ann", {})).toBe(1);
    expect(world.err()).toContain("only a person gives back what an agent has without a session's name");
    expect(daemon.asked).toEqual([]);
  });

  it("takes the beginning of a name, of this project's agents alone, and a whole id of any", async () => {
    const here = { project: "/home/ana/code/shop" };
    const rows = [
      session("calm-otter", here),
      session("tidy-wolf", here),
      session("calm-wren", { id: "whole-id", project: "/srv/x" }),
    ];
    const agent = { id: "x", agent: null, name: "x" };
    const given = { ok: true, agent, tasks: [], taskCount: 0, paths: [], lockCount: 0 };
    const daemon = fakeDaemon({ "query sessions": { ok: true, rows }, agent_release: given });
    const ask = async (name: string, cwd = here.project) => {
      const world = { ...fakeWorld({ daemon, env: { KITE_SESSION: "lead" } }), cwd };
      const code = await release(world, name, {});
      return code === 0 ? daemon.asked.at(-1)?.["of"] : world.err();
    };
    expect(await ask("calm")).toBe("calm-otter-0000-4000");
    expect(await ask("calm-wren")).toContain("no agent is called calm-wren; active: calm-otter, tidy-wolf");
    expect(await ask("whole-id")).toBe("whole-id");
    expect(await ask("calm-wren", "/nobody/works/here")).toContain("no agent is called calm-wren");
    expect(await ask("whole-id", "/nobody/works/here")).toBe("whole-id");
  });
});
