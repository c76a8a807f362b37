/** The status line: what it shows of a session, by either hook client and by the command, and how it is set up. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, Home } from "./daemon.ts";
import { hookPrograms } from "./hook-clients.ts";

const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));
const launcher = fileURLToPath(new URL("../../bin/kite", import.meta.url));

let home: Home;

beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

/** What Claude Code gives the status line of a session. */
const given = (session_id: string) => JSON.stringify({ session_id, cwd: home.work, version: "2.1.329" });

function run(
  command: string,
  args: readonly string[],
  input: string,
  more: Record<string, string> = {},
): string {
  const env = { ...home.environment, ...more };
  const { status, stdout, stderr } = spawnSync(command, args, {
    input,
    env,
    cwd: home.work,
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout;
}

/** Alice holds two files, one of which Bob waits for. */
async function atWork(): Promise<{ readonly alice: Client; readonly bob: Client }> {
  await home.start();
  const [alice, bob] = [await home.session("alice"), await home.session("bob")];
  for (const file of ["a.ts", "src/auth.ts"]) await alice.ask({ type: "file_lock", id: "alice", file });
  const watch = await home.connect();
  await watch.ask({ type: "subscribe" });
  bob.send({ type: "file_lock", id: "bob", file: "src/auth.ts" });
  await watch.event("lock_queued");
  return { alice, bob };
}

describe.each([
  ...hookPrograms.map(
    ({ name, command: [file, ...args] }) => [name, file, [...args, "1000", "statusline"]] as const,
  ),
  ["kite statusline", process.execPath, [program, "statusline"]] as const,
])("by %s", (_, command, args) => {
  const line = (session: string) => run(command, args, given(session));

  test("it shows what the session holds, who waits for it, and what it waits for", async () => {
    const { alice, bob } = await atWork();
    expect(line("alice")).toBe("kite: alice · bob waits for you · holds auth.ts +1\n");
    expect(line("bob")).toBe("kite: bob · waits for auth.ts (alice) · no locks\n");
    await alice.ask({ type: "task_create", id: "alice", description: "one", project: "test" });
    await alice.ask({ type: "message_send", id: "alice", to: "bob", text: "soon" });
    expect(line("bob")).toBe("kite: bob · waits for auth.ts (alice) · no locks · 1 task ready · 1 unread\n");
    await alice.ask({ type: "file_unlock", id: "alice", all: true });
    expect(line("bob")).toBe("kite: bob · holds auth.ts · 1 task ready · 1 unread\n");
    expect(bob).toBeDefined();
  });

  test("it says that Kite is off: everywhere, in the shell, or for the session", async () => {
    await atWork();
    await home.kite("off", "--session", "alice");
    expect(line("alice")).toBe("kite: off\n");
    expect(line("bob")).toMatch(/^kite: bob · waits/);
    await home.kite("off");
    expect(line("bob")).toBe("kite: off\n");
    await home.daemon.kill();
    expect(line("bob")).toBe("kite: off\n");
    await home.kite("on");
    expect(line("bob")).toBe("");
    expect(run(command, args, given("bob"), { KITE: "off" })).toBe("kite: off\n");
  });

  test("it shows nothing of a session that nobody knows, or without a daemon", async () => {
    expect(line("nobody")).toBe("");
    await home.start();
    expect(line("nobody")).toBe("");
    const asking = await home.connect();
    expect(await asking.ask({ type: "query", target: "sessions" })).toMatchObject({ rows: [] });
  });
});

describe("kite install --statusline", () => {
  const settings = () => join(home.environment["HOME"] ?? "", ".claude/settings.json");
  const shown = () =>
    run("/bin/sh", ["-c", JSON.parse(readFileSync(settings(), "utf8")).statusLine.command], given("alice"));
  const write = (text: string) => {
    mkdirSync(dirname(settings()), { recursive: true });
    writeFileSync(settings(), text);
  };

  test.each(["perl", "node"])(
    "puts the line there with the client of %s, and takes it away",
    async client => {
      await atWork();
      write('{"model": "opus"}');
      await home.kite("install", "--statusline", "--hook-program", client);
      expect(shown()).toBe("kite: alice · bob waits for you · holds auth.ts +1\n");
      await home.kite("uninstall");
      expect(readFileSync(settings(), "utf8")).toBe('{"model": "opus"}');
    },
  );

  test("runs the status line that was there before its own, with the same input", async () => {
    await atWork();
    const own = `sed 's/.*"version":"\\([^"]*\\)".*/it'"'"'s \\1/'`;
    write(JSON.stringify({ statusLine: { type: "command", command: own, padding: 2 } }));
    const before = readFileSync(settings(), "utf8");
    await home.kite("install", "--statusline");
    expect(JSON.parse(readFileSync(settings(), "utf8")).statusLine).toMatchObject({
      type: "command",
      padding: 2,
    });
    expect(shown()).toBe("it's 2.1.329\nkite: alice · bob waits for you · holds auth.ts +1\n");
    const text = readFileSync(settings(), "utf8");
    await home.kite("install", "--statusline");
    expect(readFileSync(settings(), "utf8")).toBe(text);
    // Somebody else wrote meanwhile: theirs stays, and the line is the old one again.
    write(text.replace('{"statusLine"', '{"model": "opus", "statusLine"'));
    await home.kite("uninstall");
    expect(JSON.parse(readFileSync(settings(), "utf8"))).toEqual({ model: "opus", ...JSON.parse(before) });
  });

  test.each([
    ['{"model": "opus"}', "removed Kite's status line from"],
    ['{"statusLine": {"type": "command", "command": "date"}}', "your status line is as it was before, in"],
  ])("is taken out alone, and the hooks stay: %s", async (text, words) => {
    write(text);
    await home.kite("install", "--statusline");
    expect(await home.kite("uninstall", "--statusline")).toBe(`${words}: ${settings()}\n`);
    const { hooks, ...rest } = JSON.parse(readFileSync(settings(), "utf8"));
    expect(rest).toEqual(JSON.parse(text));
    expect(Object.keys(hooks)).toContain("PreToolUse");
    expect(await home.kite("uninstall", "--statusline")).toBe(`no status line of Kite's in: ${settings()}\n`);
    expect(await home.kite("uninstall")).toContain(`restored: ${settings()}\n`);
    expect(readFileSync(settings(), "utf8")).toBe(text);
    await expect(home.kite("uninstall", "--statusline", "--all")).rejects.toThrow("--statusline goes with");
  });

  test("refuses a status line that it cannot run within its own, and --shared", async () => {
    write('{"statusLine": true}');
    await expect(home.kite("install", "--statusline")).rejects.toThrow(
      '"statusLine" has no "command" that Kite could run within its own',
    );
    expect(readFileSync(settings(), "utf8")).toBe('{"statusLine": true}');
    await expect(home.kite("install", "--statusline", "--shared")).rejects.toThrow(
      "the status line is your own",
    );
  });
});

test("the command becomes the small program where Kite is installed", () => {
  const line = join(home.paths.bin, "statusline");
  mkdirSync(home.paths.bin, { recursive: true });
  writeFileSync(line, "#!/bin/sh\necho small; cat\n");
  chmodSync(line, 0o755);
  expect(run(launcher, ["statusline"], "given")).toBe("small\ngiven");
  expect(run(launcher, ["statusline", "--help"], "")).toContain("Usage: kite statusline");
});
