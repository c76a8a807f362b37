/** `kite install --client codex` with the real client: whose hooks `codex exec` runs, and what stays behind. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { programs } from "../claude/programs.ts";
import { World } from "../claude/world.ts";
import type { Script } from "../clients/model.ts";
import { ClientSession } from "../clients/session.ts";
import { kiteProgram } from "../end-to-end/kite.ts";
import { change, codex, patch } from "./codex.ts";

let world: World;
let home: string;
let bin: string;

beforeEach(async () => {
  world = await World.create(programs);
  world.write("a.ts", "one\n");
  home = world.folder("new-user");
  bin = join(home, "bin");
  mkdirSync(bin);
  symlinkSync(process.env["KITE_TEST_CODEX"] ?? "", join(bin, "codex"));
  return () => world.dispose();
});

/** Runs kite as the person whose home it is. */
function kite(...args: readonly string[]): string {
  const env = { HOME: home, KITE_HOME: world.paths.home, PATH: `${bin}:${process.env["PATH"] ?? ""}` };
  const ran = spawnSync(process.execPath, [kiteProgram, ...args], { cwd: home, env, encoding: "utf8" });
  expect(ran.stderr).toBe("");
  return ran.stdout;
}

const script: Script = [{ calls: [patch("call_1", ...change("a.ts", "one", "ONE"))] }, { say: "Done." }];
const start = () => ClientSession.start(codex, world, "", script, { home });

test("codex exec skips the hooks until the person trusts them, and then registers its session", async () => {
  await world.up();
  const config = join(home, ".codex", "config.toml");
  mkdirSync(join(home, ".codex"));
  writeFileSync(config, "# mine\n");
  kite("install", "--client", "codex");
  const before = await start();
  expect(await before.ended).toBe(0);
  expect(await world.kite("log")).not.toContain("session began");
  expect(kite("install", "--client", "codex", "--trust")).toContain("Codex trusts Kite's hooks");
  expect(kite("doctor")).toMatch(/codex\s+Codex \S+ has all entries in .*, and\s+trusts them/);
  world.write("a.ts", "one\n");
  const after = await start();
  expect(await after.ended).toBe(0);
  expect(await world.kite("log")).toMatch(/allow .* apply_patch +a\.ts/);
  kite("uninstall", "--client", "codex");
  const left = readFileSync(config, "utf8");
  expect(left).toContain("# mine\n");
  expect(left).not.toMatch(/kite|trusted_hash/);
});
