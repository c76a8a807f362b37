/** A person's settings count in a running daemon as soon as the file changes; a broken file leaves those of before in force. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Client, Home } from "./daemon.ts";

let home: Home;
let lead: Client;
beforeAll(async () => {
  home = new Home();
  await home.start();
  lead = await home.session("lead");
});
afterAll(() => home.dispose());

let spawns = 0;

/** Asks for one more agent. */
function spawn() {
  spawns += 1;
  const of = { backend: "tmux", client: "claude-code", base: "main", prompt: "do it" };
  return lead.ask({ type: "spawn_create", id: "lead", name: `agent-${spawns}`, ...of });
}

/** What a command prints, however wide the screen is. */
async function said(...words: string[]): Promise<string> {
  return (await home.command(words)).out.replace(/\s+/g, " ");
}

it("a setting counts at once", async () => {
  expect(await spawn()).toMatchObject({ ok: true });
  expect(await home.kite("config", "set", "spawnMax", "1")).not.toMatch(/kite down|next start/);
  expect(await spawn()).toMatchObject({ ok: false, error: expect.stringContaining("as many as it may") });
  await home.kite("config", "set", "spawnMax", "2");
  expect(await spawn()).toMatchObject({ ok: true });
  rmSync(home.paths.config);
  expect(await spawn()).toMatchObject({ ok: true });
});

it("the level of the log counts at once, too", async () => {
  await home.kite("config", "set", "logLevel", "silent");
  writeFileSync(home.paths.config, '{"unknown": 1}');
  expect(await spawn()).toMatchObject({ ok: true });
  expect(readFileSync(home.paths.log, "utf8")).toContain("unknown");
});

it("a broken file leaves the settings of before in force, and everybody says so", async () => {
  // Four of those before were begun.
  await home.kite("config", "set", "spawnMax", "4");
  expect(await spawn()).toMatchObject({ ok: false });
  writeFileSync(home.paths.config, '{"spawnMax": ');
  expect(await spawn()).toMatchObject({ ok: false });
  const kept = "keeps the settings that it read before";
  expect(await said("status")).toContain(kept);
  expect(await said("config")).toContain(kept);
  expect(await said("doctor")).toContain(kept);
  const json = JSON.parse((await home.command(["config", "--json"])).out);
  expect(json.problems.join(" ")).toContain(kept);
  writeFileSync(home.paths.config, "{}");
  expect(await spawn()).toMatchObject({ ok: true });
  for (const words of [["status"], ["config"], ["doctor"]]) expect(await said(...words)).not.toContain(kept);
});

it("a setting that a running daemon does not take over says so", async () => {
  const later = "counts from the daemon's next start";
  expect(await home.kite("config", "set", "rescue", "off")).toContain(
    `rescue ${later}: kite down && kite up`,
  );
  expect(await said("status")).toContain(`rescue ${later}`);
  expect(await said("config")).toContain(`! rescue ${later}`);
  expect(await said("doctor")).toContain("rescue has another value than the running daemon");
  await home.kite("config", "unset", "rescue");
  expect(await said("status")).not.toContain(later);
});
