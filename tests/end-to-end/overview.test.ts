/** The request `overview`: what `kite status` shows, in one answer. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Home } from "./daemon.ts";

const home = new Home();
let repository: string;

beforeAll(async () => {
  repository = join(home.work, "shop");
  mkdirSync(join(repository, "src"), { recursive: true });
  execFileSync("git", ["init", "-q", repository], { env: home.environment });
  await home.start();
});

afterAll(() => home.dispose());

test("has the project of a directory, and the lists as a query has them", async () => {
  const client = await home.session("alice");
  await client.ask({ type: "file_lock", id: "alice", file: join(home.work, "a.ts") });
  const seen = await client.ask({ type: "overview", cwd: join(repository, "src") });
  expect(seen).toMatchObject({ ok: true, project: repository, off: [], stats: { ok: true, sessions: 1 } });
  expect(seen).not.toHaveProperty("unreachable");
  expect(seen["sessions"]).toMatchObject({ ok: true, rows: [{ id: "alice" }] });
  expect(seen["locks"]).toMatchObject({ ok: true, rows: [{ path: join(home.work, "a.ts") }] });
  for (const list of ["holds", "refusals", "risks", "watched"]) {
    expect(seen[list]).toEqual({ ok: true, rows: [] });
  }
  expect(await client.ask({ type: "overview" })).toMatchObject({ ok: true, project: null });
});

test("counts the tasks of the project alone, and a directory that is not there is no project", async () => {
  const client = await home.session("carol");
  const here = { type: "task_create", id: "carol", project: repository, description: "here" };
  await client.ask(here);
  await client.ask({ ...here, project: "elsewhere" });
  const seen = await client.ask({ type: "overview", cwd: repository });
  expect(seen).toMatchObject({ projectTasks: { ready: 1 }, stats: { tasks: { ready: 2 } } });
  const shown = await home.command(["status", repository]);
  expect(shown.out).toContain("Tasks: 1 ready");
  expect(shown.out).toContain("No sessions in this project.");
  expect((await home.command(["status", "--all"])).out).toContain("Tasks: 2 ready");
  for (const words of [
    ["status", "/none"],
    ["status", "--sessions", "/none"],
  ])
    expect(await home.command(words)).toMatchObject({
      code: 1,
      out: "",
      err: "kite: there is no directory /none; name one of the project\n",
    });
});

test("refuses a relative directory", async () => {
  const client = await home.connect();
  const refused = await client.ask({ type: "overview", cwd: "src" });
  expect(refused).toMatchObject({ ok: false, code: "invalid_request", path: "cwd" });
});

test("says where Kite is off, and status shows it", async () => {
  await home.kite("off", "--project", repository);
  await home.kite("off", "--for", "1h");
  const { off } = await (await home.connect()).ask({ type: "overview" });
  expect(off).toEqual([
    { scope: "all", of: null, name: null, until: expect.any(Number) },
    { scope: "project", of: repository, name: null, until: null },
  ]);
  const shown = await home.kite("status");
  expect(shown).toMatch(
    /^! Kite is off everywhere until .*: edits are not coordinated\. Switch it on: kite on$/m,
  );
  expect(shown).toMatch(/^! Kite is off in ~\/work\/shop\. Switch it on: kite on --project ~\/work\/shop$/m);
});
