/** Files that branches changed, from their node's log to the shared one, and where those of two nodes are the same. */
import { describe, expect, it } from "vitest";
import { sameFilesOf } from "../../daemon/core/branches/same-files.ts";
import { type BranchFile, uncommitted } from "../../daemon/core/branches/table.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { noteKey } from "../../daemon/core/tables/messages.ts";
import { limits } from "../../protocol/limits.ts";
import { end, type Local, type Store, two } from "./nodes-world.ts";

const blob = (letter: string) => letter.repeat(40);

function changed(local: Local, session: string, ...files: readonly BranchFile[]) {
  return local.do({ type: "branch_files", session, files });
}

/** What the main agent of a session of the shared log is to be told. */
function told({ state }: Store, session: string): string[] {
  const pending = state.notes.pending.get(noteKey({ session, agent: null }))?.notes ?? [];
  return pending.flatMap(({ note }) =>
    note.what === "same_file"
      ? [`${note.file} with ${note.other} on ${note.branch}${note.uncommitted === true ? ", open" : ""}`]
      : [note.what],
  );
}

/** What was told with events since the latest of these calls. */
function events({ steps }: Store): string[] {
  return steps.splice(0).flatMap(step =>
    step.events.flatMap(({ event, about }) => {
      if (event.event !== "same_file_began" && event.event !== "same_file_ended") return [];
      const { files, more = 0, sides } = event;
      expect(about).toEqual(sides.map(({ id }) => id));
      const who = sides.map(({ name, branch }) => `${name} ${branch}`).join(" and ");
      return [`${event.event.slice("same_file_".length)} ${files.join(" ")} +${more}: ${who}`];
    }),
  );
}

function same({ state }: Store, session: string): string[] {
  const row = state.branches.bySession.get(session);
  return row === undefined
    ? []
    : [...sameFilesOf(state, row)].map(({ path, other }) => `${path} ${other.session}`);
}

/** The agent is told what waits for it. */
function hears(store: Store, node: string, session: string): void {
  const notes = store.state.notes.pending.get(session)?.notes.map(({ n }) => n) ?? [];
  store.as(node, { type: "notes_told", session, agent: null, notes, risks: [] });
}

/** Two nodes with an agent each: alice on a, bob on b. */
function agents() {
  const { store, a, b } = two();
  a.begin("s1", { name: "alice", branch: "paging" });
  b.begin("s1", { name: "bob", branch: "login" });
  const take = () => {
    store.take("a", a);
    store.take("b", b);
  };
  take();
  return { store, a, b, take, alice: a.idOf("s1"), bob: b.idOf("s1") };
}

describe("the same file", () => {
  it("is told to both sides, once, with the other's name and branch", () => {
    const { store, a, b, take, alice, bob } = agents();
    changed(a, "s1", ["src/a.ts", blob("1")], ["src/b.ts", blob("2")]);
    changed(b, "s1", ["src/a.ts", blob("3")], ["src/c.ts", null]);
    take();
    const both = [["src/a.ts with bob@b-machine on login"], ["src/a.ts with alice@a-machine on paging"]];
    expect([told(store, alice), told(store, bob)]).toEqual(both);
    expect([same(store, alice), same(store, bob)]).toEqual([[`src/a.ts ${bob}`], [`src/a.ts ${alice}`]]);
    expect(events(store)).toEqual(["began src/a.ts +0: bob@b-machine login and alice@a-machine paging"]);
    hears(store, "a", alice);
    hears(store, "b", bob);
    // Another commit of the same file is no news; a daemon's start tells all again.
    changed(a, "s1", ["src/a.ts", blob("4")], ["src/b.ts", blob("2")]);
    take();
    a.do({ type: "daemon_started", epoch: 7, storeId: "own" });
    take();
    expect([told(store, alice), told(store, bob), events(store)]).toEqual([[], [], []]);
    expect(same(store, alice)).toEqual([`src/a.ts ${bob}`]);
  });

  it("is none where both have the same content, removed it, or are of one node", () => {
    const { store, a, b, take, alice } = agents();
    a.begin("s2", { name: "ann", branch: "other" });
    changed(a, "s1", ["one.ts", blob("1")], ["gone.ts", null], ["own.ts", blob("5")]);
    changed(a, "s2", ["own.ts", blob("6")]);
    changed(b, "s1", ["one.ts", blob("1")], ["gone.ts", null], ["two.ts", blob("2")]);
    take();
    expect([told(store, alice), same(store, alice), events(store)]).toEqual([[], [], []]);
    changed(b, "s1", ["gone.ts", blob("7")]);
    take();
    expect(told(store, alice)).toEqual(["gone.ts with bob@b-machine on login"]);
  });

  it("is one before either side has committed, told once, until a commit makes them the same", () => {
    const { store, a, b, take, alice, bob } = agents();
    changed(a, "s1", ["a.ts", uncommitted]);
    changed(b, "s1", ["a.ts", uncommitted], ["b.ts", uncommitted]);
    take();
    expect([told(store, alice), told(store, bob)]).toEqual([
      ["a.ts with bob@b-machine on login, open"],
      ["a.ts with alice@a-machine on paging, open"],
    ]);
    hears(store, "a", alice);
    hears(store, "b", bob);
    events(store);
    for (const [mine, theirs] of [
      [blob("1"), uncommitted],
      [uncommitted, blob("1")],
      [blob("2"), blob("1")],
    ] as const) {
      changed(a, "s1", ["a.ts", mine]);
      changed(b, "s1", ["a.ts", theirs]);
      take();
      expect([told(store, alice), events(store), same(store, alice)]).toEqual([[], [], [`a.ts ${bob}`]]);
    }
    changed(b, "s1", ["a.ts", blob("2")]);
    take();
    expect([same(store, alice), same(store, bob)]).toEqual([[], []]);
    expect(events(store)).toEqual([expect.stringMatching(/^ended a\.ts/)]);
    // Of work that is not committed nobody knows whether it is the same.
    changed(b, "s1", ["a.ts", uncommitted]);
    take();
    expect(told(store, alice)).toEqual(["a.ts with bob@b-machine on login, open"]);
    expect(told(store, bob)).toEqual(["a.ts with alice@a-machine on paging"]);
  });

  it("is told as it is by then, if the other side commits before that, or goes on", () => {
    const { store, a, b, take, alice, bob } = agents();
    changed(a, "s1", ["a.ts", uncommitted]);
    changed(b, "s1", ["a.ts", blob("1")]);
    take();
    const notes = () => [told(store, alice), told(store, bob)].flat();
    const [ofBob, ofAlice] = ["a.ts with bob@b-machine on login", "a.ts with alice@a-machine on paging"];
    expect(notes()).toEqual([ofBob, `${ofAlice}, open`]);
    changed(a, "s1", ["a.ts", blob("2")]);
    changed(b, "s1", ["a.ts", uncommitted]);
    take();
    expect(notes()).toEqual([`${ofBob}, open`, ofAlice]);
    expect(events(store)).toHaveLength(1);
  });

  it("is over, untold, when a side has the file no more, ends, or goes to another branch", () => {
    const overs: ((b: Local) => void)[] = [
      b => changed(b, "s1", ["b.ts", blob("2")]),
      b => changed(b, "s1", ["a.ts", blob("1")]),
      b => changed(b, "s1"),
      b => changed(b, "s1", ["c.ts", uncommitted]),
      b => b.do(end("s1")),
      b => b.begin("s1", { name: "bob", branch: "another" }),
    ];
    for (const over of overs) {
      const { store, a, b, take, alice, bob } = agents();
      changed(a, "s1", ["a.ts", blob("1")]);
      changed(b, "s1", ["a.ts", blob("2")]);
      take();
      expect(told(store, alice)).toHaveLength(1);
      events(store);
      over(b);
      take();
      expect(events(store)).toEqual([expect.stringMatching(/^ended a\.ts \+0: bob\S+ login and alice/)]);
      expect([told(store, alice), told(store, bob), same(store, alice)]).toEqual([[], [], []]);
    }
  });

  it("is taken back also if the other agent has another name and id since", () => {
    const { store, a, b, take, alice } = agents();
    const anchor = { pid: 3, startTime: "9" };
    b.begin("s1", { name: "bob", branch: "login", anchor });
    changed(a, "s1", ["a.ts", blob("1")]);
    changed(b, "s1", ["a.ts", blob("2")]);
    take();
    b.do({ type: "session_rename", by: null, of: "s1", name: "carol", project: "/p" });
    b.do({ type: "session_suspend", session: "s1" });
    b.begin("s4", { name: null, anchor, branch: "login" });
    take();
    expect([told(store, alice).length, same(store, alice)]).toEqual([1, [`a.ts ${b.idOf("s4")}`]]);
    changed(b, "s4", ["a.ts", blob("1")]);
    take();
    expect([told(store, alice), same(store, alice)]).toEqual([[], []]);
  });

  it("is told of within bounds, and all that is too much has no sense", () => {
    const { store, a, b, take, alice } = agents();
    const many = (letter: string, count: number) =>
      Array.from({ length: count }, (_, n): BranchFile => [`${n}.ts`, blob(letter)]);
    changed(a, "s1", ...many("1", limits.branchFilesMax));
    changed(b, "s1", ...many("2", limits.branchFilesMax));
    take();
    const pending = store.state.notes.pending.get(alice);
    expect((pending?.notes.length ?? 0) + (pending?.dropped ?? 0)).toBe(limits.sameFilesToldMax);
    expect(same(store, alice)).toHaveLength(limits.branchFilesMax);
    const named = Array.from({ length: limits.sameFilesToldMax }, (_, n) => `${n}.ts`).join(" ");
    const left = limits.branchFilesMax - limits.sameFilesToldMax;
    expect(events(store)).toEqual([
      `began ${named} +${left}: bob@b-machine login and alice@a-machine paging`,
    ]);
    const say = (value: unknown) =>
      store.as("a", {
        ...{ type: "relayed", number: { epoch: 1e15, n: store.state.seq } },
        command: {
          type: "actor_part",
          session: alice,
          agent: null,
          part: "branch_files",
          value: value as null,
        },
      });
    for (const odd of [
      many("1", limits.branchFilesMax + 1),
      [["/etc/x", blob("1")]],
      [["a", "x"]],
      "a",
      [1],
    ]) {
      say([["a.ts", blob("1")]]);
      expect(store.state.branches.bySession.has(alice)).toBe(true);
      expect(say(odd)).toEqual({ ok: true });
      expect(store.state.branches.bySession.has(alice)).toBe(false);
    }
  });
});

describe("files of a branch", () => {
  it("are refused for a session that is not there, and stay on the machine if its project is not shared", () => {
    const { a } = agents();
    expect(changed(a, "gone", ["a.ts", null])).toMatchObject({ ok: false });
    a.begin("s2", { name: "ann", project: "/elsewhere" });
    a.do({ type: "outbox_sent", node: "a", last: a.state.outbox.last });
    changed(a, "s2", ["a.ts", null]);
    expect(a.rows).toEqual([]);
  });

  it("go on with the session under another id, and are in a snapshot", () => {
    const { store, a, b, take, bob } = agents();
    const anchor = { pid: 3, startTime: "9" };
    a.begin("s3", { name: "cy", anchor, branch: "paging" });
    changed(a, "s3", ["a.ts", blob("1")]);
    changed(b, "s1", ["a.ts", blob("2")]);
    take();
    a.do({ type: "session_suspend", session: "s3" });
    a.begin("s4", { name: null, anchor, branch: "paging" });
    take();
    expect(a.state.branches.bySession.has("s4")).toBe(true);
    expect(same(store, bob)).toEqual([`a.ts ${a.idOf("s4")}`]);
    const saved = writeState(store.state);
    expect(writeState(readState(saved))).toEqual(saved);
    expect(readState(saved).branches).toEqual(store.state.branches);
  });
});
