/** kite doctor and kite status on installed hooks: they are run for real, and missing ones are named. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Home } from "./daemon.ts";

let home: Home;

beforeEach(async () => {
  home = new Home();
  mkdirSync(join(home.work, ".git"));
  await home.start();
});

afterEach(() => home.dispose());

const kite = (...args: string[]): Promise<string> => home.kite(...args);

interface Check {
  readonly check: string;
  readonly result: string;
  readonly detail: string;
}

/** The checks of installed hooks, as doctor has them. A check that fails makes it exit with 1. */
async function checks(): Promise<Check[]> {
  const said = await kite("doctor", "--json").catch((error: { readonly stdout: string }) => error.stdout);
  return JSON.parse(said).checks.filter(({ check }: Check) => check.startsWith("hook"));
}

it.each(["perl", "node"])("sends an event through the %s client, and times it", async client => {
  await kite("install", "--project", "--hook-program", client);
  const [where, copies, trip, ...more] = await checks();
  expect([where?.result, copies?.result, trip?.result]).toEqual(["ok", "ok", "ok"]);
  // All entries run the same program, the one that may wait for minutes among them.
  expect(more).toEqual([]);
  expect(copies?.detail).toContain("of this version");
  expect(trip?.detail).toMatch(
    client === "perl" ? /hook\.pl: an event and back in [\d.]+ ms$/ : /hook\.cjs: an event and back in/,
  );
});

it("sees a client of another version, and one that does not get through", async () => {
  await kite("install", "--hook-program", "perl");
  const file = join(home.paths.bin, "hook.pl");
  appendFileSync(file, "# older\n");
  expect((await checks()).map(c => c.result)).toEqual(["ok", "warn", "ok"]);
  const { warnings } = JSON.parse(await kite("status", "--json"));
  expect(warnings).toEqual([
    expect.stringContaining(`${file} belongs to another version of Kite; install again`),
  ]);
  writeFileSync(file, "exit 0;");
  expect((await checks()).at(-1)).toMatchObject({
    result: "fail",
    detail: `${file}: 0 of 5 events reached the daemon`,
  });
  writeFileSync(file, "exit 7;");
  expect((await checks()).at(-1)).toMatchObject({
    result: "fail",
    detail: `${file} does not run: it ended with 7`,
  });
});

it("sees a launcher that starts a Kite elsewhere", async () => {
  await kite("install");
  const start = join(home.paths.bin, "start");
  writeFileSync(start, readFileSync(start, "utf8").replaceAll("kite.cjs", "moved.mjs"));
  expect((await checks())[1]).toMatchObject({
    result: "warn",
    detail: `${start} does not start the daemon of this Kite`,
  });
});

it("starts the tools for agents as the client does, and misses an entry that somebody took out", async () => {
  const tools = async () => {
    const said = await kite("doctor", "--json").catch((error: { readonly stdout: string }) => error.stdout);
    return JSON.parse(said).checks.filter(({ check }: Check) => check === "agent tools");
  };
  await kite("install", "--no-mcp");
  expect(await tools()).toEqual([]);
  await kite("install");
  const server = join(home.paths.bin, "mcp");
  const [works] = await tools();
  expect(works.detail).toMatch(/: \d\d tools in \d+ ms$/);
  expect(works).toMatchObject({ result: "ok", detail: expect.stringContaining(server) });
  writeFileSync(server, "#!/bin/sh\nexit 1\n");
  expect(await tools()).toMatchObject([{ result: "fail", detail: `${server} does not answer` }]);
  const file = join(dirname(home.work), ".claude.json");
  writeFileSync(file, "{}");
  expect(await tools()).toMatchObject([{ result: "warn", detail: `the entry was removed: ${file}` }]);
});

it("names all directories without hooks on one line", async () => {
  const folders = Array.from({ length: 5 }, () => home.folder());
  for (const [n, cwd] of folders.entries())
    await home.session(`3f8a2b4c-0000-4000-8000-00000000000${n}`, { cwd, project: cwd });
  const { warnings } = JSON.parse(await kite("status", "--json"));
  const first = folders.slice(0, 3).join(", ");
  expect(warnings).toEqual([`Sessions work in ${first}, 2 more without hooks: see kite doctor.`]);
  expect((await checks()).filter(({ detail }) => detail.startsWith("sessions work in"))).toEqual([
    expect.objectContaining({ detail: expect.stringContaining(`${first}, 2 more without hooks`) }),
  ]);
});

it("names where sessions work without hooks, until they have some", async () => {
  await home.session("3f8a2b4c-0000-4000-8000-000000000001");
  await home.session("terminal-1", { cwd: dirname(home.work) });
  const warning = `Sessions work in ${home.work} without hooks`;
  expect(await kite("status")).toContain(warning.slice(0, 40));
  expect(JSON.parse(await kite("status", "--json")).warnings).toEqual([`${warning}: see kite doctor.`]);
  expect((await checks()).map(c => c.result)).toEqual(["warn", "warn"]);
  await kite("install", "--project");
  expect(JSON.parse(await kite("status", "--json")).warnings).toEqual([]);
  await kite("uninstall", "--project");
  await kite("install");
  expect(JSON.parse(await kite("status", "--json")).warnings).toEqual([]);
});
