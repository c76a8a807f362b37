/** kite report: what is counted of the trail's lines, and how it is shown. */
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, it } from "vitest";
import { report, reportMarkdown, reportView } from "../../bin/trail/report.ts";
import type { Report } from "../../bin/trail/report-counter.ts";
import { ReportCounter, type ReportScope } from "../../bin/trail/report-counter.ts";
import { unpainted, widthOf } from "../../bin/view/text.ts";
import { decode, encode, fileName, type TrailLine } from "../../daemon/trail/line.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { fakeWorld } from "./command-world.ts";
import { now, screen } from "./view-rows.ts";

const shop = "/home/ana/code/shop";
const minute = 60_000;
const everything: ReportScope = { since: 0, project: null };

/** A line of an agent so many minutes ago: an edit that had its file at once. */
function line(name: string, minutesAgo: number, more: Partial<TrailLine> = {}): TrailLine {
  return {
    at: now - minutesAgo * minute,
    event: "PreToolUse",
    id: `${name}-0000-4000`,
    agent: null,
    name,
    project: `${shop}/.git`,
    type: "Edit",
    file: `${shop}/a.ts`,
    decision: "allow",
    rule: "lock",
    ms: 1,
    ...more,
  };
}

function unruled({ rule: _, ...rest }: TrailLine): TrailLine {
  return rest;
}

function counted(lines: readonly TrailLine[], scope: ReportScope = everything): Report {
  const counter = new ReportCounter(scope);
  for (const one of lines) counter.add(one);
  return counter.report;
}

const held = { decision: "deny", code: "lock_held", why: "held" } as const;
const queued = { event: "lock_queued", type: null, decision: "wait", ms: undefined } as const;
const released = { event: "lock_released", type: "turn ended", decision: "note", ms: undefined } as const;
const stash = { rule: "guard", type: "git stash push", decision: "deny" } as const;
const ended = { event: "SessionEnd", type: "hook", file: null, decision: "note", rule: "session" } as const;
const b = `${shop}/b.ts`;

describe("edits and waits", () => {
  it("count what had its file, at once, after a wait or on request, and each wait once", () => {
    const { edits, waits } = counted([
      line("ann", 50),
      line("ann", 49, { event: "file_lock", type: "file_lock", file: b }),
      line("ann", 49, { event: "lock_granted", type: null, file: `${shop}/c.ts`, decision: "note" }),
      line("bob", 48, queued),
      line("bob", 47, { waitedMs: 60_000 }),
      line("cem", 46, { ...held, code: "lock_timeout", waitedMs: 50_000 }),
      line("cem", 45, { rule: "guard", type: "git add", file: null, waitedMs: 200 }),
      line("ann", 44, { rule: "ignore" }),
      line("ann", 43, { event: "file_unlock", type: "file_unlock" }),
    ]);
    expect(edits).toEqual({ count: 2, waited: 1, onRequest: 1 });
    expect(waits).toEqual({ count: 3, refused: 1, medianMs: 50_000, longestMs: 60_000, totalMs: 110_200 });
  });
});

describe("a denial", () => {
  const fatesOf = (...lines: readonly TrailLine[]) => counted(lines).denials.fates;
  const none = { got: 0, elsewhere: 0, gaveUp: 0, open: 0 };

  it("came to the file if the same agent took it later, however often it had asked", () => {
    const lines = [line("bob", 9, held), line("bob", 8, held), line("bob", 7, { waitedMs: 5 })];
    expect(fatesOf(...lines)).toEqual({ ...none, got: 2 });
    expect(fatesOf(line("bob", 9, held), line("ann", 8))).toEqual({ ...none, open: 1 });
    expect(fatesOf(line("bob", 9, held), line("bob", 8, { agent: "sub", name: "bob/sub" }))).toEqual({
      ...none,
      open: 1,
    });
  });

  it("came to the command if the same one passed", () => {
    const passed = line("bob", 7, {
      ...stash,
      decision: "allow",
      file: null,
      why: "was told and sent it again",
    });
    expect(fatesOf(line("bob", 9, stash), passed)).toEqual({ ...none, got: 1 });
    expect(fatesOf(line("bob", 9, stash), { ...passed, type: "git add" })).toEqual({ ...none, elsewhere: 1 });
  });

  it("let the agent go on with something else, unless it came back", () => {
    const lines = [line("bob", 9, held), line("bob", 8, { file: b })];
    expect(fatesOf(...lines)).toEqual({ ...none, elsewhere: 1 });
    expect(fatesOf(...lines, line("bob", 7, ended))).toEqual({ ...none, elsewhere: 1 });
    expect(fatesOf(...lines, line("bob", 7))).toEqual({ ...none, got: 1 });
    expect(fatesOf(...lines, line("bob", 7, held), line("bob", 6, ended))).toEqual({ ...none, gaveUp: 2 });
  });

  it("made the agent give up if its session ended", () => {
    expect(fatesOf(line("bob", 9, held), line("bob", 8, ended))).toEqual({ ...none, gaveUp: 1 });
    const lost = line("bob", 8, { ...ended, event: "session_ended", type: "anchor_gone" });
    expect(fatesOf(line("bob", 9, held), lost)).toEqual({ ...none, gaveUp: 1 });
    expect(fatesOf(line("bob", 9, held), line("ann", 8, ended))).toEqual({ ...none, open: 1 });
  });

  it("is none of a request that was wrong or came too early", () => {
    const request = { type: null, file: null, decision: "deny" } as const;
    const { denials } = counted([
      line("bob", 9, { ...request, event: "task_claim", rule: "task", code: "no_ready_task" }),
      line("bob", 9, { ...request, event: "message_send", rule: "message" }),
      line("bob", 9, { ...request, event: "file_unlock", rule: "lock" }),
      unruled(line("bob", 9, { ...request, event: "restore_begin" })),
    ]);
    expect(denials).toEqual({ count: 0, rules: [], fates: none });
  });

  it("counts by each rule that decided, those of gates at tasks among them", () => {
    const { denials } = counted([
      line("bob", 9, { ...held, rule: "freeze" }),
      line("bob", 9, { ...held, rule: "identity,codeView" }),
      line("bob", 9, { ...held, event: "task_update", file: null, rule: "quality", task: "t-1-1" }),
      line("bob", 9, { ...held, event: "file_lock" }),
      line("bob", 9, { ...held, event: "file_lock" }),
    ]);
    expect(denials.count).toBe(5);
    expect(denials.rules).toEqual([
      { name: "lock", count: 2 },
      { name: "freeze", count: 1 },
      { name: "identity", count: 1 },
      { name: "codeView", count: 1 },
      { name: "quality", count: 1 },
    ]);
  });
});

describe("a collision", () => {
  it("is one for each agent that asks while another one has the file", () => {
    const lines = [
      line("ann", 60),
      line("bob", 59, queued),
      line("bob", 58, { ...held, code: "lock_timeout", waitedMs: minute }),
      line("bob", 57, held),
      line("cem", 56, held),
      // It has the file: no collision with itself.
      line("ann", 55),
    ];
    expect(counted(lines).collisions).toBe(2);
    const next = [line("ann", 54, released), line("bob", 53), line("cem", 52, held), line("ann", 51, queued)];
    expect(counted([...lines, ...next]).collisions).toBe(4);
  });

  it("is none over a resource, at a release, by a freeze or where nobody is known to have the file", () => {
    expect(
      counted([
        line("ann", 60, { event: "file_lock", file: "@port-3000" }),
        line("bob", 59, { ...held, event: "file_lock", file: "@port-3000", holder: "ann" }),
        line("ann", 58),
        line("bob", 57, { ...held, event: "file_unlock" }),
        line("bob", 56, { ...held, rule: "freeze" }),
        line("bob", 55, { ...queued, file: b }),
        line("ann", 54, { ...ended }),
        line("bob", 53, queued),
      ]).collisions,
    ).toBe(0);
    expect(counted([line("bob", 9, { ...held, holder: "ann" })]).collisions).toBe(1);
  });

  it("is known from lines before the time that counts", () => {
    const lines = [line("ann", 60), line("bob", 30, held)];
    expect(counted(lines, { since: now - 40 * minute, project: null })).toMatchObject({
      lines: 1,
      collisions: 1,
    });
  });
});

describe("what the guard stopped", () => {
  it("is counted by command and kind, with the lines that are known", () => {
    const spared = {
      event: "work_spared",
      file: null,
      decision: "event",
      ms: undefined,
      rule: "guard",
    } as const;
    const { stops, denials } = counted([
      line("bob", 9, stash),
      line("bob", 9, { ...spared, type: "git stash push", files: 2, lines: 12 }),
      line("bob", 8, { ...stash, type: "git reset --hard" }),
      line("bob", 8, { ...spared, type: "git reset --hard", files: 1 }),
      line("cem", 7, { ...stash, type: "rm" }),
      line("cem", 6, { ...stash, type: "git add -A" }),
      line("cem", 5, { ...stash, type: "git frobnicate" }),
      // It was told, and ran.
      line("cem", 5, { ...stash, decision: "note" }),
    ]);
    expect(stops).toMatchObject({
      kinds: { stash: 1, reset: 1, removal: 1, commit: 1, other: 1 },
      ...{ count: 5, counted: 2, countedLines: 1, files: 3, lines: 12 },
    });
    expect(stops.commands.map(({ name }) => name)).toContain("git reset --hard");
    expect(denials.count).toBe(5);
  });
});

describe("the rest", () => {
  it("is what went past Kite", () => {
    const note = { decision: "note", rule: "write", ms: undefined } as const;
    const events = [
      "bypassed",
      "bypassed",
      "write_seen",
      "lost_update",
      "switched_off",
      "work_wiped",
      "work_taken",
    ];
    const { pastKite } = counted(events.map(event => line("bob", 9, { ...note, event })));
    expect(pastKite).toEqual({ shell: 2, unhooked: 1, late: 1, off: 1, wiped: 1, taken: 1 });
  });

  it("is tasks from their last claim to done, and messages", () => {
    const task = (minutesAgo: number, event: string, more: Partial<TrailLine> = {}) =>
      line("bob", minutesAgo, { event, type: event, file: null, rule: "task", ms: undefined, ...more });
    const { tasks, messages } = counted([
      task(90, "task_create", { why: "t-1-1 pending, t-1-2 pending, t-1-3 pending and 7 more" }),
      task(89, "task_create", { task: "t-1-9", why: "t-1-9 pending" }),
      task(80, "task_claim", { task: "t-1-1" }),
      task(79, "task_claim", { decision: "deny", code: "no_ready_task" }),
      task(70, "task_release", { task: "t-1-1" }),
      task(60, "task_claim", { task: "t-1-1" }),
      task(50, "task_claimed", { task: "t-1-2", decision: "note" }),
      task(40, "task_update", { task: "t-1-1", type: "done" }),
      task(39, "task_update", { task: "t-1-2", type: "done", decision: "deny" }),
      task(20, "task_update", { task: "t-1-2", type: "done" }),
      task(37, "task_update", { task: "t-1-3", type: "done" }),
      task(36, "task_update", { task: "t-1-9", type: "failed" }),
      task(35, "task_failed", { task: "t-1-4", decision: "note" }),
      task(34, "message_send", { rule: "message" }),
      task(34, "message_send", { rule: "message", decision: "deny" }),
      task(33, "broadcast", { rule: "message" }),
    ]);
    expect(tasks).toEqual({ created: 11, claimed: 3, done: 3, failed: 2, medianMs: 20 * minute });
    expect(messages).toEqual({ sent: 1, broadcasts: 1 });
  });

  it("is hooks, by event and of the sessions' time without pauses, and the words for agents", () => {
    const hook = (name: string, minutesAgo: number, more: Partial<TrailLine> = {}) =>
      unruled(line(name, minutesAgo, { event: "Stop", type: null, file: null, decision: "event", ...more }));
    const { hooks, context, sessions } = counted([
      hook("ann", 60, { ms: 2, chars: 100 }),
      hook("ann", 57, { ms: 4 }),
      // A pause of half an hour.
      hook("ann", 27, { ms: 3 }),
      hook("bob", 26, { ms: undefined, chars: 50 }),
      hook("bob", 25, { event: "PreToolUse", ms: 991 }),
    ]);
    expect(sessions).toBe(2);
    expect(hooks).toMatchObject({ totalMs: 1_000, sessionsMs: 4 * minute, share: 1_000 / (4 * minute) });
    expect(hooks.events.map(({ event, count, p50Ms }) => [event, count, p50Ms])).toEqual([
      ["Stop", 3, 3],
      ["PreToolUse", 1, 991],
    ]);
    expect(context).toEqual({ answers: 2, chars: 150 });
  });
});

describe("while Kite only observed", () => {
  it("counts what it would have done, and no decisions", () => {
    const would = (name: string, one: TrailLine["would"], more: Partial<TrailLine> = {}) =>
      line(name, 9, { decision: "note", would: one, ...more });
    const { observed, denials, waits, collisions, stops } = counted([
      line("ann", 10),
      would("bob", "wait", { holder: "ann" }),
      would("bob", "wait", { holder: "ann" }),
      would("bob", "deny", stash),
      would("bob", "tell", { rule: "message", file: null }),
    ]);
    expect([denials.count, waits.count, collisions, stops.count]).toEqual([0, 0, 0, 0]);
    expect(observed).toEqual({
      ...{ waits: 2, denials: 1, tells: 1, collisions: 1 },
      stops: [{ name: "git stash push", count: 1 }],
    });
    expect(counted([line("ann", 9)])).not.toHaveProperty("observed");
  });
});

/** What is in use of the heap, without garbage. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}

describe("lines", () => {
  it("of earlier versions, which have no rule, count by what they tell", () => {
    const old = (name: string, more: Partial<TrailLine>) => unruled(line(name, 9, more));
    const { edits, waits, denials, stops, tasks, collisions } = counted([
      old("ann", {}),
      old("bob", { ...held, ms: 3_000 }),
      old("bob", { ms: 200, file: b }),
      old("cem", { type: "git stash push", decision: "deny", file: null }),
      old("cem", { event: "task_create", type: "task_create", file: null, why: "t-1-1 pending" }),
    ]);
    expect(edits).toMatchObject({ count: 2, waited: 1 });
    expect([waits.count, denials.count, stops.count, tasks.created, collisions]).toEqual([2, 2, 1, 1, 1]);
  });

  it("of another project, or of before, do not count", () => {
    const lines = [
      line("ann", 60),
      line("ann", 30),
      line("bob", 30, { project: "/other/.git" }),
      // An event of a hook whose session has ended has no project of its own.
      unruled(line("ann", 20, { event: "Stop", decision: "event", project: null })),
      line("cem", 20, { project: null, id: null }),
    ];
    const scope = { since: now - 40 * minute, project: `${shop}/.git` };
    expect(counted(lines, scope)).toMatchObject({ lines: 2, sessions: 1, edits: { count: 1 } });
    expect(counted(lines, { ...scope, project: null })).toMatchObject({ lines: 4, sessions: 2 });
  });

  it("may be a million of other agents, files and names, in bounded memory", () => {
    const counter = new ReportCounter(everything);
    const before = heapBytes();
    const kinds: readonly ((n: number, file: string) => Partial<TrailLine>)[] = [
      (n, file) => ({ file, ms: n / 7 }),
      (n, file) => ({ ...held, file, waitedMs: n, holder: `h${n}`, rule: `rule ${n}` }),
      (n, file) => ({ ...stash, type: `git ${n}`, file }),
      n => ({ event: `Event ${n}`, decision: "event", rule: "hook", ms: n / 3, chars: n }),
      n => ({ event: "task_claim", file: null, rule: "task", task: `t-1-${n}` }),
    ];
    for (let index = 0; index < 1_000_000; index += 1) {
      // More than are kept come first: each that is forgotten takes a moment.
      const n = Math.min(index, 30_000 + (index % 1_000));
      const kind = kinds[index % kinds.length]?.(n, `${shop}/${n}.ts`);
      counter.add(line(`s${n >> 1}`, 0, { at: now + index, ...kind }));
    }
    const { lines, edits, denials, stops, hooks, tasks } = counter.report;
    expect([lines, edits.count, denials.count, tasks.claimed]).toEqual([
      1_000_000, 200_000, 400_000, 200_000,
    ]);
    expect(denials.rules.length + stops.commands.length + hooks.events.length).toBeLessThan(310);
    expect(Object.values(denials.fates).reduce((sum, times) => sum + times, 0)).toBe(400_000);
    expect(heapBytes() - before).toBeLessThan(64 * 2 ** 20);
  });

  it("may be ends of many sessions while many denials are open", () => {
    const counter = new ReportCounter(everything);
    for (let n = 0; n < 20_000; n += 1) counter.add(line(`open${n}`, 9, held));
    // To look at each denial at each end takes minutes.
    for (let n = 0; n < 60_000; n += 1) counter.add(line(`over${n}`, 8, ended));
    counter.add(line("open7", 7, ended));
    expect(counter.report.denials.fates).toEqual({ got: 0, elsewhere: 0, gaveUp: 1, open: 19_999 });
  }, 20_000);
});

const day: readonly TrailLine[] = [
  line("ann", 120),
  line("bob", 119, queued),
  line("bob", 118, { ...held, code: "lock_timeout", waitedMs: 50_000 }),
  line("bob", 117, { waitedMs: 4_250 }),
  line("cem", 116, stash),
  line("cem", 116, {
    event: "work_spared",
    type: "git stash push",
    file: null,
    decision: "event",
    files: 2,
    lines: 12,
    ms: undefined,
  }),
  line("bob", 60, { event: "bypassed", type: "shell", decision: "note", rule: "write" }),
  line("bob", 59, {
    event: "task_create",
    type: null,
    file: null,
    rule: "task",
    task: "t-1-1",
    why: "t-1-1 pending",
  }),
  line("bob", 58, { event: "message_send", type: null, file: null, rule: "message" }),
  unruled(line("bob", 57, { event: "PreToolUse", file: null, decision: "event", ms: 2.5, chars: 1_234 })),
];

/** What a view needs besides the figures. */
const asked = { since: now - 180 * minute, project: `${shop}/.git`, logFrom: null };

/** The lines between the backquotes. */
function text(strings: TemplateStringsArray): string[] {
  return (strings[0] ?? "").split("\n").slice(1, -1);
}

describe("the output", () => {
  it("is a line for each kind of figure", () => {
    expect(reportView({ ...counted(day), ...asked }, screen(80))).toEqual(text`
From 12:00:00 to 13:03:00 in shop: 10 lines of the log.

Sessions    3, at work for 5m
Edits       2 had their file, 1 of them after a wait
Waits       2: median 4.2s, longest 50s, 54s together; 1 in vain
Denials     2 (lock 1, guard 1): 1 had later what they were denied, 1 open
Collisions  1 kept from happening: an agent asked for a file while another one
            had it
Stopped     1 command on uncommitted work of others (git stash push 1); 12 lines
            in 2 files would have been lost
Past Kite   1 file changed by shell commands that another had
Tasks       1 created, 0 claimed, 0 done, 0 failed
Messages    1 sent, 0 broadcasts
Hooks       1 answer took 3ms together, less than 0.01 % of the sessions' time
Context     at most 1,234 characters for agents, in 1 answer

Hooks, in ms in the daemon, without waits for others
  event       answers  p50  p95  p99  max
  PreToolUse        1  2.5  2.5  2.5  2.5
`);
  });

  it("says so where the log begins later, or has nothing", () => {
    const late = { ...asked, logFrom: now - 120 * minute };
    const [head] = reportView({ ...counted(day), ...late }, screen(200));
    expect(head).toMatch(/The log begins at 12:00:00: it has nothing of before\.$/);
    expect(reportView({ ...counted([]), ...asked }, screen(80))).toEqual([
      "The log has no lines in shop since 11:00:00.",
    ]);
  });

  it("is Markdown without paths, and with a date", () => {
    const markdown = reportMarkdown({ ...counted(day), ...asked });
    expect(markdown.slice(0, 9)).toEqual([
      "### What Kite did",
      "",
      expect.stringMatching(
        /^From \w{3} \d+ 12:00:00 to \w{3} \d+ 13:03:00 in `shop`: 10 lines of the log\.$/,
      ),
      "",
      "| | |",
      "| --- | --- |",
      "| Sessions | 3, at work for 5m |",
      "| Edits | 2 had their file, 1 of them after a wait |",
      "| Waits | 2: median 4.2s, longest 50s, 54s together; 1 in vain |",
    ]);
    expect(markdown.join("\n")).not.toContain(shop);
    expect(markdown.at(-1)).toBe("| `PreToolUse` | 1 | 2.5 | 2.5 | 2.5 | 2.5 |");
  });

  const hostile = "\u001b[31mred\u202e日本語 `a` | <b> @team\nSYSTEM: x".repeat(4);
  const wild = day.map(one => ({
    ...one,
    ...(one.rule === "lock" ? { rule: hostile } : {}),
    ...(one.rule === "guard" ? { type: hostile } : {}),
    ...(one.decision === "event" && one.rule === undefined ? { event: hostile } : {}),
  }));

  it.each([80, 40, 20])("fits %d columns, whatever names there are", width => {
    for (const lines of [day, wild])
      for (const one of reportView(
        { ...counted(lines), ...asked, project: `/x/${hostile}` },
        screen(width, { color: true }),
      )) {
        expect(widthOf(unpainted(one)), one).toBeLessThanOrEqual(width);
        expect(unpainted(one)).not.toMatch(/[\p{Cc}\u202e]/u);
      }
  });

  it("keeps names in Markdown code", () => {
    for (const one of reportMarkdown({ ...counted(wild), ...asked, project: `/x/${hostile}` })) {
      expect(one).not.toMatch(/[\p{Cc}\u202e<]/u);
      const outside = one.replace(/`[^`]*`/g, "");
      expect(outside).not.toMatch(/@team|SYSTEM/);
      if (one.includes("@team") && one.startsWith("|")) expect(outside.match(/\|/g)?.length).toBeLessThan(8);
    }
  });
});

describe("kite report", () => {
  let root: string;
  beforeEach(() => {
    root = temporaryFolder("kite-report-");
    mkdirSync(join(root, "trail"));
    day.forEach((one, i) => {
      appendFileSync(join(root, "trail", fileName(1 + Math.floor(i / 4))), encode(one));
    });
  });

  it("reads the last day, or since a time, and says where the log begins", async () => {
    const world = fakeWorld({ home: root });
    expect(await report(world, { since: "24h" })).toBe(0);
    expect(world.out()).toMatch(
      /^From 12:00:00 to 13:03:00: 10 lines of the log\. The log begins at 12:00:00/,
    );
    const json = fakeWorld({ home: root });
    expect(await report(json, { since: "100m", json: true })).toBe(0);
    expect(JSON.parse(json.out())).toMatchObject({
      ...{ since: now - 100 * minute, logFrom: null, lines: 4, project: null },
      pastKite: { shell: 1 },
    });
    const markdown = fakeWorld({ home: root });
    expect(await report(markdown, { since: "1d", markdown: true })).toBe(0);
    expect(markdown.out()).toMatch(/^### What Kite did\n/);
  });

  it("skips torn lines and those of later versions", async () => {
    const file = join(root, "trail", fileName(9));
    const next = encode(line("zoe", 1));
    expect(decode('{"at":1,"event":"e","chars":"x"}')).toBeNull();
    appendFileSync(
      file,
      `${next}${next.slice(0, 40)}\n{"at":${now},"event":"x","decision":"later"}\n${next.slice(0, 50)}`,
    );
    const json = fakeWorld({ home: root });
    expect(await report(json, { since: "24h", json: true })).toBe(0);
    expect(JSON.parse(json.out())).toMatchObject({ lines: 11, edits: { count: 3 } });
  });

  it("refuses a time that is none, and two forms at once", async () => {
    const world = fakeWorld({ home: root });
    expect(await report(world, { since: "soon" })).toBe(1);
    expect(world.err()).toMatch(/^kite: --since takes a time like 90s, .*, not soon\n$/);
    expect(await report(world, { since: "1h", json: true, markdown: true })).toBe(1);
  });
});
