/** The report of kite doctor --bundle: what is in it, and what must never be. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { Shortener } from "../../bin/doctor/bundle.ts";
import { doctor } from "../../bin/doctor/doctor.ts";
import { clients } from "../../bin/install/clients.ts";
import { segmentName } from "../../daemon/journal/disk.ts";
import { encode, type TrailLine } from "../../daemon/trail/line.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type FakeWorld, fakeWorld } from "./command-world.ts";

let root: string;
let world: FakeWorld;
let project: string;

const line: TrailLine = {
  at: 1_700_000_000_000,
  event: "PreToolUse",
  id: "0f3c8a52-9d1e-4c67-8b8a-acmesession01",
  agent: "innerzebra",
  name: "warm-hawk",
  project: "",
  type: "Edit",
  file: "",
  decision: "deny",
  rule: "lock",
  code: "lock_held",
  why: "SECRETREASON of warm-hawk",
  holder: "cold-otter",
  task: "t-SECRETTASK-1",
};

beforeEach(() => {
  root = temporaryFolder("kite-bundle-");
  const home = join(root, "zelda");
  project = join(home, "Acme Rocket", "engine");
  mkdirSync(project, { recursive: true });
  const kite = join(home, ".kite");
  mkdirSync(join(kite, "trail"), { recursive: true, mode: 0o700 });
  mkdirSync(join(kite, "journal"), { mode: 0o700 });
  writeFileSync(join(kite, "journal", segmentName(1, 1)), "");
  world = {
    ...fakeWorld({ home: kite, env: { HOME: home, USER: "zelda", PATH: "/usr/bin:/bin" } }),
    cwd: project,
  };
  const lines = [
    { ...line, project: join(project, ".git"), file: join(project, "thruster.ts") },
    {
      ...line,
      project: join(project, ".git"),
      file: join(project, "thruster.ts"),
      type: "./SECRETSCRIPT",
      name: "cold-otter",
    },
  ];
  writeFileSync(join(kite, "trail", "trail-1.ndjson"), lines.map(encode).join(""));
  writeFileSync(join(kite, "person.token"), `${"ab12".repeat(16)}\n`);
  const log = [
    {
      level: "warn",
      time: "2026-11-26T10:00:00Z",
      msg: `${join(project, "thruster.ts")} of warm-hawk is odd: "SECRETQUOTE" to zelda@rocket.example`,
    },
    {
      level: "error",
      time: "2026-11-26T10:00:01Z",
      msg: `the token ${"ab12".repeat(16)} did not fit`,
      value: "SECRETVALUE",
      err: { message: `EACCES ${project}`, stack: "SECRETSTACK" },
    },
  ];
  writeFileSync(join(kite, "daemon.log"), log.map(one => `${JSON.stringify(one)}\n`).join(""));
  writeFileSync(
    join(kite, "config.json"),
    JSON.stringify({ logLevel: "debug", ignore: ["SECRETGLOB/**"], SECRETKEY: 1 }),
  );
});

it("has no secrets, no home directory and no names of people, and is for its writer alone", async () => {
  await doctor(world, clients, { bundle: "report.json" });
  const file = join(project, "report.json");
  const text = readFileSync(file, "utf8");
  for (const marker of [
    "SECRET",
    "zelda",
    "Acme",
    "Rocket",
    "rocket",
    "engine",
    "thruster",
    "warm-hawk",
    "cold-otter",
    "innerzebra",
    "acmesession",
    "ab12ab12",
    root,
  ])
    expect(text).not.toContain(marker);
  for (const name of [userInfo().username, hostname()]) expect(text).not.toMatch(new RegExp(`\\b${name}\\b`));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const told = world.out().replaceAll(/\s+/g, " ");
  expect(told).toContain("for yourself alone. It has versions, settings and their sources,");
});

it("tells versions, settings with their sources, decisions and the log, the same file by the same name", async () => {
  await doctor(world, clients, { bundle: "report.json", json: true });
  const { bundle, checks: rows } = JSON.parse(world.out());
  expect(bundle).toEqual({
    file: join(project, "report.json"),
    bytes: statSync(join(project, "report.json")).size,
  });
  const { versions, settings, checks, decisions, log, sizes } = JSON.parse(readFileSync(bundle.file, "utf8"));
  expect(versions.node).toBe(process.versions.node);
  expect(settings.logLevel).toEqual({ value: "debug", source: "KITE/config.json" });
  expect(settings.ignore).toMatchObject({ value: "1 entries" });
  expect(checks.map((one: { check: string }) => one.check)).toEqual(
    rows.map((one: { check: string }) => one.check),
  );
  expect(decisions).toHaveLength(2);
  expect(decisions[0]).toMatchObject({ decision: "deny", code: "lock_held", type: "Edit" });
  expect(decisions[1]).toMatchObject({ type: "other", file: decisions[0].file, who: decisions[0].holder });
  expect(decisions[0].file).toMatch(/^~\/p\d+\/p\d+\/p\d+\.ts$/);
  expect(log[0].msg).toContain(`${decisions[0].file} of ${decisions[0].who} is odd`);
  expect(sizes.parts.map(([name]: [string]) => name)).toContain("trail");
});

it("is bounded, and overwrites nothing", async () => {
  const { trail, log } = world.paths;
  const lines = Array.from({ length: 3_000 }, (_, n) =>
    encode({ ...line, project: join(project, ".git"), file: join(project, `f${n}.ts`) }),
  );
  writeFileSync(join(trail, "trail-1.ndjson"), lines.join(""));
  const entry = JSON.stringify({ level: "info", time: "t", msg: "word ".repeat(2_000) });
  writeFileSync(log, `${entry}\n`.repeat(300));
  expect(await doctor(world, clients, { bundle: "report.json", json: true })).toBe(0);
  const text = readFileSync(join(project, "report.json"), "utf8");
  const { decisions } = JSON.parse(text);
  expect(decisions).toHaveLength(limits.bundleLinesMax);
  expect(text.length).toBeLessThan(256 * 1024);
  const again = fakeWorld({ home: world.paths.home });
  expect(
    await doctor({ ...world, stdout: again.stdout, stderr: again.stderr }, clients, {
      bundle: "report.json",
    }),
  ).toBe(1);
  expect(again.err()).toContain("the report was not written:");
  expect(readFileSync(join(project, "report.json"), "utf8")).toBe(text);
});

it("shortens a path in a sentence, up to its punctuation, and keeps what is Kite's own", () => {
  const short = new Shortener(kitePaths({ KITE_HOME: "/home/ana/.kite" }), "/home/ana");
  expect(short.text("/home/ana/.kite/bin/hook.pl is missing; see /home/ana/.claude/settings.json.")).toBe(
    "KITE/bin/hook.pl is missing; see ~/.claude/settings.json.",
  );
  const path = short.path("/home/ana/My Work/plan.md");
  expect(short.text("see /home/ana/My Work/plan.md, or /srv/other/plan.md")).toBe(
    `see ${path}, or /srv/p${Number(/p(\d+)\.md/.exec(path)?.[1]) + 2}/${path.split("/").at(-1)}`,
  );
});
