/** Kite's own files: agents' tools do not write them, by whatever name, and the refusal says how a person does. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Home } from "./daemon.ts";

const home = new Home({ kite: ".kite" });
const { work, paths, root } = home;
let calls = 0;

beforeAll(async () => {
  await home.start();
  symlinkSync(paths.home, join(work, "link"));
  symlinkSync(paths.config, join(work, "mine.json"));
  writeFileSync(paths.config, "{}\n");
});

afterAll(() => home.dispose());

/** Returns the reason of the denial; null: the call may run. */
async function denial(
  tool: string,
  input: Readonly<Record<string, unknown>>,
  { session = "s-1", cwd = work } = {},
): Promise<string | null> {
  calls += 1;
  const event = {
    hook_event_name: "PreToolUse",
    session_id: session,
    cwd,
    tool_name: tool,
    tool_use_id: `t-${calls}`,
    tool_input: input,
  };
  const client = await home.connect();
  const { output } = await client.ask({ type: "hook", event, env: { HOME: root } });
  client.destroy();
  if (output === "") return null;
  const said: unknown = JSON.parse(String(output));
  return String(Object(Object(said).hookSpecificOutput).permissionDecisionReason ?? "");
}

const write = (file_path: string, how = {}) => denial("Write", { file_path, content: "x" }, how);
const line = (command: string, how = {}) => denial("Bash", { command }, how);

describe("an agent's edit", () => {
  test.each([
    ["trusted.json", "kite check --trust, in the project"],
    ["config.json", "kite config set KEY VALUE"],
    ["off", "kite off, kite on"],
    ["off.json", "kite off, kite on"],
    ["down", "kite down, kite up"],
    ["bin/hook.pl", "kite install"],
    ["store.json", "run kite doctor"],
    ["journal/x", "kite repair"],
  ])("of %s is refused, and names %s", async (name, way) => {
    const said = await write(join(paths.home, name));
    expect(said).toContain(`this Write did not run: "${paths.home}/${name}" is Kite's own`);
    expect(said).toContain(way);
  });

  test("is refused through links, too, by each of the tools, and by a relative name", async () => {
    expect(await write(join(work, "link/trusted.json"))).toContain("Kite's own");
    expect(await write(join(work, "mine.json"))).toContain("Kite's own");
    const named = { old_string: "{}", new_string: "{ }", file_path: "../.kite/config.json" };
    expect(await denial("Edit", named)).toContain("this Edit did not run");
    expect(await denial("NotebookEdit", { notebook_path: paths.trusted })).toContain("this NotebookEdit");
  });

  test("runs elsewhere: in another home, in a trial of a merge, and in what only lies in the directory", async () => {
    mkdirSync(join(work, "h/.kite"), { recursive: true });
    expect(await write(join(work, "h/.kite/trusted.json"))).toBeNull();
    expect(await write(join(work, ".kite/config.json"))).toBeNull();
    expect(await write(join(paths.merges, "m-1.1/a.ts"))).toBeNull();
    expect(await write(join(paths.home, "notes.md"))).toBeNull();
  });

  test("is refused where the session has switched Kite off for itself", async () => {
    await write(join(work, "a"), { session: "s-off" });
    await home.kite("off", "--session", "s-off");
    expect(await write(join(work, "a"), { session: "s-off" })).toBeNull();
    expect(await write(paths.trusted, { session: "s-off" })).toContain("Kite's own");
    await home.kite("on", "--session", "s-off");
  });

  test("is in the trail and among the refusals", async () => {
    await write(paths.trusted);
    expect(await home.kite("status", "--all")).toMatch(/trusted\.json.*only a person/);
    expect(await home.kite("log")).toMatch(/trusted\.json/);
  });
});

describe("an agent's shell line, for which a hook waits", () => {
  test.each([
    "git log > ~/.kite/trusted.json",
    "git status; touch $KITE_HOME/off",
    "rm -rf ~/.kite; git init",
    "git fetch; rm ~/.kite/tr*",
    "kite status; mv ~/.kite/config.json /tmp",
  ])("%j is refused", async command => {
    const said = await line(command);
    expect(said).toContain("this command line did not run");
    expect(said).toContain("Kite's own");
  });

  test("that only reads them runs", async () => {
    expect(await line("git diff --no-index ~/.kite/config.json a")).toBeNull();
    expect(await line("kite status; cat ~/.kite/config.json > /tmp/x")).toBeNull();
  });
});

describe("a file that no command of Kite changed", () => {
  const warnings = async (): Promise<string> => {
    const { warnings: all } = JSON.parse(await home.kite("status", "--json")) as { warnings: string[] };
    return all.filter(one => one.includes("no command of Kite")).join("\n");
  };
  const project = join(work, "shop");

  beforeAll(async () => {
    mkdirSync(join(project, ".git"), { recursive: true });
    mkdirSync(join(project, ".kite"));
    writeFileSync(join(project, ".git/HEAD"), "ref: refs/heads/main\n");
    mkdirSync(join(project, ".git/objects"));
    mkdirSync(join(project, ".git/refs"));
    const checks = { test: { command: "true" } };
    writeFileSync(join(project, ".kite/config.json"), JSON.stringify({ checks }));
    // What the tests before wrote was before anything was trusted.
    await home.kite("config");
  });

  test("is none after Kite's own commands, whatever they wrote", async () => {
    await home.kite("config", "set", "lockWaitMs", "20000");
    await home.kite("trust", "--yes", project);
    expect(await warnings()).toBe("");
  });

  test("is shown by status with what it changes, until a person has looked at it", async () => {
    const trusted = readFileSync(paths.trusted, "utf8");
    rmSync(paths.trusted);
    expect(await warnings()).toContain(
      `trusted.json is gone, and no command of Kite removed it; what you trusted in ~/work/shop counts no more; look at it: kite check --trust --list`,
    );
    const forged = JSON.parse(trusted) as { files: Record<string, object> };
    forged.files["/elsewhere/.kite/config.json"] = { hash: "0", at: 1 };
    writeFileSync(paths.trusted, JSON.stringify(forged));
    expect(await warnings()).toMatch(/trusted\.json was changed at .*; \/elsewhere counts as trusted;/);
    // The daemon looks by itself, not at each request.
    await expect.poll(() => home.kite("log")).toMatch(/trusted\.json.*changed by no command of Kite/);
    // An agent's look is not a person's.
    expect((await home.command(["trust", "--list"], { CLAUDECODE: "1" })).out).toContain("your user looks");
    expect(await warnings()).toContain("/elsewhere");
    expect(await home.kite("trust", "--list")).toContain(
      "was changed by no command of Kite. Now you have seen it",
    );
    expect(await warnings()).toBe("");
  });

  test("stays shown when Kite's commands write it again", async () => {
    writeFileSync(paths.config, JSON.stringify({ treeGuard: "off" }));
    expect(await warnings()).toContain("config.json was changed at");
    await home.kite("config", "set", "lockWaitMs", "30000");
    expect(await warnings()).toContain("config.json was changed at");
    expect(await home.kite("config")).toContain("config.json was changed by no command of Kite");
    expect(await warnings()).toBe("");
  });
});
