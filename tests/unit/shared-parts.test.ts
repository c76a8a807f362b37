/** What machines tell each other of their agents and merges, as rows of a shared project. */
import { describe, expect, it } from "vitest";
import { roleOf } from "../../daemon/core/lead/roles.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { noteKey } from "../../daemon/core/tables/messages.ts";
import type { Copy } from "../../daemon/store/copy.ts";
import { dropPartsOf, endSession, type PartValue } from "../../daemon/store/roster.ts";
import { limits } from "../../protocol/limits.ts";
import { World } from "./core-world.ts";
import { declared, merging } from "./shared-copy-history.ts";
import { desk, laptop, present, StoreWorld, wrongIn } from "./shared-copy-world.ts";

const role = (name: string, agent: string | null = null): PartValue => ({
  ...{ agent, part: "role", told: { role: name, by: "person" } },
});

/** A project of two machines, with ann on the laptop and bob on the desk. */
function shop() {
  const world = new StoreWorld();
  const [copy, other] = [world.join(laptop), world.join(desk)];
  const ann = (parts: readonly PartValue[] = [], more: object = {}) => [present("ann", { parts, ...more })];
  world.tell(copy, ann());
  world.tell(other, [present("bob")]);
  return { world, copy, other, ann };
}

function filesOf({ state }: Copy, session: string, agent: string | null = null) {
  return state.declarations.live.get(noteKey({ session, agent }))?.files.map(({ path }) => path);
}

function roleIn({ state }: Copy, session: string, agent: string | null = null): string {
  const { role: name, by } = roleOf(state, { session, agent });
  return `${name} by ${by}`;
}

/** The rows of parts in the store. */
function rowsOf({ rows }: StoreWorld): string[] {
  return [...rows.values()].flatMap(([kind, key, value]) =>
    kind === "parts" && value !== null ? [key.replaceAll("\\n", " ")] : [],
  );
}

describe("a part of an agent", () => {
  it("is known to the other machines by the name that they have for it, and only if it is another one", () => {
    const { world, copy, other, ann } = shop();
    const parts = [declared(null, 2, "src/a.ts"), role("reviewer")];
    expect(world.tell(copy, ann(parts)).changes.stored).toHaveLength(2);
    expect(rowsOf(world)).toEqual(["ann@n1  declaration", "ann@n1  role"]);
    expect(other.state.declarations.live.get("ann@n1")).toMatchObject({
      ...{ name: "ann@laptop", project: desk.project, role: "tester", updatedAt: 2 },
    });
    expect([filesOf(other, "ann@n1"), filesOf(copy, "ann")]).toEqual([["src/a.ts"], ["src/a.ts"]]);
    expect([roleIn(other, "ann@n1"), roleIn(copy, "ann")]).toEqual([
      "reviewer by person",
      "reviewer by person",
    ]);
    expect(world.tell(copy, ann(parts)).changes.stored).toEqual([]);
    expect(JSON.stringify([...world.rows.values()])).not.toMatch(/home|srv/);
  });

  it("goes with its agent, its session, its machine, and when nothing is told of it any more", () => {
    const { world, copy, other, ann } = shop();
    const agents = new Map([["x1", "Explore"]]);
    const all = [declared(null, 1, "a.ts"), declared("x1", 1, "b.ts"), role("tester", "x1")];
    world.tell(copy, ann(all, { agents }));
    expect(filesOf(other, "ann@n1", "x1")).toEqual(["b.ts"]);
    world.tell(copy, ann(all.slice(0, 1)));
    expect([filesOf(other, "ann@n1", "x1"), filesOf(other, "ann@n1")]).toEqual([undefined, ["a.ts"]]);
    world.tell(copy, ann());
    expect(rowsOf(world)).toEqual([]);
    world.tell(copy, ann(all.slice(0, 1)));
    world.tell(copy, []);
    expect([rowsOf(world), other.state.declarations.live.size]).toEqual([[], 0]);
    world.tell(copy, ann(all.slice(0, 1)));
    world.commit(
      other,
      world.plan(other, () => void endSession(other, "ann@n1")),
    );
    expect([rowsOf(world), copy.state.declarations.live.size]).toEqual([[], 0]);
    expect([wrongIn(copy), wrongIn(other)]).toEqual([[], []]);
  });

  it("of an agent that the store does not have is not told", () => {
    const { world, copy, ann } = shop();
    expect(world.tell(copy, ann([role("tester", "x1")])).changes.stored).toEqual([]);
  });

  it("is taken back with its step, and known after it", () => {
    const { world, copy, ann } = shop();
    world.tell(copy, ann([declared(null, 1, "a.ts"), role("lead")]));
    const changes = world.plan(copy, () => void endSession(copy, "ann"));
    expect([filesOf(copy, "ann"), roleIn(copy, "ann")]).toEqual([["a.ts"], "lead by person"]);
    world.commit(copy, changes);
    expect([copy.state.declarations.live.size, copy.state.roles.size, copy.state.parts.all.size]).toEqual([
      0, 0, 0,
    ]);
  });

  it("is read anew by a copy that begins, in any order, and tells nobody", () => {
    const { world, copy, ann } = shop();
    world.tell(copy, ann([declared(null, 1, "a.ts"), role("lead")]), [merging("mg-1", "queued", "ann")]);
    const fresh = world.fresh(desk);
    expect([filesOf(fresh, "ann@n1"), roleIn(fresh, "ann@n1")]).toEqual([["a.ts"], "lead by person"]);
    expect(fresh.state.mergesThere.get("n1")).toEqual(copyOfMerge("queued"));
    expect([...fresh.state.notes.pending]).toEqual([]);
  });

  it("of nobody who is there, or without sense, is left out and does no harm", () => {
    const { world, copy, other, ann } = shop();
    world.tell(copy, ann([declared(null, 1, "a.ts")]));
    const row = (key: string, fields: object) => {
      const part = key.split("\n")[2];
      const plain = { project: "team/shop", node: "n1", session: "ann@n1", agent: null, part, told: {} };
      return ["parts", JSON.stringify(key).slice(1, -1), JSON.stringify({ ...plain, ...fields })] as const;
    };
    const take = (...rows: ReturnType<typeof row>[]) => other.take(world.version, "s", world.head, rows);
    take(row("zoe@n1\n\nrole", { session: "zoe@n1", told: { role: "lead", by: "person" } }));
    expect([...other.unfit.values()]).toEqual(["the role of zoe@n1 is of nobody who is there"]);
    take(row("ann@n1\n\nrole", { node: "n2", told: { role: "lead", by: "person" } }));
    expect([other.unfit.size, roleIn(other, "ann@n1")]).toEqual([2, "tester by declared"]);
    for (const told of [7, "x", [], {}, { role: "king", by: "person" }, { role: "lead", by: "default" }])
      take(row("ann@n1\n\nrole", { told }));
    expect(roleIn(other, "ann@n1")).toBe("tester by declared");
    const whole = declared(null, 3, "a.ts").told as object;
    const viewed = { dir: false, sees: "", will: "", touched: false };
    const outside = ["", "/etc/passwd", "../a.ts", "src/../../a.ts", "src/"].map(path => ({
      ...viewed,
      path,
    }));
    const odd = [
      7,
      [],
      {},
      { ...whole, declaredAt: "now" },
      ...outside.map(file => ({ ...whole, files: [file] })),
    ];
    for (const told of odd) {
      take(row("ann@n1\n\ndeclaration", { told }));
      expect(filesOf(other, "ann@n1")).toBeUndefined();
    }
    take(row("ann@n1\n\nconstructor", { told: { x: 1 } }), row("@@n1\n\n__proto__", { session: null }));
    for (const told of [3, [3, null, {}], [{ id: "mg-1", state: "flying" }], [{ id: "x".repeat(2_000) }]])
      take(row("@@n1\n\nmerges", { session: null, told }));
    expect([...other.state.mergesThere]).toEqual([]);
    expect(wrongIn(other)).toEqual([]);
  });

  it("goes on with the session's process under another id, and so does a role that waits for it", () => {
    const { world, copy, other, ann } = shop();
    world.tell(copy, ann([declared(null, 1, "a.ts")]));
    send(world, other, "ann@n1", "reviewer");
    const [later] = ann([declared(null, 1, "a.ts")]);
    world.tell(copy, [present("zoe", { parts: later?.parts ?? [], before: ["ann"], registeredAt: 2 })]);
    expect(rowsOf(world)).toEqual(["zoe@n1  role_sent", "zoe@n1  declaration"]);
    expect([...other.state.rolesSent.keys()]).toEqual(["zoe@n1"]);
    expect(filesOf(other, "zoe@n1")).toEqual(["a.ts"]);
    world.tell(copy, [present("eve", { before: ["zoe"], registeredAt: 3 })]);
    expect([rowsOf(world), copy.state.declarations.live.size]).toEqual([["eve@n1  role_sent"], 0]);
    expect([wrongIn(copy), wrongIn(other)]).toEqual([[], []]);
  });

  it("makes no more declarations in a copy than there may be", () => {
    const { world, copy, other } = shop();
    for (let n = 0; n < limits.declarationsMax; n += 1)
      other.state.declarations.live.set(`full ${n}`, {} as never);
    world.tell(copy, [present("ann", { parts: [declared(null, 1, "a.ts")] })]);
    expect([other.state.parts.all.size, filesOf(other, "ann@n1")]).toEqual([1, undefined]);
  });
});

function copyOfMerge(state: string) {
  const fields = { id: "mg-1", branch: "work", base: "main", authorName: "ann", changedAt: 5 };
  return [{ ...fields, author: "ann@n1", project: desk.project, state }];
}

describe("what a machine tells", () => {
  it("of its merges is an event for the others at each change, and goes with the machine", () => {
    const { world, copy, other, ann } = shop();
    const eventsOf = (...merges: readonly PartValue[]) =>
      world.tell(copy, ann(), merges).events.map(({ event, from }) => ({ ...event, from }));
    const news = { event: "merge_elsewhere_changed", merge: "mg-1", machine: "laptop", from: "n1" };
    expect(eventsOf(merging("mg-1", "queued", "ann"))).toMatchObject([{ ...news, state: "queued" }]);
    expect(other.state.mergesThere.get("n1")).toEqual(copyOfMerge("queued"));
    expect(eventsOf(merging("mg-1", "queued", "ann"))).toEqual([]);
    expect(eventsOf(merging("mg-1", "running", "ann"))).toMatchObject([{ ...news, state: "running" }]);
    expect(eventsOf()).toMatchObject([{ ...news, state: null }]);
    expect([...other.state.mergesThere]).toEqual([]);
    eventsOf(merging("mg-2", "queued"));
    world.commit(
      other,
      world.plan(other, () => void dropPartsOf(other, "n1")),
    );
    expect([...copy.state.mergesThere, ...rowsOf(world)]).toEqual([]);
  });

  it("is its merges that wait, and the last ones that came back, without a reason or a path", () => {
    const world = new World();
    world.begin("ann", { project: "/p" });
    const runner = { name: "r", bound: { node: "n", epoch: 1, connection: 1 } };
    const place = { by: null, project: "/p", base: "refs/heads/main", runner, wallMs: 1 } as const;
    const branches = Array.from({ length: limits.mergesToldMax + 5 }, (_, n) => ({
      ...{ branch: `refs/heads/b${n}`, author: null, tasks: [], after: [] },
    }));
    world.do({ type: "merge_queue", ...place, rebase: false, checkOnly: false, merges: branches });
    const [rules] = world.state.points.flatMap(({ machineParts }) => machineParts?.["merges"] ?? []);
    const told = rules?.tell(world.state, new Set(["/p"])) as { readonly branch: string }[];
    expect(told.map(({ branch }) => branch)).toEqual(branches.slice(0, -5).map((_, n) => `b${n}`));
    expect(Object.keys(told[0] ?? {}).sort()).toEqual([
      ...["author", "authorName", "base", "branch", "changedAt", "id", "state"],
    ]);
    expect(rules?.tell(world.state, new Set(["/q"]))).toBeNull();
  });

  it("is another one after what others can see, and the same after all else", () => {
    const world = new World();
    world.begin("ann", { project: "/p", worktree: "/p" });
    const by = { session: "ann", agent: null, incarnation: 0 };
    const rises = (command: Command) => {
      const before = world.state.partsRevision;
      world.do(command);
      return world.state.partsRevision > before;
    };
    const file = { file: "a.ts", lexical: "/p/a.ts", key: "n:/p/a.ts", dir: false };
    const nothing = { ancestors: [], anew: false, uncertainties: [], wallMs: 1 } as const;
    expect(rises({ type: "declare", actor: by, ...nothing, files: [{ ref: file }] })).toBe(true);
    expect(rises({ type: "role_set", by: null, name: "ann", role: "lead", project: "/p" })).toBe(true);
    const files = [{ key: "n:/p/a.ts", file: "a.ts", worktree: "/p", project: "/p" }];
    const noted = { files, by: "shell", ancestors: [], wallMs: 0 } as const;
    expect(rises({ type: "writes_noted", actor: by, noted })).toBe(true);
    expect(rises({ type: "writes_noted", actor: by, noted })).toBe(false);
    expect(rises({ type: "turn_end", actor: by, keepPrompt: null })).toBe(false);
  });
});

describe("two machines that declare the same file", () => {
  it("tell of it once, at the change, and not where both agents are of one machine", () => {
    const { world, copy, other, ann } = shop();
    world.tell(copy, ann([declared(null, 1, "a.ts")]));
    const carol = present("carol", { parts: [declared(null, 1, "a.ts")] });
    expect(kindsOf(world.tell(copy, [...ann([declared(null, 1, "a.ts")]), carol]).events)).toEqual([
      ...["session_started", "declared"],
    ]);
    world.tell(copy, ann([declared(null, 1, "a.ts")]));
    const bob = (updatedAt: number) => [present("bob", { parts: [declared(null, updatedAt, "a.ts")] })];
    const { events } = world.tell(other, bob(2));
    expect(kindsOf(events)).toEqual(["declarations_overlap", "declared"]);
    expect(events[0]?.event).toMatchObject({
      ...{ sides: [{ name: "bob" }, { name: "ann@laptop" }], paths: ["a.ts", "a.ts"] },
    });
    expect(events.map(({ from }) => from)).toEqual([undefined, "n2"]);
    // What its agent did not change is not new to anybody.
    expect(kindsOf(world.tell(other, bob(3)).events)).toEqual(["declared"]);
    const touched = declared(null, 3, "a.ts").told as { readonly files: readonly object[] };
    const told = { ...touched, files: touched.files.map(file => ({ ...file, touched: true })) };
    const { events: none } = world.tell(other, [
      present("bob", { parts: [{ agent: null, part: "declaration", told: told as never }] }),
    ]);
    expect(none).toEqual([]);
    expect([copy, other].flatMap(({ state }) => [...state.notes.pending])).toEqual([]);
  });
});

function kindsOf(events: readonly { readonly event: { readonly event: string } }[]): string[] {
  return events.map(({ event }) => event.event);
}

function send(world: StoreWorld, copy: Copy, session: string, name: "reviewer" | "tester" | null) {
  const whose = { session, agent: null };
  const [done] = world.do(copy, {
    ...{ type: "role_send", by: null, whose, role: name, project: copy.names.project },
  });
  return done?.reply;
}

describe("a role for an agent of another machine", () => {
  it("waits for it, the latest one counts, and it waits no more when its machine has given that", () => {
    const { world, copy, other, ann } = shop();
    expect(send(world, other, "zoe@n1", "tester")).toMatchObject({ code: "unknown_session" });
    expect(send(world, other, "ann@n1", "tester")).toMatchObject({
      ok: true,
      name: "ann@laptop",
      role: "tester",
    });
    const first = copy.state.rolesSent.get("ann")?.get(null)?.n ?? 0;
    expect(send(world, other, "ann@n1", null)).toMatchObject({ ok: true, by: "default" });
    const sent = copy.state.rolesSent.get("ann")?.get(null);
    expect(sent).toMatchObject({ role: null });
    const taken = (n: number) => ({
      ...({ type: "role_taken", project: laptop.project, session: "ann", agent: null } as const),
      n,
    });
    world.tell(copy, ann([role("lead")]));
    expect(rowsOf(world)).toEqual(["ann@n1  role_sent", "ann@n1  role"]);
    world.do(copy, taken(first));
    expect(other.state.rolesSent.size).toBe(1);
    world.do(copy, taken(sent?.n ?? 0));
    expect([other.state.rolesSent.size, copy.state.rolesSent.size, rowsOf(world)]).toEqual([
      ...[0, 0, ["ann@n1  role"]],
    ]);
  });

  it("is refused to agents, and in the log of one machine", () => {
    const { world, other } = shop();
    const whose = { session: "ann@n1", agent: null };
    const by = { session: "bob", agent: null, incarnation: 0 };
    const command = { type: "role_send", whose, role: "lead", project: desk.project } as const;
    expect(world.do(other, { ...command, by })[0]?.reply).toMatchObject({ code: "person_only" });
    expect(new World().do({ ...command, by: null })).toMatchObject({ code: "invalid_request" });
  });
});
