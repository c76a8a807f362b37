/**
 * Edits, turns and sessions that end while no daemon runs: the next daemon holds nothing for them, whether the hooks could
 * leave word of it or not, and frees nothing about which a person is asked.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, Home } from "./daemon.ts";
import { type Ended, ending, hookPrograms, silent } from "./hook-clients.ts";

const agent = "a0954b2b04fdf61ec";
const owners = ["main", "child", "both"] as const;
const nexts = ["with a next prompt", "without one"] as const;
const rows = owners.flatMap(owner =>
  nexts.map(next => ({ owner, next, id: `${owner} ${next}`.replaceAll(" ", "-") })),
);
type Owner = (typeof owners)[number];

let home: Home;

beforeEach(() => {
  home = new Home();
  mkdirSync(home.paths.home, { mode: 0o700 });
  // Short, or the test would wait for long.
  writeFileSync(home.paths.config, JSON.stringify({ yieldMs: 150 }));
});

afterEach(() => home.dispose());

describe.each([
  ["killed", "SIGKILL", hookPrograms[0]],
  ["stopped in order", "SIGTERM", hookPrograms[1]],
] as const)("while the daemon was %s", (_, signal, program) => {
  const pids = new Map<string, number>();

  async function hook(
    session: string,
    event: string,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<Ended> {
    const pid = pids.get(session) ?? (await home.bystander()).pid;
    pids.set(session, pid);
    const [command, ...args] = program?.command ?? ["false"];
    const child = home.adopt(
      spawn(command, [...args, "52000"], {
        env: { ...home.environment, CLAUDE_PID: String(pid) },
        stdio: "pipe",
      }),
    );
    child.stdin.on("error", () => undefined);
    const transcript_path = join(home.work, "claude", "projects", "p", `${session}.jsonl`);
    const common = { session_id: session, transcript_path, cwd: home.work, hook_event_name: event };
    child.stdin.end(JSON.stringify({ ...common, ...more }));
    return ending(child);
  }

  const tool = (session: string, whose: string) => ({
    ...(whose === "child" ? { agent_id: agent, agent_type: "general-purpose" } : {}),
    prompt_id: "p1",
    tool_name: "Edit",
    tool_use_id: `toolu-${session}-${whose}`,
    tool_input: { file_path: join(home.work, `${session}-${whose}`), old_string: "a", new_string: "b" },
  });

  const whose = (owner: Owner) => (owner === "both" ? ["main", "child"] : [owner]);

  async function letThrough(): Promise<void> {
    await home.start();
    for (const { owner, id } of rows) {
      expect(await hook(id, "SessionStart", { source: "startup" })).toMatchObject({ code: 0 });
      expect(await hook(id, "UserPromptSubmit", { prompt: "x", prompt_id: "p1" })).toMatchObject({ code: 0 });
      for (const one of whose(owner)) expect(await hook(id, "PreToolUse", tool(id, one))).toEqual(silent);
    }
  }

  async function away(meanwhile: () => Promise<void>): Promise<Client> {
    home.daemon.signal(signal);
    await home.daemon.exited;
    await meanwhile();
    await home.start();
    return home.connect();
  }

  /** Another session edits each file; none of its edits is denied. */
  async function takesEach(): Promise<void> {
    await hook("other", "SessionStart", { source: "startup" });
    for (const { owner, next, id } of rows) {
      if (next === "with a next prompt")
        expect(await hook(id, "UserPromptSubmit", { prompt: "y", prompt_id: "p2" })).toMatchObject({
          code: 0,
        });
      for (const one of whose(owner)) {
        const taken = { agent_id: null, tool_use_id: `toolu-other-${id}-${one}` };
        const ran = await hook("other", "PreToolUse", { ...tool(id, one), ...taken });
        expect(ran).toMatchObject({ code: 0 });
        expect(ran.stdout).not.toContain("deny");
      }
    }
  }

  const locks = async (client: Client) => {
    const { rows: all } = await client.ask({ type: "query", target: "locks" });
    return (all as readonly { path: string; use: string | null; holder: { id: string } }[]).filter(
      ({ holder }) => holder.id !== "other",
    );
  };

  test("nothing stays held of what the hooks told of", async () => {
    await letThrough();
    const client = await away(async () => {
      for (const { owner, id } of rows) {
        for (const one of whose(owner)) {
          expect(await hook(id, "PostToolUse", { ...tool(id, one), tool_response: {} })).toEqual(silent);
          if (one === "child") {
            const stop = { agent_id: agent, agent_type: "general-purpose", background_tasks: [] };
            expect(await hook(id, "SubagentStop", stop)).toEqual(silent);
          }
        }
        if (owner !== "child") expect(await hook(id, "Stop", { background_tasks: [] })).toEqual(silent);
      }
    });
    expect(await locks(client)).toEqual([]);
    expect(existsSync(home.paths.unheardEnds)).toBe(false);
    await takesEach();
  });

  test("nothing stays held of what nobody told of", async () => {
    await letThrough();
    const client = await away(async () => undefined);
    expect((await locks(client)).every(({ use }) => use === "writes" || use === null)).toBe(true);
    await takesEach();
    expect(await locks(client)).toEqual([]);
  });

  test("what a person is asked about stays, and goes when it is answered", async () => {
    await home.start();
    const mine = tool("asked", "main");
    await hook("asked", "SessionStart", { source: "startup" });
    expect(await hook("asked", "PreToolUse", mine)).toEqual(silent);
    const { tool_use_id: _, ...question } = mine;
    await hook("asked", "PermissionRequest", question);
    const status = join(home.work, "claude", "sessions", `${pids.get("asked")}.json`);
    mkdirSync(dirname(status), { recursive: true });
    writeFileSync(
      status,
      JSON.stringify({ sessionId: "asked", status: "waiting", waitingFor: "permission" }),
    );
    expect(await hook("gone", "PreToolUse", tool("gone", "main"))).toEqual(silent);
    const client = await away(async () => undefined);
    await client.ask({ type: "subscribe" });
    const waiting = hook("other", "PreToolUse", { ...mine, tool_use_id: "toolu-other" });
    await client.event("lock_queued");
    // Another write of before yields meanwhile: the start is longer ago than the time to yield.
    const taken = { ...tool("gone", "main"), tool_use_id: "toolu-third" };
    expect((await hook("third", "PreToolUse", taken)).stdout).not.toContain("deny");
    expect((await locks(client)).map(({ holder }) => holder.id).filter(id => id === "asked")).toEqual([
      "asked",
    ]);
    await hook("asked", "PostToolUse", { ...mine, tool_response: {} });
    expect((await waiting).stdout).not.toContain("deny");
  });

  test("a session that ended is gone, though its process lives", async () => {
    await home.start();
    await hook("s", "SessionStart", { source: "startup" });
    expect(await hook("s", "PreToolUse", tool("s", "main"))).toEqual(silent);
    const client = await away(async () => {
      expect(await hook("s", "SessionEnd", { reason: "prompt_input_exit" })).toEqual(silent);
    });
    expect(await locks(client)).toEqual([]);
    expect(await client.ask({ type: "query", target: "sessions" })).toMatchObject({ rows: [] });
  });
});
