import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Container, containerProblem } from "./container.ts";
import { type Client, Home } from "./daemon.ts";
import { type Ended, HookWorld, hookPrograms, silent } from "./hook-clients.ts";

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
  });
});
