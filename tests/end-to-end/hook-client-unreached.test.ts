import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { answer, HookWorld, hookPrograms, type Run, silent } from "./hook-clients.ts";

/** What both clients do where the daemon does not answer: they stop asking for a while, and say so once. */
describe.each(hookPrograms)("the $name client", program => {
  let world: HookWorld;
  const run = (options?: Run) => world.run(options);
  const at = (...names: string[]) => join(world.home, ...names);

  beforeEach(() => {
    world = new HookWorld(program);
  });

  afterEach(() => world.dispose());

  describe("the pause after three failures", () => {
    const failures = () => readFileSync(at("hook-failures"), "latin1");
    const now = () => Math.floor(Date.now() / 1000);
    const prompt = JSON.stringify({ session_id: "s", hook_event_name: "UserPromptSubmit" });
    /** Nothing is lost where it is not asked about. */
    const runPrompt = (options?: Run) => run({ stdin: prompt, ...options });

    /**
     * As if hooks had failed so many seconds ago, with a daemon that is older than that. At least one: a program
     * may read a clock that is some milliseconds behind.
     */
    function failed(...secondsAgo: number[]): void {
      writeFileSync(at("hook-failures"), secondsAgo.map(s => `${now() - s}\n`).join(""));
      utimesSync(world.socketPath, 1, 1);
    }

    /** As if hooks before tools had. */
    function failedBeforeTools(...secondsAgo: number[]): void {
      failed(...secondsAgo);
      writeFileSync(at("hook-failures"), failures().replaceAll("\n", " tool\n"));
    }

    const works = () => world.daemon(socket => socket.end(answer({ output: "x" })));
    const isSilent = () => world.daemon(() => undefined);

    test("a daemon that says nothing is asked three times, then nobody connects", async () => {
      const fake = await isSilent();
      utimesSync(world.socketPath, 1, 1);
      expect(await Promise.all([runPrompt(), runPrompt(), runPrompt()])).toEqual([silent, silent, silent]);
      expect(failures()).toMatch(/^(\d{10}\n){3}$/);
      expect(fake.connections).toBe(3);
      expect(await runPrompt()).toEqual(silent);
      expect(fake.connections).toBe(3);
    });

    test.each([
      ["an answer that makes no sense", "what?\n", "52000"],
      ["a parked request that outlasts its budget", "\n", "100"],
    ])("%s counts", async (_, reply, budget) => {
      await world.daemon(socket => socket.write(reply));
      expect(await runPrompt({ budget })).toEqual(silent);
      expect(failures()).toMatch(/^\d{10}\n$/);
    });

    test.each([
      ["an answer", answer()],
      ["a refusal", '{"ok":false,"error":"x","code":"not_available"}\n'],
      ["a daemon on its way out", '{"ok":false,"error":"x","code":"restarting"}\n'],
      ["a daemon that died", "2 10 0 0\nden"],
    ])("%s does not count", async (_, reply) => {
      await world.daemon(socket => socket.end(reply));
      expect(await run()).toEqual(silent);
      expect(failures).toThrow("ENOENT");
    });

    test("neither does an absent daemon", async () => {
      expect(await run()).toEqual(silent);
      const gone = await world.daemon(() => undefined, undefined, at("first"));
      await gone.close();
      writeFileSync(world.socketPath, "");
      expect(await run()).toEqual(silent);
      expect(failures).toThrow("ENOENT");
    });

    test.each([
      ["three just now", [3, 2, 1]],
      ["three, the last one 20 s ago", [75, 40, 20]],
      ["four, of which the last three count", [500, 4, 3, 2]],
    ])("%s: nobody is asked", async (_, seconds) => {
      const fake = await works();
      failed(...seconds);
      expect(await runPrompt()).toEqual(silent);
      failedBeforeTools(...seconds);
      expect(await runPrompt()).toEqual(silent);
      expect(fake.connections).toBe(0);
    });

    test.each([
      ["two", [1, 0]],
      ["three in more than a minute", [63, 2, 1]],
      ["three, the last one half a minute ago", [33, 32, 31]],
      ["three to come, by a clock that was set back", [-98, -99, -100]],
    ])("%s: the daemon is asked", async (_, seconds) => {
      await works();
      failed(...seconds);
      expect(await runPrompt()).toEqual({ ...silent, stdout: "x" });
    });

    test("a socket that is newer than the failures is another daemon's", async () => {
      await works();
      failed(3, 2, 1);
      utimesSync(world.socketPath, now() + 2, now() + 2);
      expect(await runPrompt()).toEqual({ ...silent, stdout: "x" });
    });

    test("when the pause is over and the daemon still says nothing, one failure begins the next", async () => {
      const fake = await isSilent();
      failed(33, 32, 31);
      expect(await runPrompt()).toEqual(silent);
      expect(fake.connections).toBe(1);
      expect(await runPrompt()).toEqual(silent);
      expect(fake.connections).toBe(1);
    });

    test("what waits before a tool asks in a pause too, and its answer ends the pause for everybody", async () => {
      await works();
      failed(3, 2, 1);
      expect(await runPrompt()).toEqual(silent);
      expect(await run()).toEqual({ ...silent, stdout: "x" });
      expect(failures).toThrow("ENOENT");
      expect(await runPrompt()).toEqual({ ...silent, stdout: "x" });
    });

    test("a word of the daemon ends the pause, before the answer", async () => {
      await world.daemon(socket => socket.write("\n"));
      failed(3, 2, 1);
      const { child, ended } = world.start();
      // The file's end has no event of its own: this asks again.
      while (existsSync(at("hook-failures"))) await nextTurn();
      expect(child.exitCode).toBeNull();
      child.kill("SIGTERM");
      await ended;
    });

    test("before a tool, failures of its own kind alone shorten the wait, and short waits do not count", async () => {
      const fake = await isSilent();
      const three = /^(\d{10}\n){3}$/;
      failed(3, 2, 1);
      expect(failures()).toMatch(three);
      expect(await run()).toEqual(silent);
      expect(failures()).toMatch(/^(\d{10}\n){3}\d{10} tool\n$/);
      failedBeforeTools(3, 2, 1);
      const before = failures();
      expect(await run()).toEqual(silent);
      expect(failures()).toBe(before);
      expect(fake.connections).toBe(2);
    });

    test("a short wait is long enough for a daemon that answers", async () => {
      await works();
      failedBeforeTools(3, 2, 1);
      // On a machine that is busy with other things it may take more than one.
      for (let said = silent; said.stdout === ""; said = await run()) failedBeforeTools(3, 2, 1);
      expect(failures).toThrow("ENOENT");
    });

    test.each([
      ["nothing", ""],
      ["noise", Buffer.alloc(50_000, 0xa7)],
      ["lines that are no times", "x\n".repeat(1000)],
      ["times without end", "99999999999999999999\n".repeat(30)],
    ])("a file of %s is no pause and keeps nobody from counting, within bounds", async (_, content) => {
      await works();
      writeFileSync(at("hook-failures"), content);
      expect(await runPrompt()).toEqual({ ...silent, stdout: "x" });
      expect(failures).toThrow("ENOENT");
      rmSync(world.socketPath);
      await isSilent();
      writeFileSync(at("hook-failures"), content);
      expect(await runPrompt()).toEqual(silent);
      expect(failures()).toMatch(/(^|\n)\d{10}\n$/);
      expect(failures().length).toBeLessThan(1100);
    });

    test("a pipe in its place is not opened, and an answer clears it away", async () => {
      const fake = await world.daemon((socket, line) =>
        socket.end(line.includes("well") ? answer({ output: "x" }) : "what?\n"),
      );
      execFileSync("mkfifo", [at("hook-failures")]);
      expect(await runPrompt()).toEqual(silent);
      expect(await run()).toEqual(silent);
      expect(fake.connections).toBe(2);
      expect(await run({ stdin: '{"all":"well"}' })).toEqual({ ...silent, stdout: "x" });
      expect(failures).toThrow("ENOENT");
    });

    test("a link in its place is not followed", async () => {
      const fake = await isSilent();
      writeFileSync(at("other"), `${now() - 1}\n`.repeat(3));
      symlinkSync(at("other"), at("hook-failures"));
      utimesSync(world.socketPath, 1, 1);
      const before = readFileSync(at("other"), "latin1");
      expect(await runPrompt()).toEqual(silent);
      expect(readFileSync(at("other"), "latin1")).toBe(before);
      expect(fake.connections).toBe(1);
    });

    test("where the file cannot be written, nothing else changes", async () => {
      mkdirSync(at("hook-failures"));
      const fake = await world.daemon((socket, line) =>
        socket.end(line.includes("well") ? answer({ output: "x" }) : "what?\n"),
      );
      for (let n = 0; n < 4; n += 1) expect(await runPrompt()).toEqual(silent);
      expect(fake.connections).toBe(4);
      expect(await run({ stdin: '{"all":"well"}' })).toEqual({ ...silent, stdout: "x" });
    });
  });

  describe("the word to the person", () => {
    const edit = (session: string, more: object = {}) =>
      JSON.stringify({ session_id: session, hook_event_name: "PreToolUse", tool_name: "Edit", ...more });
    const systemMessage = expect.stringMatching(
      /^Kite is not responding; edits in this session are not coord/,
    );

    async function isTold(options: Run): Promise<boolean> {
      const { stdout, ...rest } = await run(options);
      expect({ ...rest, stdout: "" }).toEqual(silent);
      if (stdout === "") return false;
      expect(JSON.parse(stdout)).toEqual({ systemMessage });
      return true;
    }

    test("without a daemon, at the first edit of a session, and never again in it", async () => {
      for (const session of ["a", "b-2_C"]) {
        expect(await isTold({ stdin: edit(session) })).toBe(true);
        expect(await isTold({ stdin: edit(session, { tool_name: "Write" }) })).toBe(false);
      }
      expect(readdirSync(at("unreached")).sort()).toEqual(["a", "b-2_C"]);
    });

    test.each(["write_file", "replace"])("in Gemini CLI, before %s", async tool_name => {
      const stdin = edit("g", { hook_event_name: "BeforeTool", tool_name });
      expect(await isTold({ stdin, more: ["", "", "gemini"] })).toBe(true);
    });

    test("at the beginning of a session whose Kite lost its journal, with the reason", async () => {
      const prompt = edit("a", { hook_event_name: "UserPromptSubmit", tool_name: undefined });
      writeFileSync(at("store.json"), "");
      const { stdout, ...rest } = await run({ stdin: prompt });
      expect({ ...rest, stdout: "" }).toEqual(silent);
      expect(JSON.parse(stdout).systemMessage).toMatch(
        /^Kite stays down: its journal is missing\. .*`kite doctor`/,
      );
      expect(await isTold({ stdin: prompt })).toBe(false);
      expect(await isTold({ stdin: edit("a") })).toBe(false);
      // With a journal it is a daemon like any other that is not there.
      mkdirSync(at("journal"));
      expect(await isTold({ stdin: edit("b", { hook_event_name: "SessionStart" }) })).toBe(false);
      expect(await isTold({ stdin: edit("b") })).toBe(true);
    });

    test("also if the mark of the journal is gone, but not the daemon's own file", async () => {
      const prompt = (session: string) => edit(session, { hook_event_name: "UserPromptSubmit" });
      expect(await isTold({ stdin: prompt("a") })).toBe(false);
      writeFileSync(at("daemon.json"), "");
      const { stdout } = await run({ stdin: prompt("a") });
      expect(JSON.parse(stdout).systemMessage).toMatch(/^Kite stays down: its journal is missing\. /);
    });

    test("once, though several agents edit at the same time", async () => {
      const all = await Promise.all([1, 2, 3, 4].map(() => isTold({ stdin: edit("a") })));
      expect(all.filter(told => told)).toHaveLength(1);
    });

    test("what the other client said counts", async () => {
      mkdirSync(at("unreached", "a"), { recursive: true });
      expect(await isTold({ stdin: edit("a") })).toBe(false);
    });

    test.each(["Edit", "Write", "NotebookEdit"])("%s is an edit, pretty-printed too", async tool_name => {
      const stdin = JSON.stringify(JSON.parse(edit("a", { tool_name })), null, 2);
      expect(await isTold({ stdin })).toBe(true);
    });

    test.each([
      ["a prompt", { hook_event_name: "UserPromptSubmit", tool_name: undefined }],
      ["the end of an edit", { hook_event_name: "PostToolUse" }],
      ["another tool", { tool_name: "Bash" }],
      ["a text that speaks of an edit", { tool_name: "Bash", tool_input: { x: '"tool_name":"Edit"' } }],
      ["an id that is no name", { session_id: "../../a" }],
      ["no id", { session_id: undefined }],
    ])("not for %s", async (_, fields) => {
      expect(await isTold({ stdin: edit("a", fields) })).toBe(false);
      expect(() => readdirSync(at("unreached"))).toThrow("ENOENT");
    });

    test.each([
      ["a daemon that says nothing", ""],
      ["an answer that makes no sense", "what?\n"],
      ["a refusal", '{"ok":false,"error":"x","code":"internal_error"}\n'],
    ])("with %s", async (_, reply) => {
      await world.daemon(socket => (reply === "" ? undefined : socket.end(reply)));
      expect(await isTold({ stdin: edit("a") })).toBe(true);
    });

    test("in a pause", async () => {
      const fake = await world.daemon(() => undefined);
      writeFileSync(at("hook-failures"), `${Math.floor(Date.now() / 1000) - 1} tool\n`.repeat(3));
      utimesSync(world.socketPath, 1, 1);
      expect(await isTold({ stdin: edit("a") })).toBe(true);
      expect(fake.connections).toBe(1);
    });

    test("not where a daemon answers", async () => {
      await world.daemon(socket => socket.write(answer()));
      expect(await isTold({ stdin: edit("a") })).toBe(false);
      expect(readdirSync(world.home)).toEqual(["kite.sock"]);
    });

    test("not after kite down, with KITE=off, or where there is no Kite", async () => {
      expect(await isTold({ stdin: edit("a"), env: { KITE: "off" } })).toBe(false);
      expect(await isTold({ stdin: edit("a"), env: { KITE_HOME: at("no") } })).toBe(false);
      writeFileSync(at("down"), "");
      expect(await isTold({ stdin: edit("a") })).toBe(false);
      rmSync(at("down"));
      expect(await isTold({ stdin: edit("a") })).toBe(true);
    });

    test("where it cannot be remembered it is not said, or it would be said at every edit", async () => {
      writeFileSync(at("unreached"), "");
      expect(await isTold({ stdin: edit("a") })).toBe(false);
    });

    test("what is remembered has a bound", async () => {
      for (let n = 0; n < limits.toldSessionsMax; n += 1)
        mkdirSync(at("unreached", `s${n}`), { recursive: true });
      expect(await isTold({ stdin: edit("a") })).toBe(true);
      expect(readdirSync(at("unreached"))).toEqual(["a"]);
      expect(await isTold({ stdin: edit("a") })).toBe(false);
    });
  });
});
