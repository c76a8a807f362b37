/** Titles that the real client makes of its sessions: on a person's terminal, and nowhere else. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import type { Turn } from "./model.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import { World } from "./world.ts";

/** Stand in titles and in prompts, and nowhere else. */
const markers = { title: "MARKERTITLE", prompt: "MARKERPROMPT" };

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  await world.up();
  return () => world.dispose();
});

/** What a person sees of a command at a terminal of 80 columns. */
async function atTerminal(words: string): Promise<string> {
  const line = `stty cols 80 rows 24; exec '${process.execPath}' '${programs.kite}' ${words}`;
  const env = {
    PATH: process.env["PATH"],
    HOME: world.paths.home,
    KITE_HOME: world.paths.home,
    TERM: "xterm",
    NO_COLOR: "1",
  };
  const { stdout } = await promisify(execFile)("script", ["-qfec", line, "/dev/null"], {
    cwd: world.repository,
    env,
  });
  return stdout.replaceAll("\r\n", "\n");
}

/** The files of Kite that contain a marker. */
function filesWithMarker(): readonly string[] {
  return readdirSync(world.paths.home, { recursive: true, encoding: "utf8" }).filter(name => {
    const path = join(world.paths.home, name);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
    const text = readFileSync(path, "latin1");
    return Object.values(markers).some(marker => text.includes(marker));
  });
}

const status = (id: string): Turn => call(id, "mcp__kite__kite_status", { details: true });

test("of two sessions and a subagent a person sees the titles, and no agent, file or log has one", async () => {
  const [looked, over] = [new Moment(), new Moment()];
  const agent = {
    description: "Look around",
    prompt: `Look for ${markers.prompt}.`,
    subagent_type: "general-purpose",
  };
  const titled = (name: string) => ({
    prompt: `Please look through all of the ${name} module for ${markers.prompt} and tell me which of its functions are never called.`,
    aside: JSON.stringify({ title: `Look through ${markers.title} ${name}` }),
    env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "" },
    settings: { permissions: { allow: ["Bash", "mcp__kite"] } },
  });
  for (const name of ["parser", "router"]) await world.tools(name);
  const first = await world.interactive(
    "parser",
    [
      call("toolu_1", "Agent", { ...agent, run_in_background: false }),
      looked.before(status("toolu_2")),
      say("Done."),
      over.before(say("Done.")),
    ],
    titled("parser"),
  );
  const second = await world.interactive(
    "router",
    [looked.before(status("toolu_3")), over.before(say("Done."))],
    titled("router"),
  );
  await first.asked(2);
  await second.asked(1);
  const shown = async () => {
    const text = await atTerminal("status");
    return ["parser", "router"].map(name => text.includes(`${markers.title} ${name}`));
  };
  await expect.poll(shown, { timeout: 30_000 }).toEqual([true, true]);
  expect(await atTerminal("status")).not.toContain(markers.prompt);
  expect(filesWithMarker()).toEqual([]);
  looked.reached();
  await first.asked(4);
  await second.asked(2);
  for (const [session, id] of [
    [first, "toolu_2"],
    [second, "toolu_3"],
  ] as const) {
    expect(session.model.result(id).isError).toBe(false);
    for (const marker of Object.values(markers)) expect(session.model.result(id).text).not.toContain(marker);
    for (const note of session.model.notes) expect(note).not.toContain(markers.title);
  }
  expect(await world.kite("log", "-n", "1000")).not.toMatch(/MARKER/);
  expect(filesWithMarker()).toEqual([]);
  over.reached();
});
