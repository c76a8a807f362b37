/** Completion of the command line, by the command that the scripts call, and in the three shells. */
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { shellWord } from "../../protocol/text.ts";
import { Home } from "./daemon.ts";

const launcher = fileURLToPath(new URL("../../bin/kite", import.meta.url));

let home: Home;

beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

const words = async (...line: string[]) =>
  (await home.kite("complete", "--", ...line)).split("\n").flatMap(one => one.split("\t")[0] || []);

/** Alice of this project holds a file; there are a ready task and an active one. */
async function atWork() {
  await home.start();
  const alice = await home.session("alice", { project: home.work });
  await alice.ask({ type: "file_lock", id: "alice", file: "auth.ts" });
  await alice.ask({ type: "file_lock", id: "alice", file: "my notes.txt" });
  const task = async (description: string) => {
    const reply = await alice.ask({ type: "task_create", id: "alice", description });
    return (reply["task"] as { readonly id: string }).id;
  };
  const [active, ready] = [await task("one"), await task("two\u0007")];
  await alice.ask({ type: "task_claim", id: "alice", task: active });
  return { active, ready };
}

describe("kite complete", () => {
  test("knows commands, their subcommands and options, without a daemon", async () => {
    expect(await words("sta")).toEqual(["status", "stats", "statusline"]);
    expect(await words("help", "unl")).toEqual(["unlock"]);
    expect(await words("")).not.toContain("complete");
    expect(await words("task", "cl")).toEqual(["claim"]);
    expect(await words("task", "claim", "--js")).toEqual(["--json"]);
    expect(await words("install", "--hook-program", "")).toEqual(["perl", "node"]);
    expect(await words("uninstall", "--client", "c")).toEqual(["claude-code", "codex", "copilot"]);
    expect(await words("completion", "")).toEqual(["bash", "zsh", "fish"]);
  });

  test("offers nothing where files, other programs' words or free text belong, and without a daemon", async () => {
    for (const line of [
      ["lock", ""],
      ["lock", "a", "--", "unl"],
      ["nothing", ""],
      ["unlock", ""],
      ["task", "add", ""],
    ])
      expect(await words(...line)).toEqual([]);
  });

  test("knows sessions, tasks by their state, and locked files", async () => {
    const { active, ready } = await atWork();
    expect(await words("agent", "")).toEqual(["alice"]);
    expect(await words("agent", "b")).toEqual([]);
    expect(await words("message", "send", "al")).toEqual(["alice"]);
    expect(await words("off", "--session", "")).toEqual(["alice"]);
    expect(await words("task", "claim", "")).toEqual(["2"]);
    expect(await words("task", "done", "")).toEqual(["1"]);
    expect(await words("task", "show", "t-")).toEqual([active, ready]);
    expect(await words("task", "show", active, "")).toEqual([]);
    expect(await words("unlock", "")).toEqual(["auth.ts", "my notes.txt"]);
    expect(await words("unlock", "auth.ts", "my")).toEqual(["my notes.txt"]);
    expect(await home.kite("complete", "--", "task", "claim", "")).toBe("2\ttwo\n");
  });
});

/** Runs a shell with `kite` in its PATH, and returns what it printed. */
function shell(name: string, args: readonly string[]): string {
  const bin = join(home.work, "bin");
  mkdirSync(bin);
  symlinkSync(launcher, join(bin, "kite"));
  const env = { ...home.environment, PATH: `${bin}:${home.environment["PATH"]}`, TERM: "dumb" };
  const { stdout, stderr } = spawnSync(name, args, {
    env,
    cwd: home.work,
    encoding: "utf8",
    timeout: 60_000,
  });
  expect(stderr).toBe("");
  return stdout;
}

const has = (name: string) => spawnSync(name, ["-c", "true"]).status === 0;

/** What each shell does; a machine need not have all of them. */
const inShells: readonly (readonly [shell: string, does: string, check: () => Promise<void>])[] = [
  [
    "bash",
    "completes words, and quotes them",
    async () => {
      await atWork();
      const line = (...typed: string[]) =>
        `COMP_WORDS=(kite ${typed.map(word => `'${word}'`).join(" ")}); COMP_CWORD=${typed.length}; _kite; echo "\${COMPREPLY[*]}"`;
      const script = [
        "source <(kite completion bash)",
        line("task", "cl"),
        line("agent", ""),
        line("unlock", "my"),
        line("lock", ""),
        "complete -p kite",
      ];
      expect(shell("bash", ["--norc", "-c", script.join("\n")])).toBe(
        "claim\nalice\nmy\\ notes.txt\n\ncomplete -o default -F _kite kite\n",
      );
    },
  ],
  [
    "fish",
    "completes words and says what they are",
    async () => {
      await atWork();
      const script = `kite completion fish | source
      complete -C "kite task cl"; echo -; complete -C "kite agent "; echo -; complete -C "kite unlock my"; echo -
      touch here.txt; complete -C "kite lock he"`;
      const [claim, agents, files, paths] = shell("fish", ["--no-config", "-c", script]).split("-\n");
      expect(claim).toBe("claim\tclaim the most urgent ready task that your role takes, or the named one\n");
      expect(agents).toBe(`alice\t${home.work}\n`);
      expect(files).toBe("my notes.txt\talice\n");
      expect(paths).toMatch(/^here\.txt\b/);
    },
  ],
  [
    "zsh",
    "completes words, and files where Kite knows none",
    async () => {
      await atWork();
      // Only in a terminal zsh completes. A key writes the line down and empties it.
      const inner = `PROMPT='' RPROMPT=''; autoload -U compinit; compinit -D -u; source <(kite completion zsh)
      note() { print -r -- "$BUFFER" >> said.txt; BUFFER='' }; zle -N note; bindkey '^G' note; touch here.txt; print rea''dy`;
      const lines = ["task cl", "agent ", "unlock my", "lock he"].map(typed => `type 'kite ${typed}'`);
      const script = `zmodload zsh/zpty; zpty inner zsh -f -i
      type() { zpty -w -n inner "$1"$'\\t\\C-g' }
      zpty -w inner ${shellWord(inner)}; zpty -r inner reply '*ready*'
      ${lines.join("\n")}
      zpty -w inner "print fin''ished"; zpty -r inner reply '*finished*'; zpty -d inner; cat said.txt`;
      const said = shell("zsh", ["-f", "-c", script]);
      expect(said.split("\n").map(line => line.trim())).toEqual([
        "kite task claim",
        "kite agent alice",
        "kite unlock my\\ notes.txt",
        "kite lock here.txt",
        "",
      ]);
    },
  ],
];

test.each(inShells.filter(([name]) => has(name)))("%s %s", async (_name, _does, check) => {
  await check();
});
