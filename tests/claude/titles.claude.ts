/** Titles that the real client makes of its sessions: on a person's terminal, and nowhere else. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import type { Turn } from "./model.ts";
import { hasTmux } from "./panes.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import { shownAtTerminal } from "./terminal.ts";
import { World } from "./world.ts";

/** Stand in titles and in prompts, and nowhere else. */
const markers = { title: "MARKERTITLE", prompt: "MARKERPROMPT" };

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  await world.up();
  return () => world.dispose();
});

/** What a person sees of a command. */
function atTerminal(words: string): Promise<string> {
  const { home } = world.paths;
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, KITE_HOME: home, NO_COLOR: "1" };
  return shownAtTerminal(`'${process.execPath}' '${programs.kite}' ${words}`, world.repository, env);
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

test.skipIf(!hasTmux())("of a teammate in a pane a person sees the title, and no agent has it", async () => {
  const [looked, over] = [new Moment(), new Moment()];
  await world.tools("lead");
  const prompt = `[[agent:alice]] Please look through all of the parser for ${markers.prompt} and say what is never called.`;
  const lead = await world.panes(
    "lead",
    [
      call("toolu_1", "Agent", { description: "Look around", prompt, name: "alice" }),
      looked.before(status("toolu_2")),
      over.before(say("Done.")),
    ],
    {
      aside: JSON.stringify({ title: `Look through ${markers.title}` }),
      env: { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "" },
      mates: { alice: [over.before(say("Done."))] },
    },
  );
  const { model } = lead;
  await model.asked(1, "alice").catch((error: unknown) => {
    throw new Error(lead.screen(), { cause: error });
  });
  const row = new RegExp(`alice .*"Look through ${markers.title}"`);
  await expect.poll(() => atTerminal("status"), { timeout: 30_000 }).toMatch(row);
  looked.reached();
  await model.asked(3);
  expect(model.result("toolu_2")).toMatchObject({
    isError: false,
    text: expect.not.stringContaining("MARKER"),
  });
  expect(await world.kite("log", "-n", "1000")).not.toMatch(/MARKER/);
  expect(filesWithMarker()).toEqual([]);
  over.reached();
});

if (!hasTmux()) console.log("SKIPPED: titles in panes, since tmux is not on this machine");
