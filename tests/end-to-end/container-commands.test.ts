import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Container, containerProblem } from "./container.ts";
import { type Client, Home } from "./daemon.ts";
import { Mcp } from "./mcp-client.ts";

const problem = containerProblem();

test("containers can be made here, or it is said why not", () => {
  if (problem !== null) console.warn(`container-commands.test.ts tests nothing: ${problem}`);
  expect(problem).not.toBe("");
});

describe.each(problem === null ? ["kite"] : [])("%s in a container", () => {
  let home: Home;
  let container: Container;
  let host: Client;

  beforeEach(async () => {
    home = new Home({ kite: ".kite" });
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: home.work });
    git("init", "-q");
    writeFileSync(join(home.work, "a.txt"), "a\n");
    git("add", ".");
    git("commit", "-qm", "a");
    await home.start();
    container = await Container.start(home);
    host = await home.session("out", { project: undefined, name: "olga" });
  });

  afterEach(() => home.dispose());

  test("a lock is one lock on both sides, and each side reads its own paths", async () => {
    expect(await host.ask({ type: "file_lock", id: "out", file: "a.txt" })).toMatchObject({ ok: true });
    const refused = await container.kite(["lock", "a.txt", "--wait", "0", "--", "true"]);
    expect(refused).toMatchObject({ code: 75 });
    expect(refused.stderr).toContain("olga");
    const { stdout } = await container.kite(["status", "--json"]);
    const status = JSON.parse(stdout);
    expect(status.locks).toMatchObject([{ path: join(container.work, "a.txt"), holder: { name: "olga" } }]);
    expect(status.sessions).toMatchObject([{ id: "out", cwd: container.work, project: container.work }]);
    await host.ask({ type: "file_unlock", id: "out", file: "a.txt" });
    expect(await container.kite(["lock", "a.txt", "--", "true"])).toMatchObject({ code: 0 });
  });

  test("a server of tools acts for a session of the container", async () => {
    const mcp = await Mcp.start(home, {
      through: container.enter,
      env: { ...container.environment, KITE_HOME: "" },
    });
    try {
      const locked = await mcp.call("kite_lock", { files: ["a.txt"] });
      expect(locked.isError).toBe(false);
      const refused = await host.ask({ type: "file_lock", id: "out", file: "a.txt", waitMs: 0 });
      expect(refused).toMatchObject({ ok: false, path: join(home.work, "a.txt") });
      const { rows } = await host.ask({ type: "query", target: "sessions" });
      expect((rows as { container?: true; cwd: string }[]).filter(row => row.container)).toMatchObject([
        { cwd: home.work, pid: null },
      ]);
      const status = await mcp.call("kite_status", {});
      expect(status.text).toContain("a.txt");
      expect(status.text).not.toContain(home.work);
    } finally {
      await mcp.close();
    }
    expect((await home.command(["status", "--sessions"])).out).toContain("in a container");
  });

  test("what Kite says of files and of itself has the container's paths", async () => {
    const { stdout } = await container.kite(["doctor"]);
    expect(stdout.replace(/\s+/g, " ")).toContain(
      `the daemon runs on its host, where ${container.work} is ${home.work}`,
    );
    expect(stdout).not.toMatch(/^fail/m);
    const refused = await container.kite(["explain", "--last"]);
    expect(refused.stderr).toContain("refused nothing in this project");
    await host.ask({ type: "file_lock", id: "out", file: "a.txt" });
    await container.kite(["lock", "a.txt", "--wait", "0", "--", "true"]);
    expect((await container.kite(["explain", "--last"])).stdout).toContain("a.txt");
    expect((await container.kite(["log", "--file", "a.txt"])).stdout).toMatch(/deny .*a\.txt/);
    const explained = await container.kite(["explain", "a.txt"]);
    expect(explained.stdout).toMatch(/olga holds a\.txt/);
    await home.daemon.kill();
    expect((await container.kite(["doctor"])).stdout).toContain("run kite up on the host");
  });
});
