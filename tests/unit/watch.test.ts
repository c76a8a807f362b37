/** `kite watch`, its keys, and what it shows of a store. */
import { describe, expect, it, onTestFinished } from "vitest";
import { nextStep } from "../../bin/commands/home-screen.ts";
import { KeyReader, textOfKey } from "../../bin/context/process-context.ts";
import { eventSentence } from "../../bin/view/event-lines.ts";
import { share } from "../../bin/view/sessions.ts";
import { unpainted, widthOf } from "../../bin/view/text.ts";
import {
  afterKey,
  choosable,
  firstMode,
  following,
  type WatchData,
  type WatchMode,
  watchView,
} from "../../bin/watch/screen.ts";
import { type RunLine, watch } from "../../bin/watch/watch.ts";
import type { EventLine } from "../../protocol/events.ts";
import type { StoreState } from "../../protocol/schemas/store.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { ElsewhereRow } from "../../protocol/work.ts";
import { type FakeDaemon, type FakeWorldOptions, fakeDaemon, fakeWorld } from "./command-world.ts";
import { busy, crowd, now, task as rowOfTask, screen, session } from "./view-rows.ts";

// kite watch: the picture at every size, and what happens on a terminal and in a pipe.

const task = (id: string, more: Partial<TaskRow> = {}): TaskRow =>
  rowOfTask(`t-abc-${id}`, `Do ${id}`, { project: "/home/ana/code/shop", ...more });

const data = (more: Partial<WatchData> = {}): WatchData => ({
  version: "0.1.0",
  sessions: busy.sessions,
  locks: busy.locks,
  tasks: [task("1"), task("2", { status: "active", assigneeName: "alice" })],
  refusals: busy.refusals,
  news: [{ at: now, text: "began     alice" }],
  away: null,
  ...more,
});

describe("the picture", () => {
  it("marks the row of the chosen session, also where its section has no room for all", () => {
    const many = data({ sessions: crowd.sessions });
    const marks = (chosen: string, rows: number, color = false) =>
      watchView({ ...many, mode: { ...firstMode, chosen } }, screen(80, { color }), rows).filter(line =>
        unpainted(line).startsWith("  > "),
      );
    const order = choosable(many);
    expect(order.length).toBeGreaterThan(8);
    for (const rows of [10, 16, 60])
      for (const { id, name } of order) {
        const [line = "", ...more] = marks(id, rows);
        expect(line.replace("└ ", "").slice(4).startsWith(name.slice(0, 12)), line).toBe(true);
        expect(more).toEqual([]);
      }
    expect(marks(order[1]?.id ?? "", 24, true)[0]).toContain("\u001b[7m> ");
    expect(marks(order[1]?.id ?? "", 24)[0]).not.toContain("\u001b");
  });

  it("says what to do next where nobody is there, and only there", () => {
    const next = nextStep(fakeWorld(), 0);
    expect(next).toEqual([
      "Next: kite install, which connects your agents; kite demo shows first what Kite does.",
    ]);
    const nobody = data({ sessions: [], locks: [], tasks: [], refusals: [], news: [], next });
    expect(watchView(nobody, screen(80), 24).slice(1, 4)).toEqual([
      "",
      "No sessions.",
      next[0]?.slice(0, 79),
    ]);
    expect(watchView({ ...nobody, away: "the daemon stopped" }, screen(80), 24).join()).not.toContain(
      "Next:",
    );
    expect(watchView(data({ next }), screen(80), 24).join()).not.toContain("Next:");
    expect(nextStep(fakeWorld(), 2)).toEqual([
      "Next: kite status shows who does what; kite watch keeps showing it.",
    ]);
  });

  it("chooses from the top down, as the rows stand", () => {
    const many = data({ sessions: crowd.sessions });
    const at = choosable(many).map(({ id: chosen }) =>
      watchView({ ...many, mode: { ...firstMode, chosen } }, screen(80), 80).findIndex(line =>
        line.startsWith("  > "),
      ),
    );
    expect(at).toEqual([...at].sort((a, b) => a - b));
  });

  it("is never larger than the terminal, and has a title for everything there is room for", () => {
    const crowded = data({
      sessions: crowd.sessions,
      locks: crowd.locks,
      tasks: Array.from({ length: 300 }, (_, i) => task(`${i}`)),
    });
    for (const one of [data(), crowded]) {
      for (const rows of [1, 2, 3, 5, 9, 10, 16, 24, 50, 200]) {
        for (const width of [20, 40, 80, 200]) {
          const lines = watchView(one, screen(width, { color: true }), rows);
          expect(lines.length).toBeLessThanOrEqual(rows);
          for (const line of lines) expect(widthOf(unpainted(line))).toBeLessThanOrEqual(width);
          const titles = ["Sessions", "Locks", "Tasks", "Latest"].filter(title =>
            lines.some(line => unpainted(line).startsWith(title)),
          );
          const room = rows - 1 - (rows >= 8 ? 1 : 0);
          expect(titles).toHaveLength(Math.min(4, Math.floor(room / 2)));
        }
      }
    }
  });

  it("has no title without rows, and a last line that names the keys", () => {
    const none = data({ sessions: [], locks: [], tasks: [], refusals: [], news: [] });
    const lines = watchView(none, screen(80), 12);
    expect(lines).toHaveLength(12);
    expect(lines.filter(line => line !== "")).toEqual([
      "14:00:00 · 0 sessions · 0 locks · 0 open tasks · Kite 0.1.0",
      "q end   / filter   p projects   ? keys",
    ]);
  });

  it("shows one project and sums up the others, until a key asks for all", () => {
    const blog = "/home/ana/code/blog/.git";
    const one = watchView(data({ project: blog }), screen(80), 40);
    expect(one).toContain("Other projects: p");
    expect(one.some(line => line.includes("src/auth.ts  "))).toBe(false);
    const all = watchView(data({ project: blog, mode: { ...firstMode, isAll: true } }), screen(80), 40);
    expect(all).not.toContain("Other projects: p");
    expect(all.some(line => line.includes("src/auth.ts  "))).toBe(true);
  });

  it("follows the chosen session where the rows are sorted again, and opens that one", () => {
    const before = data({ sessions: ["ann", "bob", "cid"].map(name => session(name)) });
    const rows = (of: WatchData) => choosable(of).map(({ id }) => id);
    const isLive = (of: WatchData) => (id: string) => of.sessions.some(one => one.id === id);
    const first = following(firstMode, rows(before), isLive(before));
    const mode = afterKey(first, "j", rows(before)) ?? firstMode;
    const after = data({
      sessions: [session("ann"), session("bob"), session("cid", { attention: "Bash: make" })],
    });
    expect(rows(after).map(id => id.slice(0, 3))).toEqual(["cid", "ann", "bob"]);
    const then = following(mode, rows(after), isLive(after));
    const lines = watchView({ ...after, mode: then }, screen(80), 24);
    expect(lines.filter(line => line.startsWith("  > "))).toEqual([expect.stringContaining("> bob")]);
    expect(lines.at(-1)).toContain("Enter bob");
    const opened = afterKey(then, "\r", rows(after)) ?? firstMode;
    expect(watchView({ ...after, mode: opened }, screen(80), 24)).toContain("bob");
    // The first one, too, is the one that the screen showed, though nobody chose it.
    const enter = afterKey(following(first, rows(after), isLive(after)), "\r", rows(after)) ?? firstMode;
    expect(watchView({ ...after, mode: enter }, screen(80), 24)).toContain("ann");
    // Neither a filter nor an urgent session takes the place of the open one; its end closes it.
    const filtered = { ...opened, filter: "cid" };
    expect(following(filtered, [rows(after)[0] ?? ""], isLive(after))).toEqual(filtered);
    expect(watchView({ ...after, mode: filtered }, screen(80), 24)).toContain("bob");
    const gone = data({ sessions: after.sessions.filter(({ name }) => name !== "bob") });
    expect(following(opened, rows(gone), isLive(gone))).toMatchObject({ at: "all", chosen: rows(gone)[1] });
    expect(following(opened, [], () => false)).toMatchObject({ at: "all", chosen: null });
  });

  it("names the tasks once: their counts, their rows, and not in the rows of those who work on them", () => {
    const shop = "/home/ana/code/shop/.git";
    const description = "Page the list";
    const of = data({
      sessions: [session("ann", { task: { id: "t-abc-1", description } })],
      tasks: [task("1", { description, status: "active", assigneeName: "ann", project: shop })],
      locks: [],
    });
    const lines = watchView(of, screen(120), 24);
    expect(lines.filter(line => line.includes(description))).toHaveLength(1);
    expect(lines.filter(line => line.includes("1 active"))).toEqual(["Tasks: 1 active"]);
    const mode = { ...firstMode, at: "agent" as const };
    expect(watchView({ ...of, mode }, screen(120), 24).join("\n")).toContain(`on "${description}"`);
  });

  it("gives ten sessions with an agent each a row on 24 rows, and says what it leaves out", () => {
    const agent = (status: "active" | "idle") => ({
      ...{
        agent: `a-${status}`,
        name: `a-${status}`,
        status,
        locks: 0,
        waitingFor: null,
        waitingForPath: null,
      },
    });
    const sessions = Array.from({ length: 10 }, (_, i) =>
      session(`brave-otter-${i}`, {
        agents: [agent("active"), agent("idle")],
        doing: {
          verb: "writes",
          what: `/home/ana/code/shop/src/components/payment/form-${i}/CardForm.tsx`,
          forMs: 900,
        },
        locks: 1,
      }),
    );
    const tasks = Array.from({ length: 20 }, (_, i) => task(`${i}`));
    const news = Array.from({ length: 40 }, (_, i) => ({ at: now - i, text: `began     s${i}` }));
    const lines = watchView(data({ sessions, tasks, news }), screen(80), 24);
    for (const { name } of sessions)
      expect(lines.filter(line => line.startsWith(`${name}`, 4))).toHaveLength(1);
    expect(lines.filter(line => line.includes("CardForm.tsx"))).toHaveLength(10);
    expect(lines.filter(line => line.startsWith("  and ")).map(line => line.replace(/\d+/, "N"))).toEqual([
      "  and N more locks: kite status --locks",
      "  and N more tasks: kite task list",
      "  and N more events: kite log",
    ]);
    const small = watchView(data({ sessions, tasks, news }), screen(60), 15);
    expect(small.filter(line => line.startsWith("brave-otter", 4)).length).toBeGreaterThanOrEqual(4);
    expect(small).toContainEqual(
      expect.stringMatching(/^ {2}and \d+ more sessions: kite status --sessions$/),
    );
  });

  it("leaves out what a filter does not fit, and shows one agent alone", () => {
    const filtered = watchView(data({ mode: { ...firstMode, filter: "ALI" } }), screen(80), 40);
    expect(filtered.some(line => line.startsWith("  > alice"))).toBe(true);
    expect(filtered.some(line => line.startsWith("    carol"))).toBe(false);
    const mode = { ...firstMode, at: "agent" as const };
    const alone = watchView(data({ mode }), screen(80), 40);
    expect(alone).toContain("carol");
    expect(alone.some(line => line.includes("carol-0000-4000, pid 4800"))).toBe(true);
    expect(alone.some(line => line.startsWith("    hana"))).toBe(false);
    expect(watchView(data({ mode: { ...firstMode, at: "help" } }), screen(80), 24).join("\n")).toContain(
      "show the chosen session alone",
    );
  });

  it("says how much is not shown, and where it is", () => {
    const lines = watchView(data({ sessions: crowd.sessions }), screen(80), 16).map(unpainted);
    expect(lines.some(line => /^ {2}and \d+ more sessions: kite status --sessions$/.test(line))).toBe(true);
    const news = lines.slice(lines.indexOf("Latest") + 1);
    expect(news[0]).toBe("  14:00:00  began     alice");
  });

  it("says instead that nothing new comes", () => {
    expect(watchView(data({ away: "no daemon runs" }), screen(80), 24)[0]).toBe("14:00:00 · no daemon runs");
  });

  it("cleans what comes from outside", () => {
    const news = [{ at: now, text: "began     x" }];
    const away = "\u001b[31mno daemon\u202e";
    expect(watchView(data({ news, away }), screen(80), 24).join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});

describe("a key", () => {
  const press = (keys: readonly string[], mode: WatchMode = firstMode) =>
    keys.reduce<WatchMode | null>(
      (now, key) => (now === null ? null : afterKey(now, key, ["a", "b", "c"])),
      mode,
    );

  it("ends, filters, chooses and helps", () => {
    expect(press(["q"])).toBeNull();
    expect(press(["/", "q", "\u0003"])).toBeNull();
    expect(press(["/", "a", "q", "b", "\u007f", "\r"])).toMatchObject({ at: "all", filter: "aq" });
    expect(press(["/", "a", "\u001b"])).toMatchObject({ at: "all", filter: "" });
    expect(press(["/", "a", "\r", "\u001b"])).toMatchObject({ filter: "" });
    expect(press(["p", "j", "\u001b[B", "j", "j", "k"])).toMatchObject({ isAll: true, chosen: "b", row: 1 });
    expect(press(["\r"])).toMatchObject({ at: "agent" });
    expect(press(["\r", "\u001b"])).toMatchObject({ at: "all" });
    expect(press(["?"])).toMatchObject({ at: "help" });
    expect(press(["?", "r"])).toMatchObject({ at: "help", action: null });
    const chosen = { ...firstMode, chosen: "a" };
    expect(press(["r"])).toEqual(firstMode);
    expect(press(["e"], chosen)).toMatchObject({ action: "explain", isDue: true });
    for (const key of ["r", "o"]) {
      expect(press([key], chosen)).toMatchObject({ at: "confirm", isDue: false });
      expect(press([key, "y"], chosen)).toMatchObject({ at: "all", isDue: true, chosen: "a" });
      for (const no of ["n", "Y", "\r", "\u001b", key])
        expect(press([key, no], chosen)).toMatchObject({ at: "all", action: null, isDue: false });
    }
    expect(press(["m", "q", "/", "\r"], chosen)).toMatchObject({
      action: "message",
      text: "q/",
      isDue: true,
    });
    expect(press(["m", " ", "\r"], chosen)).toMatchObject({ action: null, isDue: false });
    expect(press(["m", "x", "\u001b"], chosen)).toMatchObject({ at: "all", action: null, text: "" });
    const page = { ...chosen, at: "page" as const, top: 5 };
    expect(press(["k", " ", "b", "j", "r"], page)).toMatchObject({ at: "page", top: 5, action: null });
    expect(press(["\u001b"], page)).toMatchObject({ at: "all", top: 0 });
    expect(press(["?", "?", "x"])).toEqual(firstMode);
    expect(afterKey(firstMode, "\r", [])).toEqual(firstMode);
  });
});

describe("the room", () => {
  it("goes first to those who want little, then evenly to the others", () => {
    expect(share([2, 3, 20, 20], 25)).toEqual([2, 3, 10, 10]);
    expect(share([5, 5, 5, 5], 40)).toEqual([5, 5, 5, 5]);
    expect(share([9, 9, 9, 9], 5)).toEqual([3, 2, 0, 0]);
    expect(share([9, 9], 1)).toEqual([0, 0]);
    expect(share([20, 9, 9], 20, 0)).toEqual([16, 2, 2]);
    expect(share([6, 9, 9], 20, 0)).toEqual([6, 7, 7]);
  });
});

describe("kite watch", () => {
  function daemonOf(): FakeDaemon {
    return fakeDaemon({
      subscribe: { ok: true, cursor: "1.1.1" },
      "query sessions": { ok: true, rows: busy.sessions },
      "query locks": { ok: true, rows: busy.locks },
      "query refusals": { ok: true, rows: [] },
      "query transcripts": { ok: true, rows: [] },
      whoami: { ok: false, code: "unknown_session", error: "none of these is a session's" },
      "query tasks": ({ status }) => ({ ok: true, rows: status === "active" ? [] : [task("1")] }),
    });
  }
  const noLine = () => Promise.reject(new Error("no command was to run"));
  async function start(options: FakeWorldOptions, flags: { json?: boolean } = {}, runLine: RunLine = noLine) {
    const world = fakeWorld(options);
    const ending = new AbortController();
    const code = watch(world, flags, ending.signal, runLine);
    await expect.poll(() => world.out().includes("\u001b[H") || world.out().includes("watching")).toBe(true);
    return { world, ending, code };
  }
  const began = { event: "session_started", id: "e", name: "eve", project: "/p" } as const;

  const granted = {
    event: "lock_granted",
    project: "/home/ana/code/shop/.git",
    paths: ["/home/ana/code/shop/src/new.ts"],
    files: ["src/new.ts"],
    holder: { id: "e", agent: null, name: "eve" },
    token: "k1.3.18",
    kind: "turn",
    waitedMs: 0,
  } as const;

  const gone = { event: "context_changed", project: "/p", key: "port", version: 3, deleted: true } as const;

  it("takes a screen of its own on a terminal, and gives it back", async () => {
    const daemon = daemonOf();
    const terminal = { columns: 80, rows: 24 };
    const { world, ending, code } = await start({ daemon, terminal, env: { NO_COLOR: "1" } });
    const first = world.out();
    expect(first.startsWith("\u001b[?1049h\u001b[?25l\u001b[?2004h\u001b[H14:00:00 · ")).toBe(true);
    expect(first).not.toContain("\u001b[1m");
    daemon.push(began);
    daemon.push(granted);
    expect(world.out()).toBe(first);
    world.tick();
    await expect.poll(() => world.out().slice(first.length)).toContain("14:00:00  began     eve");
    expect(world.out()).toContain("14:00:00  granted   src/new.ts to eve");
    ending.abort();
    expect(await code).toBe(0);
    expect(world.out().endsWith("\u001b[?25h\u001b[?1049l")).toBe(true);
    expect(daemon.listeners()).toBe(0);
  });

  it("draws no more than the terminal has, whatever its size is by now", async () => {
    const daemon = daemonOf();
    const terminal = { columns: 60, rows: 7 };
    const { world, ending, code } = await start({ daemon, terminal });
    const [, picture = ""] = world.out().split("\u001b[H");
    expect(picture.split("\r\n").length).toBeLessThanOrEqual(7);
    ending.abort();
    await code;
  });

  it("looks again once a second though nothing happens, and once for many events", async () => {
    const daemon = daemonOf();
    const { world, ending, code } = await start({ daemon, terminal: { columns: 80, rows: 24 } });
    const looks = () => daemon.asked.filter(one => one["target"] === "locks").length;
    expect(looks()).toBe(1);
    for (let n = 0; n < 3; n += 1) {
      world.tick();
      await Promise.resolve();
      await Promise.resolve();
    }
    expect(looks()).toBe(1);
    world.tick();
    expect(looks()).toBe(2);
    await expect.poll(() => world.out().split("\u001b[H").length).toBe(3);
    for (let n = 0; n < 100; n += 1) daemon.push(began);
    world.tick();
    expect(looks()).toBe(3);
    ending.abort();
    await code;
  });

  it("says that the daemon does not answer, until it does", async () => {
    const daemon = daemonOf();
    const { world, ending, code } = await start({ daemon, terminal: { columns: 80, rows: 24 } });
    let answer: (rows: object) => void = () => {};
    daemon.answers["query locks"] = () => new Promise<object>(resolve => (answer = resolve));
    daemon.push(began);
    for (let n = 0; n < 5; n += 1) world.tick();
    expect(world.out()).toContain("the daemon does not answer");
    answer({ ok: true, rows: [] });
    await expect.poll(() => world.out().split("\u001b[H").at(-1)).toContain("0 locks");
    ending.abort();
    expect(await code).toBe(0);
  });

  it("waits on a terminal for a daemon that went away", async () => {
    const daemon = daemonOf();
    const { world, ending, code } = await start({ daemon, terminal: { columns: 80, rows: 24 } });
    daemon.die();
    await expect.poll(world.out).toContain("Kite is not running. Start it: kite up");
    ending.abort();
    expect(await code).toBe(0);
    expect(world.out().endsWith("\u001b[?1049l")).toBe(true);
  });

  it("is a line for each thing that happens, in a pipe and on a terminal that can do no more", async () => {
    for (const more of [{}, { terminal: { columns: 80, rows: 24 }, env: { TERM: "dumb" } }]) {
      const daemon = daemonOf();
      const { world, ending, code } = await start({ daemon, ...more });
      daemon.push(began);
      daemon.push(granted);
      daemon.push({ ...gone, from: null });
      daemon.push({ ...gone, deleted: false, from: granted.holder });
      daemon.lag();
      ending.abort();
      expect(await code).toBe(0);
      expect(world.out().split("\n")).toEqual([
        `14:00:00  watching  sessions: ${busy.sessions.length}, locks: ${busy.locks.length}`,
        "14:00:00  began     eve",
        "14:00:00  granted   /home/ana/code/shop/src/new.ts to eve",
        "14:00:00  context   port is gone",
        "14:00:00  context   port version 3 by eve",
        "",
      ]);
      expect(world.err()).toContain("events were missed");
    }
  });

  it("is JSON, a value a line, where that is asked for", async () => {
    const daemon = daemonOf();
    const world = fakeWorld({ daemon });
    const ending = new AbortController();
    const code = watch(world, { json: true }, ending.signal, noLine);
    await expect.poll(world.out).not.toBe("");
    daemon.push(began);
    ending.abort();
    await code;
    const lines = world
      .out()
      .trimEnd()
      .split("\n")
      .map(line => JSON.parse(line));
    expect(lines).toEqual([
      { sessions: busy.sessions, locks: busy.locks },
      { type: "event", ...began },
    ]);
  });

  it("says at once that there is no daemon", async () => {
    const world = fakeWorld();
    expect(await watch(world, {}, new AbortController().signal, noLine)).toBe(3);
    expect(world.err()).toContain("kite up");
    expect(world.out()).toBe("");
  });
});

// What kite watch shows of a store that machines share, and of the agents of the others.
describe("a store in kite watch", () => {
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
    const many = data({ sessions: crowd.sessions, locks: crowd.locks, store: away, elsewhere });
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
    const text = shown({ store, elsewhere }).join("");
    for (const char of ["\u001b", "\u0007", "<", "\u202e"]) expect(text).not.toContain(char);
  });

  it("says of merges of others what is new, as events", () => {
    const event = (more: object) => eventSentence({ type: "event", ...more } as EventLine);
    const merge = { event: "merge_elsewhere_changed", merge: "mg-1", machine: "desk", project: shop };
    const of = (state: string | null) => event({ ...merge, branch: "wo<rk", base: "main", state });
    expect(of("running")).toBe("merge     wo‹rk into main on desk is running");
    expect(of(null)).toBe("merge     wo‹rk into main on desk no longer waits");
  });

  it("says what became of the store, as an event", () => {
    const event = (state: StoreState) =>
      eventSentence({ type: "event", event: "store_changed", store: state });
    expect(event(away)).toBe("store     does not answer: the connection ended");
    expect(event(store)).toBe("store     is open: 2 machines: laptop, desk (away)");
    expect(event({ ...store, is: "refused", why: "another <b>daemon" })).toBe(
      "store     does not take this machine: another ‹b›daemon",
    );
  });

  interface Rows {
    store: readonly StoreState[];
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
  });

  it("says so in a pipe, in words and as JSON", async () => {
    const piped = await start({ daemon: daemonOf({ store: [away] }) });
    await expect.poll(() => piped.out()).toContain(`store     ${awayLine}; 1 on other machines`);
    const json = await start({ daemon: daemonOf({ store: [away] }) }, { json: true });
    const [first = ""] = json.out().split("\n");
    expect(JSON.parse(first)).toMatchObject({ store: { is: "away" }, elsewhere: [{ id: "bob" }] });
  });

  it("asks for nothing and shows nothing of a store where none is set", async () => {
    for (const options of [{}, { terminal: { columns: 120, rows: 30 }, env: { NO_COLOR: "1" } }]) {
      const daemon = daemonOf({ store: [away] }, false);
      const world = await start({ daemon, ...options });
      await expect
        .poll(() => world.out())
        .toContain(options.terminal === undefined ? "watching" : "Sessions");
      expect(world.out()).not.toMatch(/store|other machine/);
      const targets = daemon.asked.map(({ target }) => target);
      expect(targets).not.toContain("store");
      expect(targets).not.toContain("elsewhere");
    }
  });
});

// Keys of a terminal: single ones, arrows, and what is pasted.
describe("keys of a terminal", () => {
  const begin = "\u001b[200~";
  const end = "\u001b[201~";

  function keysOf(...pieces: readonly string[]): readonly string[] {
    const keys: string[] = [];
    const reader = new KeyReader(key => keys.push(key));
    for (const piece of pieces) reader.take(piece);
    return keys;
  }

  it.each([
    [["jk\r"], ["j", "k", "\r"]],
    [
      ["\u001b[A\u001b", "é😀"],
      ["\u001b[A", "\u001b", "é", "😀"],
    ],
    [[`m${begin}a\nb${end}\r`], ["m", `${begin}a\nb`, "\r"]],
    // An end in two pieces, and an empty paste.
    [
      [`${begin}a`, "b\u001b[2", "01~q"],
      [`${begin}ab`, "q"],
    ],
    [
      [begin + end, "q"],
      [begin, "q"],
    ],
    [
      [`${begin}${"x".repeat(9_999)}`, "yz", "\u001b[20", "1~q"],
      [`${begin}${"x".repeat(9_999)}y`, "q"],
    ],
  ])("%j is read as %j", (pieces, keys) => {
    expect(keysOf(...pieces)).toEqual(keys);
  });

  it("a paste is a text of one line, a key that is no text none", () => {
    expect(textOfKey(`${begin}a\r\n\tb\u001b[31mc\u0003`)).toBe("a b[31mc");
    expect(textOfKey("é")).toBe("é");
    for (const key of ["\r", "\u001b[A", "\u0003"]) expect(textOfKey(key)).toBeNull();
  });
});
