/** A person is who shows the token of Kite's directory, not who leaves out the id; `kite` shows it unless an agent runs it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";
import { kiteProgram } from "./kite.ts";

let home: Home;
let wire: Client;

beforeAll(async () => {
  home = new Home();
  await home.start();
  wire = await home.session("bob", { name: "bob", project: home.work });
});

afterAll(() => home.dispose());

async function task(risk: string): Promise<string> {
  const made = await wire.ask({ type: "task_create", id: "bob", description: "it", risk });
  return String((made["task"] as Message)["id"]);
}

describe("a request without an id, on a connection that shows no token", () => {
  test.each<[string, () => Message | Promise<Message>]>([
    ["a role", () => ({ type: "role_set", name: "bob", role: "lead" })],
    ["a yes", async () => ({ type: "task_approve", task: await task("critical") })],
    [
      "a begin that says yes",
      async () => ({ type: "task_update", task: await task("red"), status: "active" }),
    ],
    ["a lower risk", async () => ({ type: "task_update", task: await task("critical"), risk: "green" })],
    ["a thaw", () => ({ type: "resume" })],
    ["another's lock", () => ({ type: "file_unlock", file: "/a", force: true })],
    ["another's lock, by an agent", () => ({ type: "file_unlock", id: "bob", file: "/a", force: true })],
    ["a release", () => ({ type: "agent_release", of: "bob" })],
    ["a stop", () => ({ type: "spawn_update", spawn: "a-1-1", stopping: true })],
    ["a stop that was", () => ({ type: "spawn_update", spawn: "a-1-1", state: "stopped" })],
    ["an end of a replacement", () => ({ type: "spawn_update", spawn: "a-1-1", replacing: false })],
    ["a replacement", () => ({ type: "spawn_replace", spawn: "a-1-1", resumable: true })],
    [
      "a spawned lead",
      () => ({ type: "spawn_create", backend: "background", client: "claude-code", lead: true }),
    ],
  ])("is refused %s", async (_what, made) => {
    const asked = { project: home.work, ...(await made()) };
    const refused = {
      ok: false,
      code: "person_only",
      error: expect.stringMatching(/^only a person .*: kite /),
    };
    expect(await wire.ask(asked)).toMatchObject(refused);
    const other = await home.connect();
    await other.ask({ type: "hello", person: "0".repeat(64) });
    expect(await other.ask(asked)).toMatchObject(refused);
    const person = await home.connectPerson();
    expect(await person.ask(asked)).not.toMatchObject({ code: "person_only" });
  });

  test("is no person's again after a hello without the token", async () => {
    const person = await home.connectPerson();
    await person.ask({ type: "hello" });
    expect(await person.ask({ type: "resume", project: home.work })).toMatchObject({ code: "person_only" });
  });

  test("is as it was for all else", async () => {
    const project = home.work;
    const made = await wire.ask({ type: "task_create", project, description: "green" });
    const { id } = made["task"] as Message;
    expect(await wire.ask({ type: "task_update", task: id, risk: "yellow" })).toMatchObject({ ok: true });
    expect(await wire.ask({ type: "task_update", task: id, status: "active" })).toMatchObject({ ok: true });
    expect(await wire.ask({ type: "message_send", project, to: "bob", text: "hi" })).toMatchObject({
      ok: true,
    });
    expect(await wire.ask({ type: "context_set", project, key: "a", value: 1 })).toMatchObject({ ok: true });
  });

  test("has a line in the trail", async () => {
    await expect.poll(() => home.kite("log")).toContain("only a person ends the freezes of others");
  });
});

test("an agent's line that hides a person's command from kite is refused at its hook", async () => {
  const ask = async (command: string) => {
    const tool = { tool_name: "Bash", tool_input: { command }, tool_use_id: `toolu_${command.length}` };
    const event = {
      hook_event_name: "PreToolUse",
      session_id: "bob",
      cwd: home.work,
      prompt_id: "p",
      ...tool,
    };
    return String((await wire.ask({ type: "hook", event }))["output"]);
  };
  expect(await ask("setsid env -u CLAUDECODE kite role bob lead")).toContain('"permissionDecision":"deny"');
  expect(await ask("kite role bob lead")).not.toContain("deny");
});

/** Other systems have another `script`, and tell no process's terminal. */
const windows = process.platform === "linux" && existsSync("/usr/bin/script") ? ["of a terminal"] : [];

describe.each(windows)("a window %s", () => {
  /** Runs a shell line at a terminal of its own with an agent's environment; `typed` makes the input of what is shown. */
  async function atTerminal(line: string, typed: (shown: string) => string | null): Promise<string> {
    const env = { ...home.environment, CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: "bob", SHELL: "/bin/sh" };
    const kite = `kite() { "${process.execPath}" "${kiteProgram}" "$@"; }`;
    const child = home.adopt(
      spawn("/usr/bin/script", ["-qec", `${kite}; ${line}`, "/dev/null"], { cwd: home.work, env }),
    );
    let shown = "";
    let isTyped = false;
    child.stdout.on("data", chunk => {
      shown += chunk;
      const answer = isTyped ? null : typed(shown);
      if (answer === null) return;
      isTyped = true;
      child.stdin.write(`${answer}\n`);
    });
    await once(child, "close");
    return shown;
  }

  const word = (shown: string) => /type (\w+) to count as one here: /.exec(shown)?.[1] ?? null;

  test("that looks like an agent's is a person's from the word on that only the terminal shows", async () => {
    await home.session("kim", { name: "kim", project: home.work });
    const shown = await atTerminal("kite role kim tester; kite role kim reviewer", word);
    expect(shown).toContain("kim is tester");
    expect(shown).toContain("kim is reviewer");
    expect(shown.split("to count as one here").length).toBe(2);
  });

  test("is not one by another word, and another window is asked for itself", async () => {
    const shown = await atTerminal("kite role kim architect", all => (word(all) === null ? null : "no"));
    expect(shown).toContain("only a person gives roles");
    expect(await home.kite("role", "--json")).toContain('"role":"reviewer"');
  });

  test("that only looks is asked nothing", async () => {
    writeFileSync(home.paths.config, '{"yieldMs": 9000}');
    const shown = await atTerminal("kite status; kite config", word);
    expect(shown).toContain("Sessions");
    expect(shown).toContain("was changed by no command of Kite");
    expect(shown).not.toContain("to count as one here");
  });

  test("in which an agent's process is above the command asks nobody", async () => {
    const inner = join(home.root, "inner.sh");
    const node = `"${process.execPath}" -e`;
    // It registers itself, and runs kite when the daemon knows it.
    const register =
      'const s=require("net").connect(process.env.KITE_HOME+"/kite.sock");s.on("data",()=>process.exit());' +
      's.write(JSON.stringify({type:"register",id:"inside",cwd:"/",pid:process.ppid})+"\\n")';
    writeFileSync(
      inner,
      `${node} '${register}'\n"${process.execPath}" "${kiteProgram}" role kim architect\ntrue\n`,
    );
    const shown = await atTerminal(`sh ${inner}; true`, word);
    const rows = (await wire.ask({ type: "query", target: "sessions" }))["rows"];
    expect(JSON.stringify(rows)).toContain('"inside"');
    expect(shown).not.toContain("to count as one here");
    expect(shown).toContain("only a person gives roles");
  });
});

describe("the token", () => {
  test("is this user's alone, and outlives the daemon", async () => {
    const { personToken } = home.paths;
    expect(statSync(personToken).mode & 0o777).toBe(0o600);
    const before = readFileSync(personToken, "utf8");
    expect(before).toMatch(/^[0-9a-f]{64}\n$/);
    home.daemon.signal("SIGTERM");
    await home.daemon.exited;
    await home.start();
    expect(readFileSync(personToken, "utf8")).toBe(before);
  });

  test("is shown by a person's kite, with and without a terminal, and not by an agent's", async () => {
    await home.session("eve", { name: "eve", project: home.work });
    expect(await home.kite("role", "eve", "tester")).toContain("eve is tester");
    for (const env of [{ CLAUDECODE: "1" }, { KITE_SESSION: "eve" }])
      expect(await home.command(["role", "eve", "architect", "--json"], env)).toMatchObject({ code: 1 });
    expect(await home.kite("role", "--json")).toContain('"role":"tester"');
  });

  test("that is gone or damaged is made anew by the next daemon", async () => {
    const { personToken } = home.paths;
    home.daemon.signal("SIGTERM");
    await home.daemon.exited;
    rmSync(personToken);
    await home.start();
    await home.session("zoe", { name: "zoe", project: home.work });
    expect(await home.kite("role", "zoe", "tester")).toContain("zoe is tester");
    home.daemon.signal("SIGTERM");
    await home.daemon.exited;
    writeFileSync(personToken, "mine\n");
    chmodSync(personToken, 0o644);
    await home.start();
    expect(readFileSync(personToken, "utf8")).toMatch(/^[0-9a-f]{64}\n$/);
    expect(statSync(personToken).mode & 0o777).toBe(0o600);
  });

  test("that is missing while the daemon runs is said, with what to do", async () => {
    rmSync(home.paths.personToken);
    await home.session("amy", { name: "amy", project: home.work });
    const { code, err } = await home.command(["role", "amy", "tester"]);
    expect([code, err]).toEqual([1, expect.stringContaining("person.token is missing")]);
    expect(err).toContain("kite down && kite up");
  });
});
