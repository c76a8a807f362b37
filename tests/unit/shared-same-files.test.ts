/** The same file on branches of two machines: looked at, told and shown. */
import { expect, it } from "vitest";
import { type BranchFile, uncommitted } from "../../daemon/core/branches/table.ts";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import { noteIds } from "../../daemon/engine/log-view.ts";
import type { FileState } from "../../daemon/facts/git/status.ts";
import { BranchLooks, looksAfterWrites } from "../../daemon/hooks/session-work.ts";
import { sameFileRows } from "../../daemon/sharing/elsewhere.ts";
import { sameFileLines } from "../../daemon/sharing/trail.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { actorOf, begin, type Machine, MemoryStoreOfAll, machine, settled, shared } from "./shared-world.ts";

const blob = (letter: string) => letter.repeat(40);

const clean: FileState = { staged: false, changed: false, untracked: false, ignored: false, isNew: false };

/** The agent wrote these files of its worktree. */
function wrote({ own, name }: Machine, session: string, ...files: readonly string[]): Promise<unknown> {
  const [worktree, project] = [`/${name}/app`, `/${name}/app`];
  const noted = files.map(file => ({ key: `n:${worktree}/${file}`, file, worktree, project }));
  return own.submitAndWait({
    type: "writes_noted",
    actor: actorOf(session),
    noted: { files: noted, by: "edit", ancestors: [], wallMs: 1 },
  });
}

/** A machine's looks at its branches; `looks` counts those that run git. */
function looksOf({ log, name, listeners }: Machine) {
  const branch = {
    stamp: "1",
    files: [] as readonly BranchFile[],
    looks: 0,
    /** What git says of files that were written; null: nothing now. */
    work: new Map<string, Partial<FileState>>() as ReadonlyMap<string, Partial<FileState>> | null,
    worksAsked: 0,
    troubles: [] as unknown[],
  };
  const facts = {
    repository: async () => ({ worktree: `/${name}/app`, gitDir: `/${name}/app/.git` }),
    stamped: async () => ({ stamp: branch.stamp, changedAt: 0 }),
    work: async (_place: unknown, files: readonly string[]) => {
      branch.worksAsked += 1;
      const { work } = branch;
      if (work === null) return { unreachable: "it takes too long" };
      return new Map(files.map(file => [file, { ...clean, ...work.get(file) }]));
    },
    branchFiles: async () => {
      branch.looks += 1;
      return branch.files;
    },
  };
  const clock = new SimulatedClock(1_000_000);
  const onTrouble = (message: string, error: unknown) => void branch.troubles.push(message, error);
  const branchLooks = new BranchLooks({ engine: log, facts, clock } as never, onTrouble);
  listeners.own.add(looksAfterWrites(branchLooks));
  return { branch, clock, look: (session: string) => branchLooks.look(session) };
}

async function two() {
  const all = new MemoryStoreOfAll();
  const [laptop, desk] = [await machine("laptop", all), await machine("desk", all)];
  for (const one of [laptop, desk]) expect(await one.store.open(10_000)).toBe(true);
  await begin(laptop, "alice", { branch: "paging" });
  await begin(desk, "bob", { branch: "login" });
  await settled(laptop, desk);
  return { all, laptop, desk };
}

function rows({ log }: Machine, of: { readonly id?: string; readonly project?: string } = {}) {
  return [...sameFileRows(log, of)].map(({ row }) => {
    const { file, project, sides } = row();
    return [file, project, ...sides.map(({ name, branch }) => `${name} ${branch}`)];
  });
}

function notes({ log }: Machine, session: string): unknown[] {
  return [...noteIds(log, session)].flatMap(([{ state }, id]) =>
    (state.notes.pending.get(id)?.notes ?? []).map(({ note }) => note),
  );
}

/** What the machine heard, and the lines of its trail. */
function news({ heard, own }: Machine): string[] {
  const all = heard.splice(0);
  const told = all.flatMap(({ event }) =>
    event.event === "same_file_began" || event.event === "same_file_ended"
      ? [`${event.event} ${event.project} ${event.files} ${event.sides.map(({ name }) => name)}`]
      : [],
  );
  const lines = all
    .flatMap(({ event }) => sameFileLines(event, own.state, 5))
    .map(({ id, name, project, file, why }) => `${id} ${name} ${project} ${file}: ${why}`);
  return [...told, ...lines];
}

it("is told by events and in the trail when it begins and when it is over, of a machine's own files", async () => {
  const { all, laptop, desk } = await two();
  const far = await machine("far", all);
  expect(await far.store.open(10_000)).toBe(true);
  const [here, there] = [looksOf(laptop), looksOf(desk)];
  here.branch.files = [["src/a.ts", blob("1")]];
  there.branch.files = [["src/a.ts", blob("2")]];
  await here.look("alice");
  await there.look("bob");
  await settled(laptop, desk, far);
  expect(news(laptop)).toEqual([
    "same_file_began /laptop/app src/a.ts alice,bob@desk",
    "alice alice /laptop/app /laptop/app/src/a.ts: bob@desk changed it, too, on branch login",
  ]);
  expect(news(desk)).toEqual([
    "same_file_began /desk/app src/a.ts bob,alice@laptop",
    "bob bob /desk/app /desk/app/src/a.ts: alice@laptop changed it, too, on branch paging",
  ]);
  await begin(desk, "bob", { branch: "another" });
  await settled(laptop, desk, far);
  expect(news(laptop)).toEqual([
    "same_file_ended /laptop/app src/a.ts alice,bob@desk",
    "alice alice /laptop/app /laptop/app/src/a.ts: the risk with bob@desk on branch login is over",
  ]);
  expect(news(desk)).toHaveLength(2);
  expect(news(far)).toEqual([]);
});

it("is a row on both machines, and a note for both agents, without a path or a content", async () => {
  const { all, laptop, desk } = await two();
  const [here, there] = [looksOf(laptop), looksOf(desk)];
  here.branch.files = [["src/a.ts", blob("1")]];
  there.branch.files = [["src/a.ts", blob("2")]];
  await here.look("alice");
  await there.look("bob");
  await settled(laptop, desk);
  const [mine, theirs] = [
    ["src/a.ts", "/laptop/app", "alice paging", "bob@desk login"],
    ["src/a.ts", "/desk/app", "bob login", "alice@laptop paging"],
  ];
  expect([rows(laptop), rows(desk)]).toEqual([[mine], [theirs]]);
  expect(rows(laptop, { project: "/laptop/app", id: "alice" })).toEqual([mine]);
  expect([rows(laptop, { project: "/elsewhere" }), rows(laptop, { id: "bob" })]).toEqual([[], []]);
  expect(notes(laptop, "alice")).toEqual([
    {
      what: "same_file",
      file: "src/a.ts",
      other: "bob@desk",
      session: expect.stringMatching(/^bob@/),
      branch: "login",
    },
  ]);
  expect(notes(desk, "bob")).toHaveLength(1);
  expect(JSON.stringify(all.entries)).not.toMatch(/\/(?:laptop|desk)\/app/);
});

it("is of the clone in which the session works, if the machine has two", async () => {
  const { laptop, desk } = await two();
  const again = "/laptop/again";
  const { node } = laptop.own.state.outbox;
  const projects = [...laptop.own.state.outbox.projects, [again, shared]] as const;
  await laptop.own.submitAndWait({ type: "sharing_set", node, projects, level: rulesLevel });
  await begin(laptop, "ann", { project: again, worktree: again, cwd: again, branch: "paging" });
  const [here, there] = [looksOf(laptop), looksOf(desk)];
  here.branch.files = [["src/a.ts", blob("1")]];
  there.branch.files = [["src/a.ts", blob("2")]];
  await here.look("ann");
  await there.look("bob");
  await settled(laptop, desk);
  const row = ["src/a.ts", again, "ann paging", "bob@desk login"];
  for (const project of [undefined, "/laptop/app", again])
    expect(rows(laptop, project === undefined ? {} : { project })).toEqual([row]);
});

it("is looked for when HEAD has moved, or the session has another branch, and in shared projects alone", async () => {
  const { laptop } = await two();
  await begin(laptop, "eve", { project: "/elsewhere", worktree: "/elsewhere" });
  const { branch, look } = looksOf(laptop);
  branch.files = [["a.ts", blob("1")]];
  const { seq } = laptop.own.state;
  await look("eve");
  await look("nobody");
  expect([branch.looks, laptop.own.state.seq]).toEqual([0, seq]);
  // The second waits for the first, and sees that nothing changed.
  await Promise.all([look("alice"), look("alice"), look("alice")]);
  await look("alice");
  expect([branch.looks, laptop.own.state.seq]).toEqual([1, seq + 1]);
  branch.stamp = "2";
  await look("alice");
  expect([branch.looks, laptop.own.state.branches.bySession.size]).toEqual([2, 1]);
  await begin(laptop, "alice", { branch: "another" });
  expect(laptop.own.state.branches.bySession.size).toBe(0);
  await look("alice");
  expect([branch.looks, laptop.own.state.branches.bySession.size]).toEqual([3, 1]);
  // There and back, without a look in between.
  for (const there of ["paging", "another"]) await begin(laptop, "alice", { branch: there });
  await look("alice");
  expect([branch.looks, laptop.own.state.branches.bySession.size]).toEqual([3, 1]);
  branch.stamp = "3";
  branch.files = [];
  for (let n = 0; n < 2; n += 1) await look("alice");
  expect([branch.looks, laptop.own.state.branches.bySession.size]).toEqual([4, 0]);
  expect([branch.worksAsked, branch.troubles]).toEqual([0, []]);
});

it("has what the session wrote and did not commit, as git says now, before what it committed", async () => {
  const { laptop, desk } = await two();
  const [here, there] = [looksOf(laptop), looksOf(desk)];
  const known = () => laptop.own.state.branches.bySession.get("alice")?.files ?? [];
  here.branch.files = [
    ["b.ts", blob("1")],
    ["c.ts", blob("2")],
  ];
  await wrote(laptop, "alice", "c.ts", "new.ts", "clean.ts", "secret.env");
  here.branch.work = new Map([
    ["c.ts", { changed: true }],
    ["new.ts", { untracked: true }],
    ["secret.env", { ignored: true }],
  ]);
  await here.look("alice");
  const all = [
    ["c.ts", uncommitted],
    ["new.ts", uncommitted],
    ["b.ts", blob("1")],
  ];
  expect(known()).toEqual(all);
  await wrote(desk, "bob", "new.ts");
  there.branch.work = new Map([["new.ts", { staged: true }]]);
  await there.look("bob");
  await settled(laptop, desk);
  const [row] = [...sameFileRows(laptop.log, {})].map(one => one.row());
  expect(row?.sides).toMatchObject([
    { name: "alice", uncommitted: true },
    { name: "bob@desk", uncommitted: true },
  ]);
  // If git cannot tell, what was told stays.
  here.branch.work = null;
  await here.look("alice");
  expect(known()).toEqual(all);
  // The work went: one file was committed, the other was taken back.
  here.branch.work = new Map();
  here.branch.stamp = "2";
  here.branch.files = [["c.ts", blob("3")]];
  await here.look("alice");
  await settled(laptop, desk);
  expect([known(), rows(laptop), rows(desk)]).toEqual([[["c.ts", blob("3")]], [], []]);
  expect([...here.branch.troubles, ...there.branch.troubles]).toEqual([]);
});

it("follows each write, one look in 30 seconds, and leaves the last write out in no case", async () => {
  const { laptop } = await two();
  const { branch, clock } = looksOf(laptop);
  const known = () => laptop.own.state.branches.bySession.get("alice")?.files.map(([file]) => file) ?? [];
  const isWork = new Map<string, Partial<FileState>>();
  branch.work = isWork;
  const writes = async (...files: readonly string[]) => {
    for (const file of files) {
      isWork.set(file, { changed: true });
      await wrote(laptop, "alice", file);
    }
  };
  await writes("a.ts", "b.ts");
  // The answer to the event waits for no git.
  expect(branch.worksAsked).toBe(0);
  clock.pass(0);
  await expect.poll(known).toEqual(["a.ts", "b.ts"]);
  for (let n = 0; n < 100; n += 1) await writes(`c${n}.ts`);
  clock.pass(limits.branchLookPauseMs - 1);
  await writes("last.ts");
  expect(branch.worksAsked).toBe(1);
  clock.pass(1);
  await expect.poll(known).toContain("last.ts");
  expect(branch.worksAsked).toBe(2);
  // Nothing was written since.
  clock.pass(10 * limits.branchLookPauseMs);
  expect(branch.worksAsked).toBe(2);
  await writes("later.ts");
  clock.pass(0);
  await expect.poll(known).toContain("later.ts");
  expect([branch.worksAsked, branch.troubles]).toEqual([3, []]);
});

it("waits for its turn after a look that something else began, and is left out for a session that ended", async () => {
  const { laptop } = await two();
  const { branch, clock, look } = looksOf(laptop);
  branch.work = new Map([["a.ts", { changed: true }]]);
  await wrote(laptop, "alice", "a.ts");
  clock.pass(0);
  await expect.poll(() => branch.worksAsked).toBe(1);
  clock.pass(limits.branchLookPauseMs - 1);
  await look("alice");
  await expect.poll(() => branch.worksAsked).toBe(2);
  await wrote(laptop, "alice", "b.ts");
  clock.pass(limits.branchLookPauseMs - 1);
  expect(branch.worksAsked).toBe(2);
  await laptop.own.submitAndWait({
    type: "session_end",
    session: "alice",
    incarnation: null,
    cause: "ended",
  });
  clock.pass(1);
  await begin(laptop, "eve", { project: "/elsewhere", worktree: "/elsewhere" });
  await wrote(laptop, "eve", "b.ts");
  clock.pass(10 * limits.branchLookPauseMs);
  expect([branch.worksAsked, branch.troubles]).toEqual([2, []]);
});

it("names 500 files at most, those that are not committed first", async () => {
  const { laptop } = await two();
  const { branch, look } = looksOf(laptop);
  const names = (letter: string, count: number) =>
    Array.from({ length: count }, (_, n) => `${letter}${n}.ts`);
  branch.files = names("c", limits.branchFilesMax).map(name => [name, blob("1")]);
  await wrote(laptop, "alice", ...names("w", 20));
  branch.work = new Map(names("w", 20).map(name => [name, { changed: true }]));
  await look("alice");
  const files = laptop.own.state.branches.bySession.get("alice")?.files ?? [];
  expect(files).toHaveLength(limits.branchFilesMax);
  expect(files.filter(([, it]) => it === uncommitted)).toHaveLength(20);
});
