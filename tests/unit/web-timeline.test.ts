/** The timeline of the page: from lines of the trail to lanes, and from there to figures. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { TimelineSource } from "../../bin/web/answers.ts";
import { AgentLanes } from "../../bin/web/lanes.ts";
import { type Lane, type Timeline, type TimelineReply, withReply } from "../../bin/web/timeline.ts";
import { decode, encode, fileName, type TrailLine } from "../../daemon/trail/line.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const now = Date.UTC(2026, 4, 20, 14, 0, 0);
const shop = "/home/ana/code/shop";
const range = { fromMs: now - 3_600_000, untilMs: now, project: null, since: 0, home: "/home/ana" };

function line(name: string, secondsAgo: number, more: Partial<TrailLine> = {}): TrailLine {
  const who = { id: `${name}-0000-4000`, agent: null, name, project: shop };
  const what = { event: "PreToolUse", type: "Edit", file: `${shop}/a.ts` };
  return { at: now - secondsAgo * 1000, ...who, ...what, decision: "allow", rule: "lock", ms: 1, ...more };
}

const queued = (name: string, secondsAgo: number, more: Partial<TrailLine> = {}) =>
  line(name, secondsAgo, {
    ...{ event: "lock_queued", type: null, decision: "wait", why: "behind alice, queue position 1" },
    ...more,
  });
const released = (name: string, secondsAgo: number, heldS: number, more: Partial<TrailLine> = {}) =>
  line(name, secondsAgo, {
    ...{ event: "lock_released", type: "turn ended", decision: "note", why: "its holder went idle" },
    heldMs: heldS * 1000,
    ...more,
  });
const hook = (name: string, secondsAgo: number, event: string) =>
  line(name, secondsAgo, { event, type: null, file: null, decision: "event" });

function timelineOf(lines: readonly TrailLine[], more: Partial<typeof range> = {}): Timeline {
  const wanted = { ...range, ...more };
  const lanes = new AgentLanes(wanted.fromMs, wanted.untilMs);
  for (const one of lines) lanes.add(one);
  return lanes.timeline(wanted);
}

/** What a lane has, a line each, with seconds before now. */
function told({ lanes }: Timeline, name: string): readonly string[] {
  const ago = (ms: number | null) => (ms === null ? "now" : `${(now - ms) / 1000}`);
  return lanes
    .filter(lane => lane.name === name)
    .flatMap(({ spans, marks }) => [
      ...spans.map(
        ({ kind, file, fromMs, untilMs, who }) =>
          `${kind} ${file?.slice(shop.length + 1)} ${ago(fromMs)} to ${ago(untilMs)}${who === null ? "" : ` (${who})`}`,
      ),
      ...marks.map(({ kind, atMs }) => `${kind} ${ago(atMs)}`),
    ]);
}

describe("lanes", () => {
  it("have a hold, a wait behind another agent, what ends it, and who and why", () => {
    const timeline = timelineOf([
      line("alice", 100),
      queued("bob", 90),
      released("alice", 60, 40),
      line("bob", 60, { waitedMs: 30_000 }),
    ]);
    expect(told(timeline, "alice")).toEqual(["hold a.ts 100 to 60"]);
    expect(told(timeline, "bob")).toEqual(["wait a.ts 90 to 60 (alice)", "hold a.ts 60 to now"]);
    const [alice, bob] = timeline.lanes;
    expect(alice?.spans[0]).toMatchObject({
      says: "alice took a.ts at once.",
      why: "its holder went idle",
    });
    expect(bob?.spans[0]).toMatchObject({
      says: "bob waited 30s for a.ts, then had it.",
      why: "behind alice, queue position 1",
    });
  });

  it("have a wait that ended with a refusal, and the refusal as a mark", () => {
    const refused = {
      decision: "deny",
      code: "lock_timeout",
      why: "lock queue timeout (50s)",
      holder: "alice",
      waitedMs: 50_000,
    } as const;
    const timeline = timelineOf([line("alice", 100), queued("bob", 90), line("bob", 40, refused)]);
    expect(told(timeline, "bob")).toEqual(["wait a.ts 90 to 40 (alice)", "denial 40"]);
    expect(timeline.lanes[1]?.marks[0]).toMatchObject({
      who: "alice",
      says: expect.stringContaining("bob was denied a.ts after 50s"),
      why: expect.stringContaining("did not get free within 50 s; alice has it"),
    });
  });

  it("end all waits of a request for several files when it is refused", () => {
    const refused = { decision: "deny", code: "lock_timeout", why: "lock queue timeout (5s)" } as const;
    const timeline = timelineOf([
      queued("bob", 90),
      queued("bob", 90, { file: `${shop}/b.ts` }),
      line("bob", 85, { ...refused, waitedMs: 5_000 }),
    ]);
    expect(told(timeline, "bob")).toEqual([
      "wait a.ts 90 to 85 (alice)",
      "wait b.ts 90 to 85 (alice)",
      "denial 85",
    ]);
  });

  it("have all files that one request took", () => {
    const also = { event: "lock_granted", type: null, decision: "note", why: "locked together" } as const;
    const timeline = timelineOf([line("bob", 90), line("bob", 90, { ...also, file: `${shop}/b.ts` })]);
    expect(told(timeline, "bob")).toEqual(["hold a.ts 90 to now", "hold b.ts 90 to now"]);
  });

  it("have one hold where its agent asks for the file again", () => {
    const timeline = timelineOf([line("alice", 100), line("alice", 90), released("alice", 50, 50)]);
    expect(told(timeline, "alice")).toEqual(["hold a.ts 100 to 50"]);
  });

  it("have prompts, turns, tasks, a begin and an end, which ends holds and waits of the session", () => {
    const ended = {
      event: "session_ended",
      type: null,
      file: null,
      decision: "note",
      rule: "session",
    } as const;
    const timeline = timelineOf([
      line("bob", 200, { ...ended, event: "session_started", why: "its session began" }),
      hook("bob", 190, "UserPromptSubmit"),
      line("bob", 180),
      line("bob", 170, { agent: "inner-agent", name: "bob/inner", file: `${shop}/b.ts` }),
      line("bob", 160, { event: "task_claim", type: "task_claim", file: null, rule: "task", task: "t-1" }),
      queued("bob", 150, { file: `${shop}/c.ts` }),
      hook("bob", 140, "Stop"),
      line("bob", 100, { ...ended, why: "its process ended" }),
      hook("bob", 100, "SessionEnd"),
    ]);
    expect(told(timeline, "bob")).toEqual([
      ...["hold a.ts 180 to 100", "wait c.ts 150 to 100 (alice)"],
      ...["begin 200", "prompt 190", "task 160", "turn 140", "end 100"],
    ]);
    expect(told(timeline, "bob/inner")).toEqual(["hold b.ts 170 to 100"]);
    expect(timeline.lanes.map(({ endedMs }) => endedMs)).toEqual([now - 100_000, now - 100_000]);
  });

  it("of a session's agents stand together, in a later answer as well", () => {
    const inner = (secondsAgo: number, name: string) =>
      line("bob", secondsAgo, { agent: name, name: `bob/${name}`, file: `${shop}/${name}.ts` });
    const early = [line("bob", 90), line("carol", 80, { file: `${shop}/c.ts` }), inner(70, "one")];
    const order = (timeline: Timeline) => timeline.lanes.map(({ name }) => name);
    expect(order(timelineOf(early))).toEqual(["bob", "bob/one", "carol"]);
    const change = timelineOf([inner(60, "two"), line("dave", 50, { file: `${shop}/d.ts` })]);
    const known = withReply(timelineOf(early), { version: "1.1", isWhole: false, timeline: change });
    expect(order(known)).toEqual(["bob", "bob/one", "bob/two", "carol", "dave"]);
  });

  it("say what Kite only observed in a note, not as a denial", () => {
    const timeline = timelineOf([line("bob", 10, { decision: "note", would: "wait", code: "lock_held" })]);
    expect(told(timeline, "bob")).toEqual(["note 10"]);
    expect(timeline.lanes[0]?.marks[0]?.why).toMatch(/did not wait, as Kite only observed/);
  });

  it("leave out what happened in other projects", () => {
    const timeline = timelineOf([line("alice", 9), line("bob", 9, { project: "/elsewhere" })], {
      project: shop as never,
    });
    expect(timeline.lanes.map(({ name }) => name)).toEqual(["alice"]);
  });
});

describe("a range", () => {
  const long = [line("alice", 7200), queued("bob", 7000), line("bob", 5000, { file: `${shop}/b.ts` })];

  it("has what began before it and goes on, and nothing that ended before it", () => {
    const timeline = timelineOf([...long, released("bob", 4000, 1000, { file: `${shop}/b.ts` })]);
    expect(told(timeline, "alice")).toEqual(["hold a.ts 7200 to now"]);
    expect(told(timeline, "bob")).toEqual(["wait a.ts 7000 to now (alice)"]);
  });

  it("has nothing that began after it, and knows what ended after it", () => {
    const untilMs = now - 60_000;
    const timeline = timelineOf([line("alice", 100), line("bob", 50), released("alice", 10, 90)], {
      untilMs,
    });
    expect(timeline.lanes.map(({ name }) => name)).toEqual(["alice"]);
    expect(told(timeline, "alice")).toEqual(["hold a.ts 100 to 10"]);
  });

  it("has a hold of which only the end is in the trail", () => {
    expect(told(timelineOf([released("alice", 10, 5000)]), "alice")).toEqual(["hold a.ts 5010 to 10"]);
  });

  it("has a wait of which only the end is in the trail", () => {
    const timeline = timelineOf([line("bob", 10, { waitedMs: 30_000 })]);
    expect(told(timeline, "bob")).toEqual(["wait a.ts 40 to 10", "hold a.ts 10 to now"]);
  });

  it("ends a hold whose end no line tells when another session has the file", () => {
    const timeline = timelineOf([line("alice", 100), line("bob", 50)]);
    expect(told(timeline, "alice")).toEqual(["hold a.ts 100 to 50"]);
  });

  it("has its latest part if there is too much", () => {
    const lanes = new AgentLanes(range.fromMs, range.untilMs, 100);
    for (let n = 1000; n > 0; n -= 1) lanes.add(hook("bob", n, "UserPromptSubmit"));
    const { isCut, fromMs, lanes: found } = lanes.timeline(range);
    expect(isCut).toBe(true);
    expect(found[0]?.marks.length).toBeGreaterThanOrEqual(100);
    expect(found[0]?.marks.length).toBeLessThanOrEqual(125);
    expect(found[0]?.marks.at(-1)?.atMs).toBe(now - 1000);
    expect(fromMs).toBeGreaterThan(range.fromMs);
  });
});

it("what happened after a past range takes no room from it", () => {
  const untilMs = now - 600_000;
  const lanes = new AgentLanes(range.fromMs, untilMs, 100);
  for (let n = 1_000; n > 0; n -= 1) lanes.add(hook("bob", n, "UserPromptSubmit"));
  const { isCut, lanes: found } = lanes.timeline({ ...range, untilMs });
  expect(isCut).toBe(true);
  const few = new AgentLanes(range.fromMs, now - 950_000, 100);
  for (let n = 1_000; n > 0; n -= 1) few.add(hook("bob", n, "UserPromptSubmit"));
  const past = few.timeline({ ...range, untilMs: now - 950_000 });
  expect(past.isCut).toBe(false);
  expect(past.lanes[0]?.marks).toHaveLength(51);
  expect(found[0]?.marks.at(-1)?.atMs).toBe(untilMs);
});

describe("a recorded day of four sessions", () => {
  const text = readFileSync(new URL("../fixtures/trail/day.ndjson", import.meta.url), "utf8");
  const lines = text.split("\n").flatMap(one => decode(one) ?? []);
  const [firstMs, lastMs] = [lines[0]?.at ?? 0, lines.at(-1)?.at ?? 0];
  const timeline = timelineOf(lines, { fromMs: firstMs, untilMs: lastMs });
  const short = (path: string | null) => (path === null ? "" : ` ${path.slice(shop.length + 1)}`);
  const words = (name: string) =>
    timeline.lanes
      .filter(lane => lane.name === name)
      .flatMap(({ spans, marks }) => [
        ...spans.map(
          ({ kind, file, who, untilMs }) =>
            `${kind}${short(file)}${who === null ? "" : ` (${who})`}${untilMs === null ? " still" : ""}`,
        ),
        ...marks.map(({ kind, file }) => `${kind}${short(file)}`),
      ]);

  it("has a lane for each under its latest name, and each thing once", () => {
    expect(timeline.lanes.map(({ name }) => name)).toEqual(["alice", "bob", "carol", "dave"]);
    expect(words("alice").filter(word => /hold|wait/.test(word))).toEqual([
      ...["hold src/schema.ts", "hold src/api.ts", "hold src/db.ts", "hold src/api.ts still"],
    ]);
    expect(words("bob")).toEqual([
      ...[
        "wait src/api.ts (alice)",
        "hold src/api.ts",
        "hold src/page.ts still",
        "wait src/api.ts (alice) still",
      ],
      ...["begin", "prompt", "note", "note src/api.ts", "turn"],
    ]);
    expect(words("carol")).toEqual([
      ...["wait src/api.ts (alice)", "hold src/api.ts"],
      ...["begin", "prompt", "note src/api.ts", "turn", "note", "end"],
    ]);
    expect(words("dave")).toEqual([
      ...["hold docs/manual.md", "wait src/db.ts (alice)", "hold .git/index"],
      ...["begin", "task", "denial src/db.ts", "prompt", "denial src/api.ts", "turn", "task", "end"],
    ]);
  });

  it("gives each thing the number that it has in every other range", () => {
    const numbers = ({ lanes }: Timeline) =>
      lanes.flatMap(({ spans, marks }) => [...spans, ...marks].map(({ n, says }) => `${n} ${says}`));
    const all = numbers(timeline);
    expect(new Set(all.map(text => text.split(" ")[0])).size).toBe(all.length);
    const later = lines.slice(20);
    const part = numbers(timelineOf(later, { fromMs: later[0]?.at ?? 0, untilMs: lastMs }));
    // Of what began before there is only its end.
    expect(part.filter(one => !all.includes(one)).length).toBeLessThan(3);
    expect(part.length).toBeGreaterThan(20);
  });

  it("says why a stash was denied as kite explain does", () => {
    const [denial] = timeline.lanes[3]?.marks.filter(({ says }) => says.includes("git stash")) ?? [];
    expect(denial?.says).toBe(
      "dave was denied `git stash push`: would reach uncommitted work: src/api.ts (carol), src/schema.ts (alice).",
    );
  });
});

it("what nobody did is in a lane of Kite's own", () => {
  const off = { id: null, event: "switched_off", type: "session", file: null, decision: "note" } as const;
  const { lanes } = timelineOf([line("bob", 10, { ...off, rule: "off", why: "off until kite on" })]);
  expect(lanes.map(({ name, session }) => [name, session])).toEqual([["Kite", null]]);
});

describe("lines of earlier versions", () => {
  /** As 0.1.0 wrote them before rules and names of holders: relative files, waits by `ms`. */
  const old = (name: string, secondsAgo: number, more: Partial<TrailLine> = {}) => {
    const { rule, ...rest } = line(name, secondsAgo, { file: "a.ts", ...more });
    return rest;
  };

  it("give the same lanes", () => {
    const timeline = timelineOf([
      old("alice", 100),
      old("bob", 20, { decision: "deny", code: "lock_held", why: "held", ms: 3 }),
      old("alice", 15, { event: "file_unlock" }),
      old("carol", 10, { ms: 30_000 }),
    ]);
    expect(told(timeline, "alice")).toEqual(["hold a.ts 100 to 15"]);
    expect(told(timeline, "bob")).toEqual(["denial 20"]);
    expect(told(timeline, "carol")).toEqual(["wait a.ts 40 to 10", "hold a.ts 10 to now"]);
  });
});

describe("the server", () => {
  const root = temporaryFolder();
  const paths = kitePaths({ KITE_HOME: join(root, "h") });
  const write = (n: number, text: string) =>
    writeFileSync(join(paths.trail, fileName(n)), text, { flag: "a" });
  const source = (project: string | null = null) =>
    new TimelineSource({ paths, now: () => now, env: { HOME: "/home/ana" } }, { project });
  const ask = (of: TimelineSource, query: Record<string, string>) => of.answer(new URLSearchParams(query));
  const hour = { from: String(range.fromMs) };
  const whole = async (of: TimelineSource, query: Record<string, string> = hour): Promise<TimelineReply> => {
    const reply = await ask(of, query);
    if (reply === null) throw new Error("no answer");
    return reply;
  };

  beforeEach(() => {
    rmSync(paths.trail, { recursive: true, force: true });
    mkdirSync(paths.trail, { recursive: true });
    write(1, encode(line("alice", 8000)));
    write(1, `{"at":${now - 70_000},"event":"torn`);
    write(1, `\n${encode(queued("bob", 60))}not json\n`);
    write(2, encode(line("carol", 30, { project: "/elsewhere", file: "/elsewhere/z.ts" })));
  });

  it("skips torn and foreign lines", async () => {
    const { timeline, isWhole } = await whole(source());
    expect(isWhole).toBe(true);
    expect(told(timeline, "bob")).toEqual(["wait a.ts 60 to now (alice)"]);
    expect(told(timeline, "alice")).toEqual(["hold a.ts 8000 to now"]);
    expect(timeline.lanes).toHaveLength(3);
  });

  it("shows an agent its own project, whatever its page asks for", async () => {
    const { timeline } = await whole(source(shop), { ...hour, project: "/elsewhere" });
    expect(timeline.lanes.map(({ name }) => name)).toEqual(["alice", "bob"]);
  });

  it("says only what is new to who names a version, and the page has all", async () => {
    const one = source();
    const first = await whole(one);
    const same = await whole(one, { ...hour, version: first.version });
    expect(same).toMatchObject({ isWhole: false, version: first.version, timeline: { lanes: [] } });
    write(2, encode(line("bob", 5, { waitedMs: 55_000 })));
    write(2, `{"at":${now},"event":"half`);
    const next = await whole(one, { ...hour, version: first.version });
    expect(next.isWhole).toBe(false);
    expect(next.timeline.lanes.map(({ name }) => name)).toEqual(["alice", "bob"]);
    const known = withReply(withReply(first.timeline, same), next);
    expect(sorted(known)).toEqual(sorted((await whole(source())).timeline));
  });

  it("reads a range once for all that ask at once", async () => {
    const one = source();
    const replies = await Promise.all([whole(one), whole(one), whole(one)]);
    expect(new Set(replies.map(({ version }) => version)).size).toBe(1);
  });

  it("answers after a question that failed", async () => {
    const lost = kitePaths({ KITE_HOME: join(root, "lost") });
    mkdirSync(lost.home);
    writeFileSync(lost.trail, "");
    const one = new TimelineSource({ paths: lost, now: () => now, env: {} }, { project: null });
    await expect(ask(one, hour)).rejects.toThrow();
    rmSync(lost.trail);
    expect((await whole(one)).timeline.lanes).toEqual([]);
  });

  it("gives all to who names a version of another server", async () => {
    expect((await whole(source(), { ...hour, version: "7.1" })).isWhole).toBe(true);
    const one = source();
    const { version } = await whole(one);
    const [id] = version.split(".");
    for (const wrong of ["__proto__", `${id}`, `${id}.`, `${id}.x`, `${id}.99999`, `${id}.-1`])
      expect((await whole(one, { ...hour, version: wrong })).isWhole, wrong).toBe(true);
  });

  it.each([
    {},
    { from: "" },
    { from: "-1" },
    { from: "1e9" },
    { from: String(now) },
    { from: String(now + 10_000) },
    { from: "0" },
    { from: String(range.fromMs), until: "x" },
    { from: String(range.fromMs), until: String(range.fromMs - 1) },
    { from: "99999999999999999999" },
  ])("refuses %j", async query => {
    expect(await ask(source(), query as Record<string, string>)).toBeNull();
  });
});

/** Lanes in one order: a page has them in that in which it heard of them. */
function sorted({ lanes }: Timeline): readonly Lane[] {
  return [...lanes].sort((a, b) => a.id.localeCompare(b.id));
}
