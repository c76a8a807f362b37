import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  atMostConflicts,
  type Payload,
  type Replay,
  ReplayWorld,
  sequences,
  type Watcher,
} from "./hook-replay.ts";

/** Every recorded sequence through the installed hooks: alone, and all of them at once. */
let world: ReplayWorld;
let watch: Watcher;

// Every replay has ids of its own, and nothing is left of it at its end.
beforeAll(async () => {
  world = await ReplayWorld.make();
  await world.home.start();
});

beforeEach(async () => {
  watch = await world.watch();
});

afterAll(() => world.remove());

/** Looks, after each event of the replay, whether what it showed is shown. */
function shownBy(replay: Replay) {
  const agents = new Set<string>();
  /** Teammates that agreed to shut down: their next turn's end is their last. */
  const leaving = new Set<string>();
  return {
    agents,
    after: async (payload: Payload): Promise<void> => {
      const { hook_event_name: event, session_id: id, agent_id: agent } = payload;
      const session = await watch.session(id);
      if (event === "SessionEnd") {
        const goesOn = payload["reason"] === "clear";
        expect(session === undefined).toBe(!goesOn);
        return;
      }
      expect(session?.id).toBe(id);
      const row = session?.agents.find(a => a.agent === agent);
      if (event === "UserPromptSubmit") expect(session?.status).toBe("active");
      if (event === "Stop") {
        expect(session?.status).toBe("idle");
        expect((await watch.held()).filter(l => l.endsWith(`: ${id}`))).toEqual([]);
      }
      if (event === "SubagentStart") {
        expect(row).toMatchObject({ status: "active" });
        expect(row?.name.replace(/-\d+$/, "")).toBe(payload["agent_type"]);
        agents.add(String(agent));
      }
      if (event === "SubagentStop" && payload["agent_type"] !== "") {
        if (leaving.has(String(agent))) {
          await replay.settled();
          expect((await watch.session(id))?.agents.map(a => a.agent)).not.toContain(agent);
        } else {
          expect(row?.status).toBe("idle");
        }
        expect((await watch.held()).filter(l => l.endsWith(`: ${id} ${agent}`))).toEqual([]);
      }
      const input = payload["tool_input"];
      const agreed = JSON.stringify(input ?? {}).includes('"type":"shutdown_response"');
      if (event === "PostToolUse" && agreed) leaving.add(String(agent));
      const task = typeof input === "object" && input !== null ? Reflect.get(input, "task_id") : null;
      if (event === "PostToolUse" && payload["tool_name"] === "TaskStop") {
        await replay.settled();
        expect((await watch.session(id))?.agents.map(a => a.agent)).not.toContain(task);
      }
    },
  };
}

/** Every hook ended with 0; only a start may have said something, of the others that are here. */
function checkRan(replay: Replay): void {
  for (const ran of replay.ran) {
    const isStart = ran.event === "SessionStart" || ran.event === "SubagentStart";
    if (!isStart || ran.stdout === "") atMostConflicts(ran);
    else {
      const said = expect.stringMatching(/Kite: [1-9].* works? in (?:this project|your session)/);
      expect(ran).toMatchObject({ code: 0, stderr: "", stdout: said });
    }
  }
}

/** Files that were granted, or released, so far. */
function files(event: "lock_granted" | "lock_released"): number {
  return watch.seen.reduce((sum, e) => sum + (e.event === event && "files" in e ? e.files.length : 0), 0);
}

async function nothingIsLeft(): Promise<void> {
  // Writes that were seen to end late, or after their turn, are no lost ones.
  expect(watch.seen.filter(e => e.event === "lost_update")).toEqual([]);
  expect(await watch.locks()).toEqual([]);
  expect(await watch.sessions()).toEqual([]);
}

describe("alone", () => {
  test.each([
    ["a-plain-session", 0, 3],
    ["c-subagents", 6, 1],
    ["c-subagent-ends", 2, 0],
    ["d-team-in-process", 3, 1],
    ["d-team-panes", 1, 1],
    ["g-compact-clear", 0, 0],
    ["k-interrupts", 0, 0],
    ["p-bypass-denied", 1, 0],
  ] as const)("%s: %i agents are shown, %i files are locked and freed", async (name, agents, locks) => {
    const replay = world.replay(name);
    const shown = shownBy(replay);
    await replay.toTheEnd(shown.after);
    checkRan(replay);
    expect(shown.agents.size).toBe(agents);
    expect([files("lock_granted"), files("lock_released")]).toEqual([locks, locks]);
    await nothingIsLeft();
  });
});

test("all at once, each twice: some wait for others, nobody is refused, nothing is left", async () => {
  const replays = [...sequences, ...sequences].map(name => world.replay(name));
  await Promise.all(replays.map(replay => replay.toTheEnd()));
  for (const replay of replays) checkRan(replay);
  const started = watch.seen.filter(e => e.event === "session_started").length;
  expect(started).toBe(replays.flatMap(r => r.sessions).length);
  expect([files("lock_granted"), files("lock_released")]).toEqual([12, 12]);
  await nothingIsLeft();
});

test("through the Node client, with every event forwarded, it is the same", async () => {
  await world.run("install", "--project", world.repo, "--hook-program", "node", "--every-event");
  const replay = world.replay("c-subagents");
  await replay.toTheEnd();
  checkRan(replay);
  expect(replay.ran.filter(r => r.event === "PostToolBatch").length).toBeGreaterThan(5);
  await nothingIsLeft();
});
