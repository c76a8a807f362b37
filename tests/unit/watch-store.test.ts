/** What kite watch shows of a store that machines share, and of the agents of the others. */
import { expect, it, onTestFinished } from "vitest";
import { eventSentence } from "../../bin/view/event-lines.ts";
import { unpainted, widthOf } from "../../bin/view/text.ts";
import { firstMode, type WatchData, watchView } from "../../bin/watch/screen.ts";
import { watch } from "../../bin/watch/watch.ts";
import type { EventLine } from "../../protocol/events.ts";
import type { StoreState } from "../../protocol/schemas/store.ts";
import type { ElsewhereRow, SameFileRow } from "../../protocol/work.ts";
import { type FakeDaemon, type FakeWorldOptions, fakeDaemon, fakeWorld } from "./command-world.ts";
import { busy, crowd, now, screen } from "./view-rows.ts";

const shop = "/home/ana/code/shop/.git";
const store: StoreState = {
  ...{
    where: "kite@db/kite",
    is: "open",
    since: null,
    why: null,
    wentBackAt: null,
    node: "n1",
    machine: "laptop",
  },
  nodes: [
    { machine: "laptop", is: "here" },
    { machine: "desk", is: "away" },
  ],
};
const since = new Date(new Date(now).setHours(13, 2, 31)).getTime();
const awayLine =
  "store away since 13:02 (the connection ended): tasks and messages as of then; edits are still coordinated";
const away: StoreState = { ...store, is: "away", since, why: "the connection ended" };
const far = (name: string, more: Partial<ElsewhereRow> = {}): ElsewhereRow => ({
  ...{ id: name, name: `${name}@desk`, machine: "desk", project: shop, branch: "feature" },
  ...{ state: "there", tasks: [] },
  ...more,
});

const same = (file: string, more: Partial<SameFileRow> = {}): SameFileRow => ({
  ...{ file, project: shop },
  sides: [
    { id: "alice", name: "alice", branch: "paging" },
    { id: "bob", name: "bob@desk", branch: "login" },
  ],
  ...more,
});

const data = (more: Partial<WatchData> = {}): WatchData => ({
  ...{ version: "0.1.0", sessions: busy.sessions, locks: busy.locks, tasks: [], refusals: [], news: [] },
  away: null,
  ...more,
});

const shown = (more: Partial<WatchData>, rows = 30, width = 120) =>
  watchView(data(more), screen(width), rows);

it("says below the header that the store is away, and names its machines while it is open", () => {
  expect(shown({ store: away, elsewhere: [] })[1]).toBe(awayLine);
  expect(shown({ store, elsewhere: [] })[1]).toBe("Store kite@db/kite: 2 machines: laptop, desk (away)");
  expect(shown({}).join("\n")).not.toMatch(/store|machine/i);
});

it("says nothing of the store where no daemon answers, since nobody coordinates edits then", () => {
  const lines = shown({ store: away, elsewhere: [], away: "the daemon stopped" }).join("\n");
  expect(lines).toContain("the daemon stopped");
  expect(lines).not.toContain("coordinated");
});

it("is never larger than the terminal", () => {
  const elsewhere = Array.from({ length: 40 }, (_, i) => far(`agent-${i}`));
  const sameFiles = Array.from({ length: 40 }, (_, i) => same(`src/${i}/a.ts`));
  const many = data({ sessions: crowd.sessions, locks: crowd.locks, store: away, elsewhere, sameFiles });
  for (const rows of [1, 2, 3, 5, 9, 16, 24, 50])
    for (const width of [20, 40, 80, 200]) {
      const lines = watchView(many, screen(width, { color: true }), rows);
      expect(lines.length).toBeLessThanOrEqual(rows);
      for (const line of lines) expect(widthOf(unpainted(line))).toBeLessThanOrEqual(width);
    }
});

it("shows sessions of other machines with role, branch, task and whether their machine is silent", () => {
  const elsewhere = [
    far("bob", { role: "lead", tasks: [{ id: "t-1", description: "Page the list" }] }),
    far("eve", { state: "away" }),
    far("joe", { state: "lost", project: "/home/ana/code/blog/.git" }),
  ];
  const all = shown({ store, elsewhere });
  expect(all).toContain("On 1 other machine");
  const line = (name: string, lines = all) => lines.find(one => one.startsWith(`  ${name}@desk`)) ?? "none";
  expect(line("bob")).toMatch(/bob@desk {2}lead {2}feature {2}Page the list$/);
  expect(line("eve")).toMatch(/feature +its machine is silent$/);
  expect(line("joe")).toMatch(/lost$/);
  // One project, and a filter, leave others out.
  expect(line("joe", shown({ store, elsewhere, project: shop }))).toBe("none");
  const mode = { ...firstMode, filter: "eve" };
  expect(line("bob", shown({ store, elsewhere, mode }))).toBe("none");
  expect(line("eve", shown({ store, elsewhere, mode }))).toContain("eve@desk");
});

it("shows foreign text as text", () => {
  const elsewhere = [far("bob", { name: "\u001b[2J<b>\u202e", branch: "\u001b]0;x\u0007" })];
  const sides = [{ id: "a", name: "\u202e", branch: "\u0007" } as const, same("a").sides[1]] as const;
  const sameFiles = [same("\u001b]0;x\u0007<img>", { sides })];
  const text = shown({ store, elsewhere, sameFiles }).join("");
  for (const char of ["\u001b", "\u0007", "<", "\u202e"]) expect(text).not.toContain(char);
});

it("shows files that branches here and on another machine changed, of the project and the filter", () => {
  const sameFiles = [same("src/a.ts"), same("b.ts", { project: "/home/ana/code/blog/.git" })];
  const all = shown({ store, sameFiles });
  const at = all.indexOf("Same file: changed on another machine, too");
  expect(all.slice(at + 1, at + 3)).toEqual([
    "  shop  src/a.ts  alice (paging)  bob@desk (login)",
    "  blog  b.ts      alice (paging)  bob@desk (login)",
  ]);
  expect(shown({ store, sameFiles, project: shop }).join("\n")).not.toContain("b.ts");
  const filtered = (filter: string) => shown({ store, sameFiles, mode: { ...firstMode, filter } }).join("\n");
  expect(filtered("src/")).not.toContain("b.ts");
  for (const word of ["login", "bob@"]) expect(filtered(word)).toContain("src/a.ts");
  expect(shown({ store, sameFiles: [] }).join("\n")).not.toContain("Same file");
});

it("says of files of two machines and of merges of others what is new, as events", () => {
  const { project, sides } = same("a.ts");
  const event = (more: object) => eventSentence({ type: "event", ...more } as EventLine);
  const files = { project, files: ["<a>.ts", "b.ts"], sides };
  expect(event({ event: "same_file_began", ...files, more: 3 })).toBe(
    "same file ‹a›.ts, b.ts, 3 more of alice (paging) and bob@desk (login)",
  );
  expect(event({ event: "same_file_ended", ...files })).toBe(
    "same file ‹a›.ts, b.ts: over between alice (paging) and bob@desk (login)",
  );
  const merge = { event: "merge_elsewhere_changed", merge: "mg-1", machine: "desk", project };
  const of = (state: string | null) => event({ ...merge, branch: "wo<rk", base: "main", state });
  expect(of("running")).toBe("merge     wo‹rk into main on desk is running");
  expect(of(null)).toBe("merge     wo‹rk into main on desk no longer waits");
});

it("says what became of the store, as an event", () => {
  const event = (state: StoreState) => eventSentence({ type: "event", event: "store_changed", store: state });
  expect(event(away)).toBe("store     does not answer: the connection ended");
  expect(event(store)).toBe("store     is open: 2 machines: laptop, desk (away)");
  expect(event({ ...store, is: "refused", why: "another <b>daemon" })).toBe(
    "store     does not take this machine: another ‹b›daemon",
  );
});

interface Rows {
  store: readonly StoreState[];
  sameFiles?: readonly SameFileRow[];
}

function daemonOf(rows: Rows, isSet = true): FakeDaemon {
  const daemon = fakeDaemon({
    subscribe: { ok: true, cursor: "1.1.1" },
    "query sessions": { ok: true, rows: busy.sessions },
    "query locks": { ok: true, rows: busy.locks },
    "query refusals": { ok: true, rows: [] },
    "query tasks": { ok: true, rows: [] },
    "query transcripts": { ok: true, rows: [] },
    whoami: { ok: false, code: "unknown_session", error: "none of these is a session's" },
    "query store": () => ({ ok: true, rows: rows.store }),
    "query elsewhere": { ok: true, rows: [far("bob", { role: "lead" })] },
    "query same_files": () => ({ ok: true, rows: rows.sameFiles ?? [] }),
  });
  const { client } = daemon;
  const hello = { ...client.daemon, ...(isSet ? { sharedStoreId: "s1" } : {}) };
  return { ...daemon, client: { ...client, daemon: hello } };
}

async function start(options: FakeWorldOptions, flags: { json?: boolean } = {}) {
  const world = fakeWorld(options);
  const ending = new AbortController();
  const noLine = () => Promise.reject(new Error("no command was to run"));
  const code = watch(world, flags, ending.signal, noLine);
  onTestFinished(async () => {
    ending.abort();
    await code;
  });
  await expect.poll(() => world.out()).not.toBe("");
  return world;
}

it("follows the store on a terminal's screen", async () => {
  const rows: Rows = { store: [store] };
  const daemon = daemonOf(rows);
  const world = await start({ daemon, terminal: { columns: 120, rows: 30 }, env: { NO_COLOR: "1" } });
  await expect.poll(() => world.out()).toContain("Store kite@db/kite: 2 machines");
  expect(world.out()).toContain("bob@desk  lead  feature");
  rows.store = [away];
  daemon.push({ event: "store_changed", store: away });
  world.tick();
  await expect.poll(() => world.out()).toContain(awayLine);
  expect(world.out()).toContain("store     does not answer: the connection ended");
  rows.sameFiles = [same("src/a.ts")];
  const { project, sides } = same("src/a.ts");
  daemon.push({ event: "same_file_began", project, files: ["src/a.ts"], sides });
  world.tick();
  await expect.poll(() => world.out()).toMatch(/ {2}src\/a\.ts +alice \(paging\) +bob@desk \(login\)/);
  expect(world.out()).toContain("same file src/a.ts of alice (paging) and bob@desk (login)");
});

it("says so in a pipe, in words and as JSON", async () => {
  const sameFiles = [same("a.ts"), same("b.ts")];
  const piped = await start({ daemon: daemonOf({ store: [away], sameFiles }) });
  await expect.poll(() => piped.out()).toContain(`store     ${awayLine}; 1 on other machines; 2 same files`);
  const json = await start({ daemon: daemonOf({ store: [away], sameFiles }) }, { json: true });
  const [first = ""] = json.out().split("\n");
  expect(JSON.parse(first)).toMatchObject({ store: { is: "away" }, elsewhere: [{ id: "bob" }], sameFiles });
});

it("asks for nothing and shows nothing of a store where none is set", async () => {
  for (const options of [{}, { terminal: { columns: 120, rows: 30 }, env: { NO_COLOR: "1" } }]) {
    const daemon = daemonOf({ store: [away] }, false);
    const world = await start({ daemon, ...options });
    await expect.poll(() => world.out()).toContain(options.terminal === undefined ? "watching" : "Sessions");
    expect(world.out()).not.toMatch(/store|other machine/);
    const targets = daemon.asked.map(({ target }) => target);
    expect(targets).not.toContain("store");
    expect(targets).not.toContain("elsewhere");
    expect(targets).not.toContain("same_files");
  }
});
