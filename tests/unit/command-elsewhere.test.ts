/** Commands that name an agent which runs on another machine: each says on which one, and does nothing. */
import { beforeEach, describe, expect, it } from "vitest";
import { add as addAgent, rename } from "../../bin/agents/agents.ts";
import { add as addDeclare } from "../../bin/agents/declare-command.ts";
import { add as addGo } from "../../bin/agents/go.ts";
import { namedSession } from "../../bin/context/caller.ts";
import { add as addDiff } from "../../bin/diff/diff.ts";
import { add as addRelease } from "../../bin/lead/release.ts";
import { add as addAgents } from "../../bin/lead/spawn/agents.ts";
import { add as addUndo } from "../../bin/own/undo-all.ts";
import { add as addOff } from "../../bin/settings/off.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import { type FakeDaemon, fakeDaemon, fakeWorld, nobody, runWords } from "./command-world.ts";
import { session } from "./view-rows.ts";

const project = "/home/ana/code/shop";
const far = (name: string, machine: string, of = project): ElsewhereRow => ({
  id: `${name}-1@n-${machine}.1.1`,
  name: `${name}@${machine}`,
  machine,
  project: of,
  branch: "main",
  state: "there",
  tasks: [],
});
const none = { ok: true, rows: [] };
const gone = { ok: false, code: "recipient_gone", error: "nobody is called so; nothing renamed" };

let rows: readonly ElsewhereRow[];
let daemon: FakeDaemon;

beforeEach(() => {
  rows = [far("zoe", "desk"), far("worker", "laptop"), far("cleo", "desk", "/home/ana/code/bank")];
  daemon = shared(true);
});

/** `isShared`: whether the machine shares a store. */
function shared(isShared: boolean): FakeDaemon {
  const fake = fakeDaemon({
    whoami: nobody,
    session_rename: gone,
    ...Object.fromEntries(
      ["spawns", "locks", "writes", "versions", "declarations", "declarations_ended"].map(target => [
        `query ${target}`,
        none,
      ]),
    ),
    "query sessions": ({ id }) =>
      id === undefined ? { ok: true, rows: [session("bob", { project })] } : none,
    "query elsewhere": ({ project: of }) => ({
      ok: true,
      rows: rows.filter(row => of === undefined || row.project === of),
    }),
  });
  const hello = { ...fake.client.daemon, ...(isShared ? { sharedStoreId: "s1" } : {}) };
  return { ...fake, client: { ...fake.client, daemon: hello } };
}

type Named = (name: string, json?: readonly string[]) => Promise<readonly [code: number, said: string]>;

const line =
  (add: Parameters<typeof runWords>[1], ...words: readonly string[]): Named =>
  async (name, json = []) => {
    const world = fakeWorld({ daemon });
    const code = await runWords(world, add, [...words, name, ...json]);
    return [code, world.err() + world.out()];
  };

const commands: readonly (readonly [line: string, run: Named])[] = [
  ["kite go", line(addGo, "go")],
  ["kite release", line(addRelease, "release")],
  ["kite agents attach", line(addAgents, "agents", "attach")],
  ["kite agents stop", line(addAgents, "agents", "stop")],
  ["kite agents replace", line(addAgents, "agents", "replace")],
  ["kite agents prune", line(addAgents, "agents", "prune")],
  ["kite agent", line(addAgent, "agent")],
  ["kite explain --log", line(addAgent, "agent", "--log")],
  ["kite explain --diff", line(addAgent, "agent", "--diff")],
  ["kite declare --show", line(addDeclare, "declare", "--show")],
  ["kite diff", line(addDiff, "diff")],
  ["kite diff --by", line(addDiff, "diff", "--by")],
  ["kite undo --before", line(addUndo, "undo", "--before")],
  ["kite off --session", line(addOff, "off", "--session")],
  [
    "kite rename",
    async name => {
      const world = fakeWorld({ daemon });
      return [await rename(world, name, "sam", { project }), world.err() + world.out()];
    },
  ],
];

/** What would act on an agent of this machine. */
const deeds = new Set(["agent_release", "spawn_update", "spawn_replace", "spawn_remove"]);

describe("an agent of another machine", () => {
  const there = "worker@laptop works on laptop: only Kite on laptop does that; run the command there";

  it.each(commands)("%s names its machine", async (_line, run) => {
    const [code, said] = await run("worker");
    expect([code, flat(said)]).toEqual([1, `kite: ${there}`]);
    // There its name has no machine, so the line as it was typed would fail.
    expect(flat((await run("worker@laptop"))[1])).toBe(`kite: ${there}, where it is called worker`);
    expect(daemon.asked.filter(({ type }) => deeds.has(type))).toEqual([]);
  });

  it.each(commands)("%s says no such thing of a name that nobody has", async (_line, run) => {
    const [code, said] = await run("nobody");
    expect(code).toBe(1);
    expect(said).toContain("nobody");
    expect(said).not.toContain("works on");
    daemon = shared(false);
    expect((await run("worker"))[1]).not.toContain("works on");
    expect(daemon.asked.map(({ target }) => target)).not.toContain("elsewhere");
  });

  it("is told to programs, too", async () => {
    const [code, said] = await line(addAgents, "agents", "stop")("worker", ["--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(said)).toEqual({
      ...{ ok: false, code: "elsewhere", error: there },
      ...{ to: "worker", machine: "laptop" },
    });
  });

  it("is each that has the name, if several have", async () => {
    rows = [far("worker", "laptop"), far("worker", "desk")];
    const stop = line(addAgents, "agents", "stop");
    expect(flat((await stop("worker"))[1])).toBe(
      "kite: worker@laptop works on laptop, worker@desk works on desk: only Kite on its machine does that; run the command there",
    );
    expect((await stop("worker@desk"))[1]).toContain("worker@desk works on desk: only Kite on desk does");
  });

  it("of another project is none that a command for spawned agents of this project means", async () => {
    expect((await line(addAgents, "agents", "stop")("cleo"))[1]).toContain("no spawned agent is called cleo");
    expect((await line(addGo, "go")("cleo"))[1]).toContain("cleo@desk works on desk");
  });

  it("is nobody in whose name a command acts here", async () => {
    const acts = (name: string) => namedSession(fakeWorld({ daemon, env: { KITE_SESSION: name } }));
    await expect(acts("worker")).rejects.toThrow(there);
    await expect(acts("nobody")).rejects.toThrow("KITE_SESSION is nobody, and no session is called that");
  });
});

/** The text without the breaks of its lines. */
function flat(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
