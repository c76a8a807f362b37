import { describe, expect, it } from "vitest";
import { locksView } from "../../bin/view/locks.ts";
import { sessionsView } from "../../bin/view/sessions.ts";
import { notRunningView, statusView } from "../../bin/view/status.ts";
import { unpainted, widthOf } from "../../bin/view/text.ts";
import { personName } from "../../protocol/names.ts";
import { busy, crowd, lock, screen, session } from "./view-rows.ts";

/** The lines between the backquotes. */
function text(strings: TemplateStringsArray): string[] {
  return (strings[0] ?? "").split("\n").slice(1, -1);
}

const empty = {
  ...busy,
  stats: { ...busy.stats, sessions: 0, locks: 0 },
  sessions: [],
  next: ["Next: kite install, which connects your agents; kite demo shows first what Kite does."],
  locks: [],
  refusals: [],
};
const one = {
  ...busy,
  stats: { ...busy.stats, sessions: 1, locks: 1 },
  sessions: busy.sessions.slice(0, 1),
  locks: busy.locks.slice(0, 1),
  refusals: [],
};
const hostile = {
  ...busy,
  sessions: [
    session("\u001b[31mred\u202e\u200bevil\n".repeat(3), {
      branch: "日本語のとても長いブランチの名前",
      attention: "Bash: \u001b]0;title\u0007 rm\r\n-rf ".repeat(9),
      worktree: "/home/ana/code/日本語",
      agents: [
        {
          agent: "x",
          name: "\u009b2Jagent",
          status: "active" as const,
          locks: 0,
          waitingFor: null,
          waitingForPath: null,
        },
      ],
    }),
  ],
  locks: [lock("src/\u001b[2J日本語日本語日本語日本語日本語日本語日本語日本語.ts", "e\u0301".repeat(40))],
  refusals: busy.refusals.map(r => ({ ...r, error: "\u001b[5mblink\u2028line ".repeat(20) })),
  warnings: ["\u001b[7mstrange\u202e"],
};

describe("kite status", () => {
  it("is calm when nobody is here", () => {
    expect(statusView(empty, screen(80))).toEqual(text`
Kite 0.1.0 · pid 4711 · up 2h 5m since 11:55:00 · ~/.kite/kite.sock

No sessions.
Next: kite install, which connects your agents; kite demo shows first what Kite
does.

No locks.
`);
    expect(statusView(empty, screen(40))).toEqual(text`
Kite 0.1.0 · pid 4711
up 2h 5m since 11:55:00
~/.kite/kite.sock

No sessions.
Next: kite install, which connects your
agents; kite demo shows first what Kite
does.

No locks.
`);
  });

  it("counts what is to be done, and says nothing where all is", () => {
    const tasks = { active: 2, ready: 3, blocked: 0, failed: 1, done: 90 };
    expect(statusView({ ...empty, stats: { ...empty.stats, tasks } }, screen(80)).slice(-2)).toEqual([
      "",
      "Tasks: 2 active, 3 ready, 1 failed (kite task list)",
    ]);
    const narrow = statusView({ ...empty, stats: { ...empty.stats, tasks } }, screen(40));
    expect(narrow.at(-1)).toBe("Tasks: 2 active, 3 ready, 1 failed");
    const over = { ...empty.stats, tasks: { ...empty.stats.tasks, done: 90 } };
    expect(statusView({ ...empty, stats: over }, screen(80)).at(-1)).toBe("No locks.");
  });

  it("tells which files are frozen, by whom, for how long and why", () => {
    const hold = {
      hold: "h-1",
      files: ["/home/ana/code/shop/src/db/"],
      paths: ["/home/ana/code/shop/src/db"],
      project: "/home/ana/code/shop/.git",
      by: null,
      text: "migrating",
      heldMs: 1000,
      leftMs: 110_000,
    };
    const alice = { id: "alice-0000-4000", agent: null, name: "alice" };
    const holds = [hold, { ...hold, by: alice, files: ["a.ts", "b.ts"], leftMs: 9000, text: "\u0007mine" }];
    const width = Math.max(personName().length, "alice".length);
    expect(statusView({ ...one, holds }, screen(80)).slice(-4)).toEqual([
      "",
      "Frozen files: kite thaw ends it",
      `  src/db/     ${personName().padEnd(width)}  1m left  migrating`,
      `  a.ts, b.ts  ${"alice".padEnd(width)}  9s left  mine`,
    ]);
  });

  it("shows one session", () => {
    expect(statusView(one, screen(80))).toEqual(text`
Kite 0.1.0 · pid 4711 · up 2h 5m since 11:55:00 · ~/.kite/kite.sock

Sessions: 1
  shop  ~/code/shop
    alice       main  active  now  holds 2 locks
    └ a1b2c3d4        active
    └ 1 idle

Locks
  README.md  alice  edit lock  3s
`);
    expect(statusView(one, screen(40))).toEqual(text`
Kite 0.1.0 · pid 4711
up 2h 5m since 11:55:00
~/.kite/kite.sock

Sessions: 1
  shop  ~/code/shop
    alice       main  active  now
      holds 2 locks
    └ a1b2c3d4        active
    └ 1 idle

Locks
  README.md  alice  edit lock  3s
`);
  });

  it("shows who needs a person first, then who waits and for whom, then who works", () => {
    expect(statusView(busy, screen(80))).toEqual(text`
Needs a person: carol (Bash: npm publish)
Kite 0.1.0 · pid 4711 · up 2h 5m since 11:55:00 · ~/.kite/kite.sock

Sessions: 5 in 2 projects, 1 needs you, 1 waiting
  shop  ~/code/shop
    carol       main           needs you     2m  Bash: npm publish, holds 1 lock
    bob         shop-pay/ pay  waits         4s  for src/auth.ts behind alice
    alice       main           active       now  holds 2 locks
    └ a1b2c3d4                 active
    └ 1 idle
    dave        main           idle          9m
  blog  ~/code/blog
    hana        main           idle       1h 5m

Locks
  shop  ~/code/shop
    src/auth.ts    alice  edit lock  12s
      then bob 4s, dave/1f3a2b4c 2s (away)
    src/pay/       carol  kept lock   5m
    README.md      alice  edit lock   3s
  blog  ~/code/blog
    posts/kite.md  hana   edit lock   1m

Refused lately
  2m  dave  src/auth.ts  alice has the file, and as many wait for it as may
`);
  });

  it("puts below what has no room beside", () => {
    expect(statusView(busy, screen(40))).toEqual(text`
Needs a person: carol (Bash: npm publis…
Kite 0.1.0 · pid 4711
up 2h 5m since 11:55:00
~/.kite/kite.sock

Sessions: 5, 1 needs you, 1 waiting
  shop  ~/code/shop
    carol     main      needs you     2m
      Bash: npm publish, holds 1 lock
    bob       shop-pa…  waits         4s
      for src/auth.ts behind alice
    alice     main      active       now
      holds 2 locks
    └ a1b2c…            active
    └ 1 idle
    dave      main      idle          9m
  blog  ~/code/blog
    hana      main      idle       1h 5m

Locks
  shop  ~/code/shop
    src/auth.ts    alice  edit lock  12s
      then bob 4s,
           dave/1f3a2b4c 2s (away)
    src/pay/       carol  kept lock   5m
    README.md      alice  edit lock   3s
  blog  ~/code/blog
    posts/kite.md  hana   edit lock   1m

Refused lately
  2m  dave  src/auth.ts  alice has the …
`);
  });

  it("says the same at 120 columns as at 80: nothing is stretched", () => {
    expect(statusView(busy, screen(120))).toEqual(statusView(busy, screen(80)));
  });

  it("shows what agents declared, shortened, and only where they did", () => {
    const task = "Page the list of orders by a cursor, as the other lists are";
    const [agent] = busy.sessions[0]?.agents ?? [];
    const explorer = agent === undefined ? [] : [{ ...agent, declared: { role: "tester", task: "Look" } }];
    const sessions = [
      session("ann", {
        declared: { role: "implementer", task },
        task: { id: "t-1", description: "claimed" },
      }),
      session("bob", { declared: { role: "a reviewer of everything that comes", task: "" }, locks: 1 }),
      session("cyd", { declared: { role: "", task: "\u001b[31mevil", mismatched: true }, agents: explorer }),
      session("dan", { task: { id: "t-2", description: "Write tests" } }),
    ];
    expect(statusView({ ...one, sessions, locks: [] }, screen(80)).slice(3, -2)).toEqual(text`
  shop  ~/code/shop
    ann         main  active  now
      implementer on "Page the list of orders by a cursor, as the oth…"
    bob         main  active  now  a reviewer of everythin…, holds 1 lock
    cyd         main  active  now  on "[31mevil", identity mismatch
    └ a1b2c3d4        active       tester on "Look"
    dan         main  active  now  on "Write tests"
`);
    for (const line of sessionsView({ sessions, locks: [] }, screen(40)))
      expect(widthOf(line)).toBeLessThanOrEqual(40);
  });

  it("condenses the idle ones of fifty and cuts nothing that matters", () => {
    expect(statusView(crowd, screen(80))).toEqual(text`
Needs a person: s31 (Edit: src/auth.ts)
Kite 0.1.0 · pid 4711 · up 2h 5m since 11:55:00 · ~/.kite/kite.sock

Sessions: 50 in 2 projects, 1 needs you, 1 waiting
  blog  ~/code/blog
    s40  main  waits      40m  for src/part-19.ts behind s23
    9 idle: s0 now, s5 5m, s10 10m, s15 15m, s20 20m, s25 25m, s30 30m, s35 35m,
      s45 45m
  shop  ~/code/shop
    s31  main  needs you  31m  Edit: src/auth.ts
    s13  main  active     13m
    s23  main  active     23m  holds 3 locks
    s3   main  active      3m
    s33  main  active     33m
    s43  main  active     43m
    33 idle: s1 1m, s2 2m, s4 4m, s6 6m, s7 7m, s8 8m, s9 9m, s11 11m, s12 12m,
      s14 14m, s16 16m, s17 17m, s18 18m, s19 19m, s21 21m, s22 22m, 17 more
    1 silent: s44 44m

Locks
  shop  ~/code/shop
    src/part-19.ts  s23  edit lock  19s
      then s40 7s, s12 3s, s7 1s
    src/part-18.ts  s23  edit lock  18s
    src/part-17.ts  s23  edit lock  17s
    src/part-16.ts  s23  edit lock  16s
    src/part-15.ts  s23  edit lock  15s
    src/part-14.ts  s23  edit lock  14s
    src/part-13.ts  s23  edit lock  13s
    src/part-12.ts  s23  edit lock  12s
    src/part-11.ts  s23  edit lock  11s
    src/part-10.ts  s23  edit lock  10s
    src/part-9.ts   s23  edit lock   9s
    src/part-8.ts   s23  edit lock   8s
    src/part-7.ts   s23  edit lock   7s
  and 7 more without waiters: kite status --locks

Refused lately
  2m  dave  src/auth.ts  alice has the file, and as many wait for it as may
`);
  });

  it("says what is wrong with the whole right below the daemon", () => {
    const full = { ...empty, warnings: ["The disk is full: locks can be released but not taken."] };
    expect(statusView(full, screen(40)).slice(3, 5)).toEqual(text`
! The disk is full: locks can be
  released but not taken.
`);
  });

  it("counts what was not fetched", () => {
    const cut = { ...busy, stats: { ...busy.stats, sessions: 12_005, locks: 4 } };
    expect(statusView(cut, screen(80))).toContain("  and 12000 sessions more, not fetched");
  });

  it("is one line where no daemon runs", () => {
    expect(notRunningView(screen(80), false)).toEqual(["Kite is not running. Start it: kite up"]);
    expect(notRunningView(screen(80), true)).toEqual([
      "Kite is not running, and hooks do not start it. Start it: kite up",
    ]);
  });

  it("is the same text with colours, and has none without", () => {
    for (const data of [empty, one, busy, crowd]) {
      const plain = statusView(data, screen(80));
      const colored = statusView(data, screen(80, { color: true }));
      expect(colored.map(unpainted)).toEqual(plain);
      expect(colored).not.toEqual(plain);
      expect(plain.join("")).not.toContain("\u001b");
    }
  });

  it.each([20, 40, 80, 120])("has no line wider than %i columns, whatever names say", width => {
    for (const data of [empty, one, busy, crowd, hostile]) {
      const lines = [
        ...statusView(data, screen(width)),
        ...sessionsView(data, screen(width)),
        ...locksView(data, screen(width)),
      ];
      for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(width);
    }
  });

  it("lets nothing through that steers a terminal", () => {
    const lines = [...statusView(hostile, screen(80)), ...sessionsView(hostile, screen(80))];
    expect(lines.join("")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(lines.join(" ")).toContain("evil");
  });
});

describe("kite status --sessions", () => {
  it("names id, process, beginning and directory of each", () => {
    expect(sessionsView(busy, screen(80))).toEqual(text`
  shop  ~/code/shop
    carol       main           needs you     2m  Bash: npm publish, holds 1 lock
      carol-0000-4000, pid 4800, since 12:55:00, in ~/code/shop
    bob         shop-pay/ pay  waits         4s  for src/auth.ts behind alice
      bob-0000-4000, pid 4800, since 12:55:00, in ~/code/shop
    alice       main           active       now  holds 2 locks
      alice-0000-4000, pid 4800, since 12:55:00, in ~/code/shop
    └ a1b2c3d4                 active
    └ 1 idle
    dave        main           idle          9m
      dave-0000-4000, pid 4800, since 12:55:00, in ~/code/shop
  blog  ~/code/blog
    hana        main           idle       1h 5m
      hana-0000-4000, pid 4800, since 12:55:00, in ~/code/blog
`);
  });

  it("says so when there is none", () => {
    expect(sessionsView(empty, screen(80))).toEqual(["No sessions."]);
  });

  it("leaves nobody out of fifty", () => {
    const all = sessionsView(crowd, screen(80)).join("\n");
    for (const { id } of crowd.sessions) expect(all).toContain(`${id},`);
  });

  it("shows at most eight agents of a session, and how many more", () => {
    const agents = Array.from({ length: 12 }, (_, i) => ({
      agent: `agent-${i}`,
      name: `agent-${i}`,
      status: i < 10 ? ("active" as const) : ("idle" as const),
      locks: 0,
      waitingFor: null,
      waitingForPath: null,
    }));
    const lines = sessionsView({ sessions: [session("lead", { agents })], locks: [] }, screen(80));
    expect(lines.filter(line => line.includes("└ agent-"))).toHaveLength(8);
    expect(lines).toContain("    └ 2 more active, 2 idle");
  });

  it("says of an agent what it waits for and holds, and not of its session", () => {
    const agents = [
      {
        agent: "a1",
        name: "alice",
        status: "active" as const,
        locks: 1,
        waitingFor: null,
        waitingForPath: null,
      },
      {
        agent: "b1",
        name: "bob",
        status: "active" as const,
        locks: 0,
        waitingFor: "a.txt",
        waitingForPath: "/p/a.txt",
      },
      {
        agent: "c1",
        name: "carl",
        status: "idle" as const,
        locks: 2,
        waitingFor: null,
        waitingForPath: null,
      },
    ];
    const held = {
      ...lock("a.txt", "lead/alice"),
      waiters: [{ id: "lead-id", agent: "b1", name: "lead/bob", waitedMs: 1, attached: true }],
    };
    const lead = { ...session("lead", { agents }), id: "lead-id" };
    const lines = sessionsView({ sessions: [lead], locks: [held] }, screen(100));
    const of = (name: string) =>
      lines
        .find(line => line.includes(name))
        ?.replace(/ +/g, " ")
        .trim();
    expect(of("lead ")).not.toMatch(/holds|waits/);
    expect(of("└ alice")).toBe("└ alice active holds 1 lock");
    expect(of("└ bob")).toBe("└ bob waits for a.txt behind lead/alice");
    expect(of("└ carl")).toBe("└ carl idle holds 2 locks");
  });

  it("says when a session is open twice", () => {
    const twice = sessionsView({ sessions: [session("eve", { incarnations: 2 })], locks: [] }, screen(80));
    expect(twice[1]).toBe("    eve  main  active  now  open in 2 terminals");
  });
});

describe("kite status --locks", () => {
  it("shows each with its line, those that somebody waits for first", () => {
    expect(locksView(busy, screen(80))).toEqual(text`
  shop  ~/code/shop
    src/auth.ts    alice  edit lock  12s
      then bob 4s, dave/1f3a2b4c 2s (away)
    src/pay/       carol  kept lock   5m
    README.md      alice  edit lock   3s
  blog  ~/code/blog
    posts/kite.md  hana   edit lock   1m
`);
    expect(locksView(busy, screen(40))).toEqual(text`
  shop  ~/code/shop
    src/auth.ts    alice  edit lock  12s
      then bob 4s,
           dave/1f3a2b4c 2s (away)
    src/pay/       carol  kept lock   5m
    README.md      alice  edit lock   3s
  blog  ~/code/blog
    posts/kite.md  hana   edit lock   1m
`);
  });

  it("shows a place that is waited for and held by nobody", () => {
    const freed = lock("a.ts", "x", {
      holder: null,
      token: null,
      waiters: [{ id: "b", agent: null, name: "bob", waitedMs: 5_000, attached: false }],
    });
    expect(locksView({ locks: [freed], sessions: [] }, screen(80))).toEqual(text`
  shop  ~/code/shop
    a.ts  nobody
      then bob 5s (away)
`);
  });

  it("tells worktrees apart", () => {
    const pay = session("bob", { worktree: "/home/ana/code/shop-pay", branch: "pay" });
    const locks = [lock("a.ts", "alice"), lock("a.ts", "bob", { path: "/home/ana/code/shop-pay/a.ts" })];
    expect(locksView({ locks, sessions: [session("alice"), pay] }, screen(80))).toEqual(text`
  shop  ~/code/shop
    a.ts           alice  edit lock  12s
    shop-pay:a.ts  bob    edit lock  12s
`);
  });
});

it("status names files that are changed in two worktrees", () => {
  const side = (name: string, folder: string, branch: string | null) => ({
    id: name,
    agent: null,
    name,
    worktree: `/home/ana/code/${folder}`,
    branch,
  });
  const risk = (file: string) => ({
    file,
    project: "/home/ana/code/shop",
    sides: [side("alice", "shop", "main"), side("bob", "shop-pay", null)] as const,
  });
  const shown = (risks: number, width: number) => {
    const many = Array.from({ length: risks }, (_, i) => risk(`src/${i}.ts`));
    const lines = statusView({ ...empty, risks: many }, screen(width));
    const from = lines.findIndex(line => line.startsWith("To be merged"));
    return from === -1 ? [] : lines.slice(from);
  };
  expect(shown(0, 80)).toEqual([]);
  expect(shown(1, 80)).toEqual([
    "To be merged: changed in two worktrees, see kite risk",
    "  src/0.ts  alice in shop/ (main)  bob in shop-pay/",
  ]);
  expect(shown(12, 80).at(-1)).toBe("  and 2 files more");
  for (const width of [20, 40])
    for (const line of shown(12, width)) expect(widthOf(line)).toBeLessThanOrEqual(width);
});

describe("a team in panes", () => {
  it("stands below its lead, which is as urgent as the most urgent of them", () => {
    const teammate = { name: "bob", team: "session-lead-000", lead: "lead-0000-4000" };
    const sessions = [
      session("bob", { teammate, attention: "permission for Bash" }),
      session("alice", { teammate: { ...teammate, name: "alice" }, status: "idle" }),
      session("lead", { status: "idle" }),
      session("carol"),
      session("stray", { teammate: { ...teammate, lead: "gone" }, status: "idle" }),
    ];
    const names = sessionsView({ sessions, locks: [] }, screen(100))
      .map(line => /^ {4}(\S.*?) {2}/.exec(line)?.[1])
      .filter(name => name !== undefined);
    expect(names).toEqual(["lead", "└ bob", "└ alice", "carol", "stray"]);
  });
});
