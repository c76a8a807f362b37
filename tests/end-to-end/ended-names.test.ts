/** Names of agents that ended: their work and their trail still show them, and advice names who can answer. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import { GuardWorld } from "./guard-world.ts";
import { kite } from "./kite.ts";

const w = new GuardWorld();
let dir: string;

/** As the client says of which agent within a session an event is. */
const explorer = { agent_id: "a3049ff1c2d4e5f60", agent_type: "Explore" };

beforeAll(async () => {
  await w.start("deny", claudeCode);
  dir = w.repo("ended");
  for (const id of ["captain", "other"]) {
    await w.event(id, dir, { hook_event_name: "SessionStart", source: "startup" });
    const client = await w.client();
    expect(await client.ask({ type: "register", id, name: id, cwd: dir })).toMatchObject({ ok: true });
  }
  await w.event("captain", dir, { hook_event_name: "SubagentStart", ...explorer });
  const call = {
    tool_name: "Write",
    tool_input: { file_path: `${dir}/a.ts` },
    tool_use_id: "w1",
    ...explorer,
  };
  await w.event("captain", dir, { hook_event_name: "PreToolUse", ...call });
  w.put(dir, "a.ts", "changed\n");
  await w.event("captain", dir, { hook_event_name: "PostToolUse", tool_response: {}, ...call });
  await w.event("captain", dir, { hook_event_name: "SubagentStop", ...explorer });
  await w.event("captain", dir, { hook_event_name: "Stop", background_tasks: [] });
});
afterAll(() => w.dispose());

async function printed(...args: string[]): Promise<string> {
  const { code, out, err } = await kite(
    { cwd: dir, env: { ...w.environment, KITE_HOME: w.paths.home } },
    args,
  );
  expect([code, err]).toEqual([0, ""]);
  return out;
}

async function line(command: string): Promise<string> {
  const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: `b-${command}` };
  const said = await w.event("other", dir, { hook_event_name: "PreToolUse", ...call });
  return said === "" ? "" : JSON.parse(said).hookSpecificOutput.permissionDecisionReason;
}

async function shows(): Promise<void> {
  expect(await printed("whose")).toMatch(/a\.ts +captain\/Explore /);
  expect(await printed("explain", "--file", "a.ts")).toContain("captain/Explore");
  const denied = await line("git checkout .");
  expect(denied).toContain('"a.ts" has uncommitted changes of "captain/Explore" (ended)');
  expect(denied).toContain('tell "captain" what you need');
  for (const args of [["log"], ["explain", "--file", "a.ts"], ["explain", "captain"], ["whose"], ["status"]])
    expect(await printed(...args), args.join(" ")).not.toContain("a3049ff1");
}

it("stand in whose, explain, log, status and the guard's words", shows);

it("stand there after a restart, too", async () => {
  await w.trail("captain");
  await shows();
});
