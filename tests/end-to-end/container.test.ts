import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Container, containerProblem } from "./container.ts";
import { type Client, Home } from "./daemon.ts";
import { type Ended, HookWorld, hookPrograms, silent } from "./hook-clients.ts";
import { kiteProgram } from "./kite.ts";

const problem = containerProblem();

test("containers can be made here, or it is said why not", () => {
  if (problem !== null) console.warn(`container.test.ts tests nothing: ${problem}`);
  expect(problem).not.toBe("");
});

describe.each(problem === null ? hookPrograms : [])("a container, by the $name client", program => {
  let home: Home;
  let world: HookWorld;
  let container: Container;
  let watch: Client;

  beforeEach(async () => {
    home = new Home({ kite: ".kite" });
    world = new HookWorld(program);
    await home.start();
    container = await Container.start(home);
    watch = await home.connect();
    await watch.ask({ type: "subscribe" });
  });

  afterEach(async () => {
    await world.dispose();
    await home.dispose();
  });

  const event = (session: string, cwd: string, name: string, fields: object = {}) =>
    JSON.stringify({ session_id: session, cwd, prompt_id: session, hook_event_name: name, ...fields });

  const edit = (folder: string, file: string, use: string) => ({
    tool_name: "Edit",
    tool_input: { file_path: join(folder, file), old_string: "a", new_string: "b" },
    tool_use_id: use,
  });

  /** A hook in the container. */
  function inside(text: string, env: Record<string, string> = {}): Promise<Ended> {
    return container.run([...program.command, "52000"], text, env);
  }

  /** A hook on the host. */
  function outside(text: string): Promise<Ended> {
    return world.start({ stdin: text, env: { KITE_HOME: home.paths.home } }).ended;
  }

  async function rows(target: string): Promise<Record<string, unknown>[]> {
    return (await watch.ask({ type: "query", target }))["rows"] as Record<string, unknown>[];
  }

  test("one file under two paths is one lock", async () => {
    writeFileSync(join(home.work, "a.txt"), "a\n");
    const start = event("in", container.work, "SessionStart", { source: "startup" });
    expect(await inside(start)).toEqual(silent);
    const mine = event("in", container.work, "PreToolUse", edit(container.work, "a.txt", "t1"));
    expect(await inside(mine)).toEqual(silent);
    expect(await rows("locks")).toMatchObject([{ path: join(home.work, "a.txt"), holder: { id: "in" } }]);
    expect(await rows("sessions")).toMatchObject([
      { id: "in", cwd: home.work, project: home.work, pid: null, container: true },
    ]);
    const waiting = outside(event("out", home.work, "PreToolUse", edit(home.work, "a.txt", "t2")));
    await watch.event("lock_queued", ({ waiter }) => (waiter as { id?: unknown }).id === "out");
    expect(await inside(event("in", container.work, "Stop", { background_tasks: [] }))).toEqual(silent);
    expect(await waiting).toEqual(silent);
    expect(await rows("locks")).toMatchObject([{ holder: { id: "out" } }]);
    // The person goes on with it on the host.
    await outside(
      event("in", home.work, "UserPromptSubmit", { transcript_path: join(home.root, "t.jsonl") }),
    );
    const went = (await rows("sessions")).find(({ id }) => id === "in");
    expect(went).not.toHaveProperty("container");
  });

  test("a file of the container's own is one key there, and none of the host", async () => {
    const [shared, own] = [join(container.own, "x"), join(container.own, "../own/x")];
    expect(await inside(event("a", container.work, "PreToolUse", edit("", shared, "t1")))).toEqual(silent);
    expect(await outside(event("b", home.work, "PreToolUse", edit("", shared, "t2")))).toEqual(silent);
    const waiting = inside(event("c", container.work, "PreToolUse", edit("", own, "t3")));
    await watch.event("lock_queued", ({ waiter }) => (waiter as { id?: unknown }).id === "c");
    const paths = (await rows("locks")).map(({ path }) => String(path));
    expect(paths.sort()).toEqual([expect.stringMatching(`^/container:\\d+${shared}$`), shared]);
    await inside(event("a", container.work, "Stop", { background_tasks: [] }));
    expect(await waiting).toEqual(silent);
  });

  test("a link that leads out of its mounts names the container's own file", async () => {
    const far = join(home.root, "far");
    mkdirSync(far);
    symlinkSync(far, join(home.work, "link"));
    symlinkSync("a.txt", join(home.work, "near"));
    // The container covers what lies there.
    await container.cover(far);
    for (const [file, path] of [
      ["link/x", /^\/container:\d+\/.*\/workspaces\/app\/link\/x$/],
      ["near", join(home.work, "a.txt")],
    ] as const) {
      expect(
        await inside(event("in", container.work, "PreToolUse", edit(container.work, file, file))),
      ).toEqual(silent);
      const paths = (await rows("locks")).map(row => row["path"]);
      expect(paths).toContainEqual(typeof path === "string" ? path : expect.stringMatching(path));
    }
    expect((await rows("locks")).map(row => row["path"])).not.toContain(join(far, "x"));
  });

  test("a line in the container that wipes the host agent's work is denied, in the container's paths", async () => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: home.work });
    git("init", "-q");
    writeFileSync(join(home.work, "a.txt"), "a\n");
    git("add", ".");
    git("commit", "-qm", "a");
    await outside(event("out", home.work, "SessionStart", { source: "startup" }));
    const wrote = edit(home.work, "a.txt", "t1");
    await outside(event("out", home.work, "PreToolUse", wrote));
    writeFileSync(join(home.work, "a.txt"), "b\n");
    await outside(event("out", home.work, "PostToolUse", wrote));
    await outside(event("out", home.work, "Stop", { background_tasks: [] }));
    await inside(event("in", container.work, "SessionStart", { source: "startup" }));
    const line = (command: string, use: string) =>
      inside(
        event("in", container.work, "PreToolUse", {
          tool_name: "Bash",
          tool_input: { command },
          tool_use_id: use,
        }),
      );
    for (const [i, command] of ["git checkout -- .", `rm ${container.work}/a.txt`, "rm a.txt"].entries()) {
      const { stdout } = await line(command, `g${i}`);
      const { permissionDecision, permissionDecisionReason: why } = JSON.parse(stdout).hookSpecificOutput;
      expect([command, permissionDecision]).toEqual([command, "deny"]);
      expect(why).toContain("a.txt");
      expect(why).not.toContain(home.work);
    }
    expect(await line(`rm ${container.own}/a.txt`, "g9")).toEqual(silent);
  });

  test("a worktree that git made in the container is a worktree of the project", async () => {
    const git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"];
    for (const args of [
      ["init", "-q"],
      ["commit", "-q", "--allow-empty", "-m", "a"],
      ["worktree", "add", "-q", "wt"],
    ])
      expect(await container.run([...git, ...args])).toMatchObject({ code: 0 });
    const start = { source: "startup" };
    expect(await inside(event("in", join(container.work, "wt"), "SessionStart", start))).toEqual(silent);
    expect(await rows("sessions")).toMatchObject([
      { id: "in", project: home.work, worktree: join(home.work, "wt"), branch: "wt" },
    ]);
  });

  test("KITE_MOUNTS counts where it is so, and is refused with a line where it is not", async () => {
    const mine = (use: string) =>
      event("in", container.work, "PreToolUse", edit(container.work, "a.txt", use));
    for (const [pairs, why] of [
      [`${container.work}=${home.paths.home}`, "is not"],
      [`${container.work}=${home.work}/none`, "does not find"],
      [`${container.root}/none=${home.work}`, "does not exist in the container"],
      [`${container.work}=${home.work}:${container.work}=${home.root}`, "stands for both"],
      ["app", "no pair of absolute paths"],
    ] as const) {
      const { stdout } = await inside(mine("t1"), { KITE_MOUNTS: pairs });
      expect(JSON.parse(stdout)).toEqual({ systemMessage: expect.stringContaining(why) });
      expect(await rows("locks")).toEqual([]);
    }
    expect(await inside(mine("t2"), { KITE_MOUNTS: `${container.work}=${home.work}` })).toEqual(silent);
    expect(await rows("locks")).toMatchObject([{ path: join(home.work, "a.txt") }]);
  });

  test("no daemon starts in the container, and the agent's person reads what to do", async () => {
    await home.daemon.kill();
    const up = await container.run([process.execPath, kiteProgram, "up"]);
    expect(up).toMatchObject({ code: 1, stdout: "" });
    expect(up.stderr).toContain("run kite up on the host");
    const mine = event("in", container.work, "PreToolUse", edit(container.work, "a.txt", "t1"));
    const { stdout, code } = await inside(mine);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ systemMessage: expect.stringContaining("Run `kite up` there") });
    await home.start();
    expect(await inside(mine)).toEqual(silent);
  });
});
