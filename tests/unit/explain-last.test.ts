/** kite explain --last: the latest refusal of an agent or of a project, and the way out that holds now. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { explain } from "../../bin/commands/explain.ts";
import { encode, fileName, type TrailLine } from "../../daemon/trail/line.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type FakeWorld, fakeDaemon, fakeWorld } from "./command-world.ts";
import { now } from "./view-rows.ts";

let root: string;
let shop: string;
const flags = { lines: "20", last: true } as const;

function line(name: string, secondsAgo: number, more: Partial<TrailLine> = {}): TrailLine {
  return {
    at: now - secondsAgo * 1000,
    event: "PreToolUse",
    id: `${name}-0000-4000`,
    agent: null,
    name,
    project: shop,
    type: "Edit",
    file: join(shop, "auth.ts"),
    decision: "allow",
    rule: "lock",
    ...more,
  };
}

const timeout = {
  decision: "deny",
  code: "lock_timeout",
  why: "lock queue timeout (50s)",
  holder: "alice",
} as const;

/** A person's terminal, or with a session the shell of its agent. */
function worldWith(
  lines: readonly TrailLine[],
  locks?: readonly Partial<LockRow>[],
  session?: string,
): FakeWorld {
  const daemon =
    locks === undefined
      ? undefined
      : fakeDaemon({
          "query locks": { ok: true, rows: locks },
          whoami: { ok: false, code: "unknown_session", error: "none" },
        });
  const env = session === undefined ? {} : { KITE_SESSION: session };
  const world = fakeWorld({ home: join(root, ".kite"), env, ...(daemon === undefined ? {} : { daemon }) });
  mkdirSync(world.paths.trail, { recursive: true });
  writeFileSync(join(world.paths.trail, fileName(1)), lines.map(encode).join(""));
  return { ...world, cwd: shop, argv: ["node", "kite", "explain", "--last"] };
}

const lockOf = (name: string, more: Partial<LockRow> = {}): Partial<LockRow> => ({
  file: "auth.ts",
  path: join(shop, "auth.ts"),
  project: shop,
  kind: "turn",
  holder: { id: `${name}-0000-4000`, agent: null, name },
  waiters: [],
  ...more,
});

const said = (world: FakeWorld) => world.out().replaceAll(/\s+/g, " ");

beforeEach(() => {
  root = temporaryFolder("kite-last-");
  shop = join(root, "shop");
  mkdirSync(shop);
});

describe("kite explain --last", () => {
  it("names the agent, the reason, what ends it, and one line that lets it through", async () => {
    const world = worldWith(
      [line("alice", 100), line("bob", 20, timeout), line("carol", 5)],
      [lockOf("alice")],
    );
    expect(await explain(world, undefined, flags)).toBe(0);
    expect(said(world)).toContain("bob was denied");
    expect(said(world)).toContain(
      "What ends it: alice's lock ends when alice has answered its prompt, or passes on 15 s after",
    );
    expect(said(world)).toContain(
      `To let it through once: kite unlock --force ${join(shop, "auth.ts")} (takes the lock from alice`,
    );
    expect(said(world)).toContain("kite help in-my-way");
  });

  it("promises no end by itself for a lock that is kept", async () => {
    const world = worldWith([line("bob", 20, timeout)], [lockOf("alice", { use: "kept" })]);
    await explain(world, undefined, flags);
    expect(said(world)).toContain("alice keeps the lock until its work is done");
  });

  it("says that nothing holds the file now, or that it is over", async () => {
    const free = worldWith([line("bob", 20, timeout)], []);
    await explain(free, undefined, flags);
    expect(said(free)).toContain("nobody else has the file now: the agent may try again");
    expect(said(free)).not.toContain("To let it through");
    const over = worldWith([line("bob", 20, timeout), line("bob", 10)], [lockOf("bob")]);
    await explain(over, undefined, flags);
    expect(said(over)).toMatch(/It is over: bob went on at/);
  });

  it("is an agent's own in its shell, whose user runs what lets it through", async () => {
    const lines = [line("bob", 30, timeout), line("carol", 20, { ...timeout, file: join(shop, "other.ts") })];
    const world = worldWith(lines, [lockOf("alice")], "bob-0000-4000");
    expect(await explain(world, undefined, flags)).toBe(0);
    expect(said(world)).toContain("bob was denied auth.ts");
    expect(said(world)).toContain("To let it through once, your user runs: kite unlock --force");
  });

  it("is of this project alone, and of refusals, waits and warnings", async () => {
    const lines = [
      line("bob", 90, {
        decision: "note",
        rule: "guard",
        type: "git stash",
        why: "it would stash alice's work",
      }),
      line("dave", 50, { ...timeout, project: "/elsewhere" }),
      line("bob", 40, { decision: "note", rule: "session" }),
    ];
    const world = worldWith(lines);
    expect(await explain(world, undefined, { ...flags, json: true })).toBe(0);
    expect(JSON.parse(world.out())).toMatchObject({
      about: "last",
      line: { type: "git stash", name: "bob" },
      solvedAt: null,
    });
    const none = worldWith(lines.slice(1));
    expect(await explain(none, undefined, flags)).toBe(1);
    expect(none.err()).toContain("Kite refused nothing in this project");
  });

  it.each([
    ["freeze", { decision: "deny", rule: "freeze", code: "edits_held" }, /kite thaw \S+auth\.ts$/],
    [
      "guard",
      { decision: "deny", rule: "guard", type: "git stash", file: null },
      /^kite off --session bob --for 5m$/,
    ],
    ["gate", { decision: "deny", rule: "declaration,role", file: null }, /^kite off --session bob --for 5m$/],
  ] as const)("of a %s it gives the command that lets it through", async (_name, more, wanted) => {
    const world = worldWith([line("bob", 20, more)]);
    await explain(world, undefined, { ...flags, json: true });
    expect(JSON.parse(world.out()).letThrough).toMatch(wanted);
  });

  it("takes no name beside it", async () => {
    const world = worldWith([]);
    expect(await explain(world, "auth.ts", flags)).toBe(1);
    expect(world.err()).toContain("--last takes no name");
  });
});
