/** kite install at a terminal: a person answers its questions; what was written, and how it is taken back. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Home } from "./daemon.ts";
import { kiteProgram } from "./kite.ts";

let home: Home;
let root: string;
let bin: string;
let env: Record<string, string>;

beforeEach(() => {
  home = new Home({ kite: ".kite" });
  root = home.root;
  bin = join(root, ".local", "bin");
  mkdirSync(bin, { recursive: true });
  mkdirSync(join(root, ".claude"));
  // No kite of this machine: the PATH has Node, and what the system has.
  const node = join(root, "node");
  mkdirSync(node);
  symlinkSync(process.execPath, join(node, "node"));
  env = { HOME: root, PATH: `${bin}:${node}:/usr/bin:/bin`, SHELL: "/bin/bash", TERM: "xterm" };
});

afterEach(() => home.dispose());

/** Ctrl-C. */
const interrupt = "\u0003";

/** Runs `kite` in a terminal of 100 columns, and answers each question; returns what was on the screen, and the exit code. */
async function atTerminal(args: string, answers: readonly string[] = []) {
  const line = `stty cols 100 rows 40; exec ${process.execPath} ${kiteProgram} ${args}`;
  const child = home.adopt(
    spawn("script", ["-qec", line, "/dev/null"], { cwd: home.work, env, stdio: "pipe" }),
  );
  let text = "";
  let answered = 0;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    const asked = text.match(/\[(?:Y\/n|y\/N)\] /g)?.length ?? 0;
    for (; answered < asked; answered += 1) child.stdin.write(answers[answered] ?? interrupt);
  });
  const [code] = await once(child, "close");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor is no text
  return { code, text: text.replace(/\u001b\[[\d;]*[A-Za-z]|\r/g, ""), asked: answered };
}

const files = () => ({
  link: join(bin, "kite"),
  rc: join(root, ".bashrc"),
  settings: join(root, ".claude", "settings.json"),
});

/** Every file and link below the home but Kite's own, with what is in it. */
function everything(folder = root): Record<string, string> {
  const found = readdirSync(folder, { withFileTypes: true }).flatMap(one => {
    const path = join(folder, one.name);
    if (path === join(root, ".kite")) return [];
    if (one.isDirectory()) return Object.entries(everything(path));
    return [[path, one.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, "utf8")] as const];
  });
  return Object.fromEntries(found);
}

describe("kite install at a terminal", () => {
  it("does each step after a yes, says what to do next, and is undone", async () => {
    writeFileSync(files().rc, "alias ll='ls -l'");
    const before = everything();
    const { code, text } = await atTerminal("install", ["\r", "y\r", "yes\r", "\r"]);
    expect(code, text).toBe(0);
    const { link, rc, settings } = files();
    expect(text).toContain(`would write:\n  ${link}, a link to `);
    expect(text).toContain(`${settings} (hooks)`);
    expect(text).toContain("  command -v kite >/dev/null && source <(kite completion bash)\n");
    expect(readlinkSync(link)).toMatch(/\/bin\/kite$/);
    expect(readFileSync(settings, "utf8")).toContain("hook.pl");
    expect(readFileSync(rc, "utf8")).toMatch(
      /^alias ll='ls -l'\n# .*\n.*source <\(kite completion bash\)\n$/,
    );
    expect(text).toContain("Done: the command kite, hooks for Claude Code, completion, the daemon.");
    expect(text).toMatch(/kite doctor:\n[\s\S]*all is well/);
    expect(text.trimEnd()).toMatch(/Next: type a prompt in two Claude Code sessions .*\n.*$/);
    // The daemon runs, and there is nothing left to ask.
    expect(existsSync(home.paths.daemonFile)).toBe(true);
    const again = await atTerminal("install");
    expect(again).toMatchObject({ code: 0, asked: 0 });
    expect(again.text).toContain("Done: nothing new.");
    const up = await atTerminal("up");
    expect(up.text).toMatch(/^kite was running already: .*\nNext: type a prompt in two Claude Code sessions/);
    const undone = await home.kiteAt(home.work, env, "uninstall");
    expect(undone).toContain(`removed: ${link}\n`);
    expect(undone).toContain(`removed Kite's lines from: ${rc}\n`);
    expect(undone).toContain(`removed: ${settings}\n`);
    expect(undone).not.toContain("restored");
    expect(everything()).toEqual(before);
    expect(existsSync(home.paths.shell)).toBe(false);
  });

  it.each(["init", "setup"])("kite %s leads here, and Ctrl-C leaves whole steps", async word => {
    const before = everything();
    const { code, text } = await atTerminal(word, ["\r", interrupt]);
    expect(code, text).toBe(130);
    expect(text).toContain("Done: the command kite.");
    expect(text).toMatch(
      /Not done: hooks for Claude Code, completion, the daemon\. To be asked again: kite\s+install/,
    );
    expect(everything()).toEqual({ ...before, [files().link]: readlinkSync(files().link) });
    expect(existsSync(home.paths.daemonFile)).toBe(false);
    expect(await home.kiteAt(home.work, env, "uninstall")).toContain(`removed: ${files().link}\n`);
    expect(everything()).toEqual(before);
  });

  it("writes nothing after a no, and asks again where an answer is none", async () => {
    const before = everything();
    const { code, text, asked } = await atTerminal("install", ["huh\r", "n\r", "no\r", "N\r", "n\r"]);
    expect({ code, asked }, text).toEqual({ code: 0, asked: 5 });
    expect(text).toContain("Done: nothing new.");
    expect(text).toContain("Next: kite install, which connects your agents");
    expect(everything()).toEqual(before);
  });

  it("overwrites no other program of that name, and no folder that others write", async () => {
    const { link } = files();
    writeFileSync(link, "#!/bin/sh\necho a game\n", { mode: 0o755 });
    const other = await atTerminal("install", ["n\r", "n\r", "n\r"]);
    expect(other.text).toContain(`not possible: PATH has another kite in ${link}`);
    expect(readFileSync(link, "utf8")).toContain("a game");
    // A link that somebody else made is not Kite's either.
    const mine = await home.kiteAt(home.work, env, "uninstall");
    expect(mine).not.toContain(link);
    env["PATH"] = env["PATH"]?.replace(bin, join(root, "open")) ?? "";
    mkdirSync(join(root, "open"));
    chmodSync(join(root, "open"), 0o777);
    const open = await atTerminal("install", ["n\r", "n\r", "n\r", "n\r"]);
    expect(open.text).toContain(`${join(root, "node", "kite")}, a link to `);
    expect(open.text).not.toContain(`${join(root, "open", "kite")}, a link to `);
  });

  it("does not ask for the hooks by default where the client is not there", async () => {
    env["HOME"] = join(root, "bare");
    mkdirSync(env["HOME"]);
    const { text } = await atTerminal("install", ["n\r", "\r", "n\r", "n\r"]);
    expect(text).toMatch(/Claude Code is not here: .*\n.*Do this\? \[y\/N\]/);
    expect(existsSync(join(env["HOME"], ".claude"))).toBe(false);
  });
});

it("does all steps without a question with --yes, for a person's scripts alone", async () => {
  const agents = await home.command(["install", "--yes"], { ...env, CLAUDECODE: "1" });
  expect(agents).toMatchObject({ code: 1, err: expect.stringContaining("only a person") });
  expect(existsSync(files().settings)).toBe(false);
  const said = await home.kiteAt(home.work, { ...env, SHELL: "/usr/bin/fish" }, "install", "--yes");
  expect(said).not.toContain("[Y/n]");
  const fish = join(root, ".config", "fish", "completions", "kite.fish");
  expect(readFileSync(fish, "utf8")).toContain("kite completion fish | source\n");
  expect(lstatSync(files().link).isSymbolicLink()).toBe(true);
  expect(said).toContain("Done: the command kite, hooks for Claude Code, completion, the daemon.");
  expect(JSON.parse(await home.kiteAt(home.work, env, "uninstall", "--json"))).toMatchObject({
    shell: [
      { file: files().link, result: "removed" },
      { file: fish, result: "removed" },
    ],
  });
  expect(existsSync(fish)).toBe(false);
});

it("goes on with the other steps where one fails, and says which", async () => {
  mkdirSync(join(root, ".kite"), { mode: 0o700 });
  writeFileSync(home.paths.shell, "{");
  const ran = await home.command(["install", "--yes"], env);
  expect(ran.code).toBe(1);
  expect(ran.out).toMatch(/1 of 4: the command kite\nthis failed: .*shell\.json cannot be read/);
  expect(ran.out).toContain(
    "Done: hooks for Claude Code, the daemon.\nNot done: the command kite, completion.",
  );
  const undone = await home.command(["uninstall"], env);
  expect(undone).toMatchObject({ code: 1, err: expect.stringContaining("shell.json cannot be read") });
  expect(undone.out).toContain(`removed: ${files().settings}\n`);
});

it("takes back nothing that somebody else changed since", async () => {
  await home.kiteAt(home.work, env, "install", "--yes");
  const { link, rc } = files();
  writeFileSync(rc, "mine alone\n");
  const said = await home.kiteAt(home.work, env, "uninstall");
  expect(said).toContain(`left as it is, since somebody changed it: ${rc}\n`);
  expect(readFileSync(rc, "utf8")).toBe("mine alone\n");
  expect(existsSync(link)).toBe(false);
});
