/** Pages that are made while the state changes between their steps. */
import { describe, expect, it } from "vitest";
import { Teams } from "../../daemon/lead/team-facts.ts";
import { teamRows } from "../../daemon/lead/team-rows.ts";
import type { Steps } from "../../daemon/server/call.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { contextPage, holdRows } from "../../daemon/views/messages.ts";
import { type PageStart, page, placeIn } from "../../daemon/views/paging.ts";
import { lockRows } from "../../daemon/views/sessions.ts";
import { taskPage } from "../../daemon/views/tasks.ts";
import { declarationRows, writeRows } from "../../daemon/views/work.ts";
import { limits } from "../../protocol/limits.ts";
import { oneLog } from "../one-log.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { Random } from "../simulation/random.ts";
import { actor, lockOf, World } from "./core-world.ts";
import { project, TaskWorld, updateOf } from "./task-world.ts";

interface Page {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly next?: string;
}

/** Makes a reply; with a chance of one in three others have their turn after a step. */
function made(random: Random, steps: Steps<unknown>, others: () => void): Page {
  let step = steps.next();
  while (step.done !== true) {
    const interrupted = random.chance(1 / 3);
    if (interrupted) others();
    step = steps.next(interrupted);
  }
  return JSON.parse(String(step.value));
}

/** The field `name` of all rows, page after page. */
function all(name: string, pageAt: (after: string | undefined) => Page): unknown[] {
  const shown: unknown[] = [];
  let after: string | undefined;
  do {
    const { rows, next } = pageAt(after);
    shown.push(...rows.map(row => row[name]));
    after = next;
  } while (after !== undefined);
  return shown;
}

/** The same, of rows with positions. */
function paged(name: string, pageFrom: (from: PageStart | null) => Page): unknown[] {
  return all(name, after => {
    const from = after === undefined ? null : placeIn(after);
    if (from === "nowhere") throw new Error(`no place: ${after}`);
    return pageFrom(from);
  });
}

const seeds = [1, 2];

describe.each(seeds)("whatever comes and goes between the steps of pages (seed %i)", seed => {
  it("tasks that are there all the time are shown once", () => {
    const random = new Random(seed);
    const w = new TaskWorld();
    w.begin("a");
    const staying = Array.from({ length: 150 }, (_, n) => `stays ${n}`);
    const going = Array.from({ length: 150 }, (_, n) => `goes ${n}`);
    for (let n = 0; n < 150; n += 1) w.create(staying[n] ?? "", going[n] ?? "");
    const others = () => {
      if (random.chance(0.5)) w.create(`comes ${w.state.seq}`);
      const gone = going.splice(random.int(0, going.length - 1), 1);
      for (const one of gone) w.do(updateOf("a", w.id(one), { status: "active" }));
    };
    const shown = all("description", after => {
      const request = { type: "query", target: "task_ready", project, limit: 40, after } as never;
      return made(random, taskPage(oneLog(w), request), () => going.length > 0 && others());
    });
    expect(new Set(shown).size).toBe(shown.length);
    expect(shown.filter(one => String(one).startsWith("stays"))).toEqual(staying);
  });

  it("locks that are there all the time are shown once, in their order", () => {
    const random = new Random(seed);
    const w = new World();
    const staying = Array.from({ length: 100 }, (_, n) => `stays-${n}`);
    const going = Array.from({ length: 100 }, (_, n) => `goes-${n}`);
    for (let n = 0; n < 100; n += 1) {
      w.lock("a", staying[n] ?? "");
      w.lock("a", going[n] ?? "");
    }
    const others = () => {
      if (random.chance(0.5)) w.lock("b", `comes-${w.state.seq}`);
      const gone = going.splice(random.int(0, going.length - 1), 1);
      for (const one of gone) w.unlock("a", one);
    };
    const presence = new PresenceTable(new SimulatedClock(0));
    const source = { engine: oneLog({ state: w.state, now: 0 }), presence };
    const shown = paged("file", from => {
      const steps = page(lockRows(source), { wanted: () => true, from, max: 30 });
      return made(random, steps, () => going.length > 0 && others());
    });
    expect(new Set(shown).size).toBe(shown.length);
    expect(shown.filter(one => String(one).startsWith("stays"))).toEqual(staying);
  });

  it.each([undefined, "b"])("locks that others borrow, or a session takes along (of %s)", of => {
    const random = new Random(seed);
    const w = new World();
    let [owner, n] = ["a", 0];
    const begin = () => w.begin(owner, { anchor: { pid: 7, startTime: "1" } });
    begin();
    const staying: string[] = [];
    const going: string[] = [];
    const moved = new Set<string>();
    for (let i = 0; i < 30; i += 1) {
      const files = [`of-a-${i}`, `of-b-${i}`, `too-of-b-${i}`, `goes-${i}`];
      const [mine = "", his = "", too = "", goes = ""] = files;
      w.lock(owner, mine);
      // Of one request: they have the same place.
      w.lock("b", [too, his]);
      w.lock("b", goes);
      staying.push(...(of === undefined ? [mine, too, his] : [too, his]));
      going.push(goes);
    }
    const sub = (session: string) => ({ session, agent: "sub", incarnation: 0 });
    // Bounded: rows that move to the end might keep the reader on the way for ever.
    const others = () => {
      const who = random.pick([owner, "b"]);
      const what = random.int(0, 5);
      n += 1;
      if (what === 0) w.lock("b", `comes-${n}`);
      else if (what === 1) for (const one of going.splice(random.int(0, 29), 1)) w.unlock("b", one);
      else if (what === 2) w.do({ type: "turn_end", actor: sub(who), keepPrompt: null });
      else if (what < 5) {
        const file = `${who === "b" ? "of-b" : "of-a"}-${random.int(0, 29)}`;
        // If it was the last one shown, the other one of its request is shown again.
        moved.add(file).add(`too-${file}`);
        expect(w.lock(sub(who), file, { kind: "turn", ancestors: [null] }).ok).toBe(true);
      } else {
        w.do({ type: "session_suspend", session: owner });
        owner = `a${n}`;
        begin();
        for (const one of staying) if (one.startsWith("of-a")) moved.add(one);
      }
    };
    for (let i = 0; i < 50; i += 1) others();
    const source = {
      engine: oneLog({ state: w.state, now: 0 }),
      presence: new PresenceTable(new SimulatedClock(0)),
    };
    const shown = paged("file", from =>
      made(
        random,
        page(lockRows(source, { id: of }), { wanted: () => true, from, max: 7 }),
        () => n < 400 && others(),
      ),
    );
    // A lock that moved to the end meanwhile is shown there, too.
    const repeated = shown.filter((one, i) => shown.indexOf(one) < i);
    expect(repeated.filter(one => !moved.has(String(one)))).toEqual([]);
    expect([...new Set(shown)].filter(one => String(one).includes("of-")).sort()).toEqual(staying.sort());
  });

  it.each([undefined, "b"])("declarations whose agents go on declaring (of %s)", of => {
    const random = new Random(seed);
    const w = new World();
    w.begin("b");
    const agents = Array.from({ length: 60 }, (_, n) => `${n % 3 === 2 ? "goes" : "stays"}-${n}`);
    const declare = (agent: string, wallMs: number, task = `${wallMs}`) => {
      const view = { ancestors: [null], anew: false, files: [], uncertainties: [] };
      const actor = { session: "b", agent, incarnation: 0 };
      expect(w.do({ type: "declare", actor, ...view, task, wallMs }).ok).toBe(true);
    };
    // Two that stay have each millisecond in common.
    for (const [n, agent] of [...agents.entries()].reverse())
      declare(agent, 10 * Math.floor(n / 3) + (n % 3 === 2 ? 1 : 0));
    const going = agents.filter(agent => agent.startsWith("goes"));
    let n = 0;
    const others = () => {
      n += 1;
      if (random.chance(0.2)) declare(`comes-${n}`, 1_000 + n);
      if (random.chance(0.7)) declare(random.pick(agents.filter(one => one.startsWith("s"))), n);
      else if (going.length > 0) {
        const [agent = ""] = going.splice(random.int(0, going.length - 1), 1);
        w.do({ type: "agent_end", actor: { session: "b", agent, incarnation: 0 } });
      }
    };
    const shown = paged("agent", from =>
      made(
        random,
        page(declarationRows(oneLog({ state: w.state, now: 0 }), { id: of }), {
          wanted: () => true,
          from,
          max: 7,
        }),
        others,
      ),
    );
    expect(new Set(shown).size).toBe(shown.length);
    expect(shown.filter(one => String(one).startsWith("stays")).sort()).toEqual(
      agents.filter(one => one.startsWith("stays")).sort(),
    );
  });

  it.each([undefined, "b"])("files with work of a session that goes on under another id (of %s)", of => {
    const random = new Random(seed);
    const w = new World();
    let [owner, n] = ["a", 0];
    const begin = () => w.begin(owner, { anchor: { pid: 7, startTime: "1" } });
    const write = (session: string, names: readonly string[]) => {
      const files = names.map(file => ({ key: `n:/p/${file}`, file, worktree: "/p", project: "/p" }));
      const noted = { files, by: "edit", ancestors: [], wallMs: 1 } as const;
      w.do({ type: "flight_end", actor: actor(session), flight: null, wrote: true, noted });
    };
    begin();
    w.begin("b");
    const staying: string[] = [];
    const going: string[] = [];
    for (let i = 0; i < 30; i += 1) {
      const both = [`stays-${i}`, `also-stays-${i}`];
      write("b", [...both].reverse());
      write(owner, both);
      write("b", [`goes-${i}`]);
      staying.push(...both);
      going.push(`goes-${i}`);
    }
    const others = () => {
      n += 1;
      const what = random.int(0, 3);
      if (what === 0) write("b", [`comes-${n}`]);
      else if (what === 1) {
        w.do({ type: "session_suspend", session: owner });
        owner = `a${n}`;
        begin();
      } else {
        for (const one of going.splice(random.int(0, 29), 1)) {
          const key = `n:/p/${one}`;
          const seq = w.state.writes.files.get(key)?.writers.at(-1)?.seq ?? 0;
          w.do({ type: "writes_settled", settled: [{ key, seq }] });
        }
      }
    };
    const services = { engine: oneLog({ state: w.state, now: 0 }) } as Parameters<typeof writeRows>[0];
    const shown = paged("file", from => {
      const rows = writeRows(services, new Map(), { id: of });
      return made(random, page(rows, { wanted: () => true, from, max: 7 }), () => n < 400 && others());
    });
    expect(new Set(shown).size).toBe(shown.length);
    expect(shown.filter(one => String(one).includes("stays")).sort()).toEqual(staying.sort());
  });

  it("keys of context that are there all the time are shown once, in their order", () => {
    const random = new Random(seed);
    const w = new World();
    const set = (key: string) => w.do({ ...aValue, type: "context_set", key });
    const staying = Array.from({ length: 2_200 }, (_, n) => `s-${String(n).padStart(4, "0")}`);
    for (const key of [...staying].sort(() => random.fraction() - 0.5)) set(key);
    const shown = all("key", after =>
      made(random, contextPage(oneLog({ state: w.state, now: 0 }), { project, limit: 1_000, after }), () => {
        if (random.chance(0.1)) set(`c-${w.state.seq}`);
      }),
    );
    expect(shown.filter(key => String(key).startsWith("s"))).toEqual(staying);
  });
});

const aValue = {
  actor: null,
  project,
  value: 1,
  bytes: 1,
  durable: false,
  ifVersion: null,
  ttlMs: null,
  wallMs: 0,
} as const;

it("a page of holds is no longer than other pages, and has a next one", () => {
  const w = new World();
  const path = `/p/${"d".repeat(250)}`.repeat(10);
  for (let n = 0; n < 80; n += 1) w.begin(`s-${n}`);
  for (let n = 0; n < 80; n += 1) {
    const files = Array.from({ length: 10 }, (_, i) => `${path}/${n}-${i}`);
    const { files: refs } = lockOf(`s-${n}`, files, 0);
    const actor = { session: `s-${n}`, agent: null, incarnation: 0 };
    const hold = { files: refs, ttlMs: limits.freezeMaxMs };
    w.do({ type: "broadcast", actor, project, text: "wait", bytes: 4, hold, wallMs: 0 });
  }
  const engine = oneLog({ state: w.state, now: 0 });
  let longest = 0;
  const shown = paged("hold", from => {
    const steps = page(holdRows(engine), { wanted: () => true, from, max: limits.rowsMax });
    const reply = made(new Random(1), steps, () => {});
    longest = Math.max(longest, JSON.stringify(reply).length);
    return reply;
  });
  expect(shown).toEqual([...w.state.freezes.all.keys()]);
  expect(longest).toBeLessThan(1.2 * limits.lineBytes);
});

it("teams are shown once, whatever teams come and go between two pages", async () => {
  const w = new World();
  const begin = (team: string) => {
    w.begin(team);
    w.do({ type: "teammate_named", session: team, agent: null, name: "ann", team, lead: `of ${team}` });
  };
  const names = Array.from("abcdefghijkl");
  for (const team of [...names].reverse()) begin(team);
  const engine = oneLog({ state: w.state, now: 0 });
  const presence = new PresenceTable(new SimulatedClock(0));
  const teams = new Teams({ outside: null as never, client: null, words: () => null });
  const shown: unknown[] = [];
  let from: ReturnType<typeof placeIn> | null = null;
  do {
    const rows = await teamRows({ engine, presence, teams }, null, from);
    const { rows: some, next } = made(
      new Random(1),
      page(rows, { wanted: () => true, from, max: 4 }),
      () => {},
    );
    shown.push(...some.map(row => row["team"]));
    from = next === undefined ? null : placeIn(next);
    // One before the last one shown, and that one itself.
    for (const session of shown.length === 4 ? ["b", "d"] : [])
      w.do({ type: "session_end", session, incarnation: null, cause: "ended" });
    begin(`a${shown.length}`);
  } while (from !== null && from !== "nowhere");
  expect(shown).toEqual(names);
});
