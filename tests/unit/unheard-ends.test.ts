/** What a start takes of ends that hook clients left: each line ends what began before it, and nothing else. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { writeState } from "../../daemon/core/snapshot.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { HookParts } from "../../daemon/hooks/parts.ts";
import { takeUnheardEnds } from "../../daemon/hooks/run.ts";
import type { Services } from "../../daemon/options.ts";
import { ClientTasks } from "../../daemon/sessions/client-tasks.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import { codex } from "../../hooks/clients/codex.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { actor, World, waits } from "./core-world.ts";

const child: Actor = { session: "a", agent: "a0954b2b04fdf61ec", incarnation: 0 };
const nothing = () => undefined;
const adapters = new Map([
  [undefined, claudeCode],
  ["codex", codex],
]);

let folder: string;
let path: string;
let clock: SimulatedClock;
let core: World;
let presence: PresenceTable;
let services: Services & HookParts;
const noted: string[] = [];

beforeEach(() => {
  folder = temporaryFolder("kite-ends-");
  path = join(folder, "unheard-ends");
  clock = new SimulatedClock(1_000_000);
  core = new World();
  presence = new PresenceTable(clock);
  noted.length = 0;
  core.begin("a", { anchor: { pid: 7, startTime: "7" } });
  core.begin("b");
  presence.of("a");
  const engine = {
    get state() {
      return core.state;
    },
    get now() {
      return core.now;
    },
    submitAndWait: async (command: Command) => {
      if (command.type === "flight_end") noted.push(...(command.noted?.files ?? []).map(({ file }) => file));
      return core.do(command);
    },
    submitWithRetry: (command: Command) => void core.do(command),
  };
  services = {
    entry: { adapters, socket: "" },
    points: [],
    engine,
    clock,
    presence,
    calls: { tasks: new ClientTasks() },
    config: { ownFiles: { home: folder }, rules: { for: async () => ({ ignores: () => false }) } },
    facts: { repository: async () => ({ gitDir: "/p/.git", worktree: "/p", project: "/p", branch: null }) },
    edits: {
      baselines: { take: async () => undefined },
      writers: { ended: nothing, since: () => null, wrote: nothing },
      wakes: { forget: nothing },
    },
    recorder: { note: nothing },
    peers: { memory: { forget: nothing } },
  } as unknown as Services & HookParts;
});

function edit(who: string | Actor, file: string, flight: string): void {
  const ancestors = actor(who).agent === null ? [] : [null];
  core.lock(who, file, { kind: "turn", flight, ancestors, waitMs: 600_000 });
}

function pass(ms: number): number {
  clock.pass(ms);
  core.pass(ms);
  return clock.wall();
}

function line(name: string, at: number, more: Readonly<Record<string, string>> = {}): string {
  return `${JSON.stringify({ at, pid: 7, event: { hook_event_name: name, session_id: "a", ...more } })}\n`;
}

async function take(...lines: readonly string[]): Promise<number> {
  writeFileSync(path, lines.join(""));
  return takeUnheardEnds(services, path);
}

const flights = (file: string) => core.state.locks.holds.get(`n:/p/${file}`)?.flights ?? null;
const post = { tool_name: "Edit", tool_use_id: "use1" };

describe("a line of an end", () => {
  it("of a call ends its write, and knows the file by its lock", async () => {
    edit("a", "x", "use1");
    edit(child, "y", "use2");
    expect(await take(line("PostToolUse", pass(10), post))).toBe(1);
    expect([flights("x"), flights("y")]).toEqual([[], ["use2"]]);
    expect(noted).toEqual(["x"]);
  });

  it("of another client is read as that client's", async () => {
    edit("a", "x", "use1");
    const of = (client: string) =>
      `${JSON.stringify({ ...JSON.parse(line("Interrupt", pass(10))), client })}\n`;
    await take(of("nobody"));
    expect(flights("x")).toEqual(["use1"]);
    await take(of("codex"));
    expect(core.state.locks.holds.get("n:/p/x")).toBeUndefined();
  });

  it("of a patch ends its write, and knows its files by their locks", async () => {
    edit("a", "x", "use1");
    const post = {
      ...JSON.parse(line("PostToolUse", pass(10), { tool_name: "apply_patch", tool_use_id: "use1" })),
    };
    await take(`${JSON.stringify({ ...post, client: "codex" })}\n`);
    expect(flights("x")).toEqual([]);
    expect(noted).toEqual(["x"]);
  });

  it("of a call that failed ends its write, and no file was written", async () => {
    edit("a", "x", "use1");
    await take(line("PostToolUseFailure", pass(10), post));
    expect(flights("x")).toEqual([]);
    expect(noted).toEqual([]);
  });

  it("of a git command frees the index", async () => {
    core.lock("a", "index", { kind: "turn", flight: "use1", yieldMs: 0 });
    await take(line("PostToolUse", pass(10), { ...post, tool_name: "Bash" }));
    expect(core.holder("index")).toBeNull();
  });

  it.each([
    ["Stop", {}, ["b", "a"]],
    ["StopFailure", {}, ["b", "a"]],
    ["SubagentStop", { agent_id: child.agent ?? "", agent_type: "x" }, ["a", "c"]],
  ])("of a turn by %s frees that agent's files", async (name, more, holders) => {
    core.begin("c");
    presence.seen("a", child.agent);
    presence.turn("a", null, true);
    edit("a", "x", "use1");
    edit(child, "y", "use2");
    expect(core.lock("b", "x", { kind: "turn", flight: "b1" })).toBe(waits);
    expect(core.lock("c", "y", { kind: "turn", flight: "c1" })).toBe(waits);
    await take(line(name, pass(10), more));
    expect([core.holder("x"), core.holder("y") === "c" ? "c" : "a"]).toEqual(holders);
    expect(presence.of("a").active).toBe(name === "SubagentStop");
    expect(presence.pulse("a", child.agent)?.active).toBe(name !== "SubagentStop");
  });

  it("of a session ends it, but not one of another process", async () => {
    await take(
      `${JSON.stringify({ at: pass(10), pid: 8, event: { hook_event_name: "SessionEnd", session_id: "a" } })}\n`,
    );
    expect(core.state.sessions.live.has("a")).toBe(true);
    await take(line("SessionEnd", pass(10), { reason: "other" }));
    expect(core.state.sessions.live.has("a")).toBe(false);
  });

  it("of a session that goes on under another id keeps its name for it", async () => {
    await take(line("SessionEnd", pass(10), { reason: "clear" }));
    expect(core.state.sessions.live.get("a")?.suspendedUntil).toBeGreaterThan(core.now);
  });

  it("answers a person's question of before", async () => {
    presence.of("a").dialogs.set(null, { text: "permission", at: core.now });
    await take(line("PostToolUse", pass(10), { ...post, tool_name: "Bash" }));
    expect(presence.of("a").dialogs.size).toBe(0);
    presence.of("a").dialogs.set(null, { text: "permission", at: core.now });
    await take(line("PostToolUse", clock.wall() - 5, { ...post, tool_name: "Bash" }));
    expect(presence.of("a").dialogs.has(null)).toBe(true);
  });

  it.each([
    ["Stop", {}],
    ["SessionEnd", { reason: "other" }],
    ["SessionEnd", { reason: "clear" }],
  ])("by %s %j ends nothing that began later", async (name, more) => {
    edit("a", "x", "use1");
    const at = pass(10);
    pass(10);
    edit("a", "y", "use2");
    presence.turn("a", null, true);
    await take(line(name, at, more));
    expect([core.holder("y"), flights("y")]).toEqual(["a", ["use2"]]);
    expect(core.state.sessions.live.get("a")?.suspendedUntil).toBeNull();
    expect(presence.of("a").active).toBe(true);
  });

  it("is of no session that began after it under the same id", async () => {
    const at = pass(10);
    core.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" });
    pass(10);
    core.begin("a", { wallMs: clock.wall() });
    await take(line("SessionEnd", at, { reason: "other" }));
    expect(core.state.sessions.live.has("a")).toBe(true);
  });

  it("changes nothing when it is taken twice", async () => {
    edit("a", "x", "use1");
    edit(child, "y", "use2");
    const at = pass(10);
    const lines = [line("PostToolUse", at, post), line("Stop", at)];
    await take(...lines);
    const seq = /"seq":\d+/g;
    const before = writeState(core.state).replace(seq, "");
    await take(...lines);
    expect(writeState(core.state).replace(seq, "")).toBe(before);
  });

  it("is nothing but an end: it begins no session and no turn", async () => {
    await take(line("Stop", pass(10), { session_id: "new" }), line("UserPromptSubmit", pass(10)));
    expect(core.state.sessions.live.has("new")).toBe(false);
    expect(presence.of("a").active).toBe(false);
  });

  it("that is broken is skipped", async () => {
    edit("a", "x", "use1");
    const good = line("PostToolUse", pass(10), post);
    const odd = [
      "",
      "{",
      "null",
      "[]",
      '{"at":1}',
      '{"at":"1","pid":1,"event":{}}',
      '{"at":1,"pid":1,"event":{"a":1}}',
    ];
    expect(await take(`${odd.join("\n")}\n`, good, good.slice(0, 30))).toBe(1);
    expect(flights("x")).toEqual([]);
  });
});

describe("the files of lines", () => {
  it("are taken the oldest first, also what a killed daemon left, and are gone then", async () => {
    edit("a", "x", "use1");
    edit(child, "y", "use2");
    edit("b", "z", "use3");
    const at = pass(10);
    writeFileSync(`${path}.taken`, line("PostToolUse", at, post));
    writeFileSync(`${path}.old`, line("SubagentStop", at, { agent_id: child.agent ?? "", agent_type: "x" }));
    expect(await take(line("Stop", at, { session_id: "b" }))).toBe(3);
    expect([flights("x"), core.holder("y"), core.holder("z")]).toEqual([[], null, null]);
    for (const name of [path, `${path}.old`, `${path}.taken`]) expect(existsSync(name)).toBe(false);
  });

  it("are nothing where there are none, or where they are no files", async () => {
    expect(await takeUnheardEnds(services, path)).toBe(0);
    mkdirSync(path);
    expect(await takeUnheardEnds(services, path)).toBe(0);
    rmSync(path, { recursive: true });
    writeFileSync(path, line("Stop", 0));
    expect(
      await takeUnheardEnds({ ...services, entry: { ...services.entry, adapters: new Map() } }, path),
    ).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(line("Stop", 0));
  });
});
