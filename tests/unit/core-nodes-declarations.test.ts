/** What agents declare, from their node's log to the shared one, and what overlaps there. */
import { describe, expect, it } from "vitest";
import { relaysOf } from "../../daemon/core/outbox/publish.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { CommandOf } from "../../daemon/core/tables/entries.ts";
import { noteKey } from "../../daemon/core/tables/messages.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded } from "./core-world.ts";
import { agentBegin, agentEnd, end, Local, Store, shared, two } from "./nodes-world.ts";

type Parts = Partial<CommandOf<"declare">>;

function file(path: string, will = "") {
  const plain = path.replace(/\/$/, "");
  return { ref: { file: path, lexical: plain, key: `n:${plain}`, dir: path.endsWith("/") }, will };
}

/** Declares, later than all before. */
function declare(local: Local, session: string, parts: Parts, agent: string | null = null) {
  local.now += 1;
  const nothing = { ancestors: [], anew: false, files: [], uncertainties: [], wallMs: local.now };
  return local.do({ type: "declare", actor: { ...actor(session), agent }, ...nothing, ...parts });
}

function wrote(local: Local, session: string, path: string): void {
  const files = [{ key: `n:${path}`, file: path, worktree: "/p", project: "/p" }];
  const noted = { files, by: "shell", ancestors: [], wallMs: 0 } as const;
  local.do({ type: "writes_noted", actor: actor(session), noted });
}

/** What the shared log has of an agent, with what it is to be told. */
function at(store: Store, session: string, agent: string | null = null) {
  const { declarations, notes } = store.state;
  const key = noteKey({ session, agent });
  const pending = notes.pending.get(key)?.notes ?? [];
  const told = pending.flatMap(({ note }) =>
    note.what === "overlap" ? [`${note.file} with ${note.other}: ${note.will}`] : [],
  );
  const row = declarations.live.get(key);
  return { row, files: row?.files.map(({ path, dir }) => `${path}${dir ? "/" : ""}`), told };
}

/** Two nodes with an agent each: alice on a, bob on b. */
function agents() {
  const { store, a, b } = two();
  a.begin("s1", { name: "alice" });
  b.begin("s1", { name: "bob" });
  const take = () => {
    store.take("a", a);
    store.take("b", b);
  };
  take();
  return { store, a, b, take, alice: a.idOf("s1"), bob: b.idOf("s1") };
}

describe("a declaration", () => {
  it("is known to the other nodes, with its files as they are in the repository", () => {
    const { store, a, alice, take } = agents();
    const files = [file("/p/src/a.ts", "page it"), file("/p/db/"), file("/elsewhere/x.ts")];
    declare(a, "s1", { role: "implementer", task: "Page the list", plan: ["one"], files });
    take();
    const { row, files: paths } = at(store, alice);
    expect(paths).toEqual(["src/a.ts", "db/"]);
    expect(row).toMatchObject({
      name: "alice@a-machine",
      project: shared,
      task: "Page the list",
      plan: ["one"],
    });
    expect(JSON.stringify([...store.entries])).not.toMatch(/"n?:?\/(p|elsewhere)/);
  });

  it("is there as it was changed last: a write, a file struck off, another beginning", () => {
    const { store, a, alice, take } = agents();
    declare(a, "s1", { task: "first", files: [file("/p/a.ts"), file("/p/b.ts")] });
    declare(a, "s1", { files: [{ ...file("/p/b.ts"), drop: true }] });
    wrote(a, "s1", "/p/a.ts");
    expect(a.rows).toEqual(["actor_part"]);
    take();
    expect(at(store, alice).row?.files).toMatchObject([{ path: "a.ts", touched: true }]);
    declare(a, "s1", { anew: true, task: "second" });
    take();
    expect(at(store, alice).row).toMatchObject({ task: "second", files: [] });
    expect([...store.state.declarations.ended.values()].map(({ task }) => task)).toEqual(["first"]);
  });

  it("ends with its agent, its session and its node", () => {
    const { store, a, b, alice, bob, take } = agents();
    a.do(agentBegin("s1", "a1", "Explore"));
    declare(a, "s1", { task: "main" });
    declare(a, "s1", { task: "sub" }, "a1");
    declare(b, "s1", { task: "there" });
    take();
    expect(at(store, alice, "a1").row?.name).toBe("alice@a-machine/Explore");
    a.do(agentEnd("s1", "a1"));
    take();
    expect([at(store, alice, "a1").row, at(store, alice).row?.task]).toEqual([undefined, "main"]);
    a.do(end("s1"));
    take();
    expect(at(store, alice).row).toBeUndefined();
    store.as("b", { type: "node_leave" });
    expect(at(store, bob).row).toBeUndefined();
    expect([...store.state.declarations.ended.values()].map(({ task }) => task)).toEqual([
      ...["sub", "main", "there"],
    ]);
  });

  it("of before its project was shared is told with the project, and is withdrawn when it no longer is", () => {
    const { store, a, alice, take } = agents();
    a.share("a", []);
    take();
    expect(store.state.sessions.live.has(alice)).toBe(false);
    declare(a, "s1", { task: "early" });
    a.share("a");
    take();
    const id = a.idOf("s1");
    expect(at(store, id).row?.task).toBe("early");
    a.share("a", []);
    take();
    expect(at(store, id).row).toBeUndefined();
  });

  it("goes on with the session's process under another id", () => {
    const { store, a, take } = agents();
    const anchor = { pid: 1, startTime: "1" };
    a.begin("s1", { anchor });
    declare(a, "s1", { task: "work", files: [file("/p/a.ts")] });
    take();
    a.do({ type: "session_suspend", session: "s1" });
    a.begin("s2", { anchor });
    take();
    expect(at(store, a.idOf("s2"))).toMatchObject({ row: { task: "work" }, files: ["a.ts"] });
    expect(store.state.declarations.live.size).toBe(1);
  });

  it("that a power cut took back is none in the shared log either, and the others are told nothing twice", () => {
    const { store, a, b, bob, take, alice } = agents();
    declare(b, "s1", { files: [file("/p/a.ts")] });
    declare(a, "s1", { task: "kept", files: [file("/p/a.ts")] });
    const saved = writeState(a.state);
    a.do(agentBegin("s1", "a1"));
    declare(a, "s1", { task: "lost" }, "a1");
    take();
    const { notes } = store.state.notes.pending.get(bob) ?? { notes: [] };
    store.as("b", {
      ...{ type: "notes_told", session: bob, agent: null, risks: [] },
      notes: notes.map(({ n }) => n),
    });
    const again = new Local("a", readState(saved));
    store.take("a", again);
    expect([at(store, alice, "a1").row, at(store, alice).row?.task]).toEqual([undefined, "kept"]);
    expect(at(store, bob).told).toEqual([]);
  });

  it("is no longer than others take: texts are cut, then files left out", () => {
    const { store, a, alice, take } = agents();
    const text = "x".repeat(limits.declaredTextChars);
    const files = Array.from({ length: 60 }, (_, n) => file(`/p/${n}${"d".repeat(200)}.ts`, text));
    declare(a, "s1", { task: text, plan: [text, text], files });
    take();
    expect(at(store, alice).row?.files[0]?.will).toHaveLength(limits.quoteChars);
    expect(at(store, alice).files).toHaveLength(60);
    const long = Array.from({ length: 60 }, (_, n) => file(`/p/${n}${"e".repeat(3_000)}.ts`, text));
    declare(a, "s1", { anew: true, task: text, files: long });
    take();
    expect(at(store, alice).files).toHaveLength(15);
    const longest = Math.max(...store.entries.map(({ command }) => JSON.stringify(command).length));
    expect(longest).toBeLessThan(limits.sharedDeclarationChars + 1_000);
  });

  it("makes room in the shared log for later ones, whoever made them", () => {
    const store = new Store(bounded({ declarationsMax: 2 }));
    for (const node of ["a", "b"]) store.join(node, `${node}-machine`);
    const [a, b] = [new Local("a"), new Local("b")];
    for (const id of ["s1", "s2"]) a.begin(id);
    b.begin("s1");
    for (const id of ["s1", "s2"]) declare(a, id, { task: id });
    store.take("a", a);
    declare(b, "s1", { task: "late" });
    store.take("b", b);
    expect([...store.state.declarations.live.values()].map(({ task }) => task)).toEqual(["s2", "late"]);
  });

  it("that makes no sense is none, and does no harm", () => {
    const { store, a, alice, take } = agents();
    declare(a, "s1", { task: "work" });
    const [row] = [...relaysOf(a.state.outbox)];
    if (row?.command.type !== "actor_part") throw new Error("no part waits");
    const whole = row.command.value as { readonly [field: string]: never };
    const viewed = { path: "a.ts", dir: false, sees: "", will: "", touched: false };
    const outside = ["", "/etc/passwd", "../a.ts", "src/../../a.ts", "src/"].map(path => ({
      ...whole,
      files: [{ ...viewed, path }],
    }));
    const odd = [
      ...outside,
      7,
      "x",
      [],
      {},
      { ...whole, files: [{ path: 1 }] },
      { ...whole, declaredAt: "now" },
    ];
    for (const [n, value] of odd.entries()) {
      const number = { epoch: row.number.epoch, n: row.number.n + n };
      const command = { ...row.command, value: value as never };
      expect(store.as("a", { type: "relayed", number, command })).toEqual({ ok: true });
      expect(at(store, alice).row).toBeUndefined();
    }
    const asked = { question: "q", settledBy: "", evidence: " ", resolved: true };
    const files = [viewed];
    const twice = { ...whole, uncertainties: [asked, asked], files: [...files, ...files] } as never;
    const number = { epoch: row.number.epoch, n: row.number.n + 99 };
    store.as("a", { type: "relayed", number, command: { ...row.command, value: twice } });
    expect(at(store, alice).row).toMatchObject({ uncertainties: [{ resolved: false }], files });
    take();
  });
});

describe("an overlap between nodes", () => {
  it("is told to both sides once, with what each will do, and to those that watch", () => {
    const { store, a, b, alice, bob, take } = agents();
    declare(a, "s1", { files: [file("/p/src/", "move it")] });
    declare(b, "s1", { files: [file("/p/src/a.ts", "page it")] });
    take();
    expect(at(store, alice).told).toEqual(["src/a.ts with bob@b-machine: page it"]);
    expect(at(store, bob).told).toEqual(["src with alice@a-machine: move it"]);
    const events = store.steps.flatMap(step => step.events.map(({ event }) => event));
    expect(events.filter(({ event }) => event === "declarations_overlap")).toMatchObject([
      { sides: [{ name: "bob@b-machine" }, { name: "alice@a-machine" }], paths: ["src/a.ts", "src"] },
    ]);
    declare(b, "s1", { task: "more" });
    wrote(b, "s1", "/p/src/a.ts");
    b.start();
    take();
    expect(at(store, alice).told).toHaveLength(1);
  });

  it("is taken back when it is over before it reached them", () => {
    const { store, a, b, alice, bob, take } = agents();
    declare(a, "s1", { files: [file("/p/a.ts")] });
    declare(b, "s1", { files: [file("/p/a.ts")] });
    take();
    declare(b, "s1", { files: [{ ...file("/p/a.ts"), drop: true }] });
    take();
    expect([at(store, alice).told, at(store, bob).told]).toEqual([[], []]);
    declare(b, "s1", { files: [file("/p/a.ts")] });
    take();
    expect(at(store, alice).told).toHaveLength(1);
    b.do(end("s1"));
    take();
    expect(at(store, alice).told).toEqual([]);
  });

  it("names an agent as its machine is called now, though it declared nothing anew", () => {
    const { store, a, b, alice, bob, take } = agents();
    declare(a, "s1", { files: [file("/p/a.ts")] });
    declare(b, "s1", { files: [file("/p/a.ts")] });
    take();
    expect(at(store, alice).told).toEqual(["a.ts with bob@b-machine: "]);
    store.renew("b", "other");
    b.share("b");
    take();
    expect(at(store, bob).row?.name).toBe("bob@other");
    expect(at(store, alice).told).toEqual(["a.ts with bob@other: "]);
    expect(at(store, bob).told).toEqual(["a.ts with alice@a-machine: "]);
    b.do(end("s1"));
    take();
    expect(at(store, alice).told).toEqual([]);
  });

  it("is one of the node's own log where both agents are there", () => {
    const { store, a, alice, take } = agents();
    a.begin("s2", { name: "carol" });
    for (const id of ["s1", "s2"]) declare(a, id, { files: [file("/p/a.ts")] });
    take();
    expect([at(store, alice).told, at(store, a.idOf("s2")).told]).toEqual([[], []]);
    expect(a.state.notes.pending.get("s1")?.notes).toHaveLength(1);
  });

  it("is none where the projects differ, or where the file is outside of the repository", () => {
    const { store, a, b, alice, take } = agents();
    b.share("b", [["/p", "example.com/other"]]);
    declare(a, "s1", { files: [file("/p/a.ts"), file("/elsewhere/a.ts")] });
    declare(b, "s1", { files: [file("/p/a.ts")] });
    take();
    expect(at(store, alice).told).toEqual([]);
  });
});
