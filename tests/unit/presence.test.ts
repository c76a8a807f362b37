/** Who is present, how lately, and what of it a restart leaves. */

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { PresenceTable, Recency } from "../../daemon/sessions/presence.ts";
import { PresenceFile } from "../../daemon/sessions/presence-file.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { Random } from "../simulation/random.ts";
import { temporaryFolder } from "../temporary-folder.ts";

function world() {
  const clock = new SimulatedClock(1000);
  return { clock, presence: new PresenceTable(clock) };
}

describe("presence", () => {
  it("counts silence from the last sign of life", () => {
    const { clock, presence } = world();
    presence.seen("a");
    clock.pass(500);
    expect(presence.silentMs("a")).toBe(500);
    presence.seen("a");
    expect(presence.silentMs("a")).toBe(0);
  });

  it("gives who is not known yet a fresh grace", () => {
    const { clock, presence } = world();
    clock.pass(10_000);
    expect(presence.silentMs("never seen")).toBe(0);
    clock.pass(10);
    expect(presence.silentMs("never seen")).toBe(10);
  });

  it("knows the agents of a session, up to a bound; those it knows go on being seen", () => {
    const { clock, presence } = world();
    for (let i = 0; i <= limits.agentsPerSessionMax; i += 1) presence.seen("a", `agent ${i}`);
    expect(presence.of("a").agents.size).toBe(limits.agentsPerSessionMax);
    clock.pass(5);
    presence.seen("a", "agent 0");
    expect(presence.of("a").agents.get("agent 0")?.seenAt).toBe(1005);
  });

  it("remembers the files open, the latest last, and forgets the oldest", () => {
    const { presence } = world();
    for (let i = 0; i < limits.touchedMax; i += 1) presence.touched("a", `/p/${i}`, `/p/${i}`);
    presence.touched("a", "/p/0", "/p/0");
    presence.touched("a", "/p/new", "/p/new");
    const files = [...presence.of("a").files.values()];
    expect(files).toHaveLength(limits.touchedMax);
    expect(files.slice(-2)).toEqual(["/p/0", "/p/new"]);
    expect(files).not.toContain("/p/1");
  });

  it("keeps no more rows than there are sessions, whoever was heard of or asked for", () => {
    const { clock, presence } = world();
    const live = new Map([["a", null]]);
    presence.touched("a", "/p/x", "/p/x");
    for (let i = 0; i < 3; i += 1) presence.touched(`nobody ${i}`, "/p/x", "/p/x");
    presence.keepOnly(live);
    expect([...presence.alsoOpen("another", "/p/x")]).toEqual(["a"]);
    clock.pass(5);
    expect(presence.silentMs("a")).toBe(5);
  });

  it("tells who else has a file open, until they are forgotten", () => {
    const { presence } = world();
    for (const session of ["a", "b", "c"]) presence.touched(session, "/p/x", "/p/x");
    expect([...presence.alsoOpen("a", "/p/x")]).toEqual(["b", "c"]);
    presence.forget("b");
    expect([...presence.alsoOpen("a", "/p/x")]).toEqual(["c"]);
    expect([...presence.alsoOpen("a", "/p/y")]).toEqual([]);
  });

  it("finds who else has a file open, whatever was evicted and forgotten since", () => {
    const { presence } = world();
    const other = () => [...presence.alsoOpen("a", "k")];
    for (const session of ["a", "b", "c", "d"]) presence.touched(session, "/k", "k");
    expect(other()).toEqual(["b", "c", "d"]);
    for (let n = 0; n < limits.touchedMax; n += 1) presence.touched("b", `/${n}`, `${n}`);
    expect(other()).toEqual(["c", "d"]);
    presence.touched("c", "/k", "k");
    presence.forget("d");
    expect(other()).toEqual(["c"]);
    presence.keepOnly(new Map([["a", 1]]));
    expect(other()).toEqual([]);
  });
});

// What a restart leaves of turns, questions to a person and agents.
describe("what a restart leaves", () => {
  const start = 1_700_000_000_000;
  let root: string;
  let path: string;
  beforeEach(() => {
    root = temporaryFolder("kite-presence-");
    path = join(root, "presence.json");
  });

  const live = new Map([
    ["s1", { begun: 4 }],
    ["s2", { begun: 9 }],
  ]);

  function daemonAt(at: number) {
    const clock = new SimulatedClock(at);
    const presence = new PresenceTable(clock);
    const troubles: string[] = [];
    const file = new PresenceFile({ path, presence, clock, onTrouble: message => troubles.push(message) });
    return { clock, presence, file, troubles };
  }

  it("keeps who was active since when, who needs a person, and which agents lived under whom", () => {
    const one = daemonAt(start);
    one.file.load(live);
    one.presence.seen("s1", "a1");
    one.presence.turn("s1", null, true);
    Object.assign(one.presence.seen("s1", "a2").agents.get("a2") ?? {}, { parent: "a1", descends: true });
    one.presence.turn("s1", "a2", false, true);
    one.presence.of("s1").dialogs.set("a1", { text: "asks about Bash", at: start });
    one.presence.of("s1").dialogs.set(null, { text: "asks about Edit", at: start });
    one.presence.of("s1").title = "billing";
    one.presence.turn("s2", null, false);
    one.presence.of("gone");
    one.file.save();
    const two = daemonAt(start + 60_000);
    two.file.load(live);
    const row = two.presence.of("s1");
    expect(row).toMatchObject({ active: true, since: start, isReported: true, title: "billing" });
    expect([...row.dialogs.entries()]).toEqual([
      ["a1", { text: "asks about Bash", at: start }],
      [null, { text: "asks about Edit", at: start }],
    ]);
    expect([...row.agents.keys()]).toEqual(["a1", "a2"]);
    expect(row.agents.get("a2")).toMatchObject({
      active: false,
      failedAt: start,
      parent: "a1",
      descends: true,
    });
    expect(two.presence.ancestors("s1", "a2")).toEqual([null, "a1"]);
    // Signs of life begin anew: nobody is silent because the daemon was away.
    expect([row.seenAt, row.signAt, two.presence.silentMs("s1")]).toEqual([
      start + 60_000,
      start + 60_000,
      0,
    ]);
    expect(two.presence.rows.has("gone")).toBe(false);
  });

  it("keeps it over a long rest, however the daemon ends", () => {
    const one = daemonAt(start);
    one.file.load(live);
    one.presence.of("s1").dialogs.set(null, { text: "asks about Bash", at: start });
    for (let restMs = 0; restMs < 3 * limits.presenceKeptMs; restMs += limits.presenceSaveMs) {
      one.clock.pass(limits.presenceSaveMs);
      one.file.saveSoon();
    }
    const two = daemonAt(one.clock.wall());
    two.file.load(live);
    expect(two.presence.of("s1").dialogs.get(null)?.at).toBe(start);
  });

  it("takes nothing of a session that ended, nor of another one with its id", () => {
    const one = daemonAt(start);
    one.file.load(live);
    one.presence.of("s1");
    one.presence.turn("s1", null, true);
    one.file.save();
    const two = daemonAt(start);
    two.file.load(new Map([["s1", { begun: 5 }]]));
    expect(two.presence.rows.size).toBe(0);
  });

  it("takes nothing that is old, damaged, or of another form", () => {
    const one = daemonAt(start);
    one.file.load(live);
    one.presence.of("s1");
    one.presence.turn("s1", null, true);
    one.file.save();
    const late = daemonAt(start + limits.presenceKeptMs + 1);
    late.file.load(live);
    expect(late.presence.rows.size).toBe(0);
    for (const text of ["", "no JSON", "{}", '{"savedAt":1,"sessions":{"s1":{"active":"yes"}}}']) {
      writeFileSync(path, text);
      const two = daemonAt(start);
      two.file.load(live);
      expect(two.presence.rows.size).toBe(0);
    }
  });

  it("is written again only if something changed and some seconds are over, and tells a failure once", () => {
    const { clock, presence, file, troubles } = daemonAt(start);
    file.load(live);
    presence.turn("s1", null, true);
    presence.of("s1");
    presence.turn("s1", null, true);
    file.save();
    const first = statSync(path, { bigint: true }).ino;
    clock.pass(limits.presenceSaveMs);
    file.saveSoon();
    expect(statSync(path, { bigint: true }).ino).toBe(first);
    presence.turn("s1", null, false);
    file.saveSoon();
    expect(readFileSync(path, "utf8")).toContain('"active":true');
    clock.pass(limits.presenceSaveMs);
    file.saveSoon();
    expect(readFileSync(path, "utf8")).toContain('"active":false');
    rmSync(root, { recursive: true });
    presence.turn("s1", null, true);
    file.save();
    file.save();
    expect(troubles).toEqual(["who is active could not be stored for a restart"]);
  });

  it("looks at no row while nobody asked for one to change it, and again after a failure or a jump of the clock", () => {
    const { clock, presence, file } = daemonAt(start);
    file.load(live);
    presence.of("s1");
    presence.turn("s1", null, true);
    const rows = vi.spyOn(presence, "rows", "get");
    const looksOfSave = () => {
      const before = rows.mock.calls.length;
      clock.pass(limits.presenceSaveMs);
      file.saveSoon();
      return rows.mock.calls.length - before;
    };
    expect([looksOfSave(), looksOfSave(), looksOfSave()]).toEqual([1, 0, 0]);
    expect(presence.silentMs("s1")).toBeGreaterThan(0);
    expect(looksOfSave()).toBe(0);
    presence.forget("s1");
    expect([looksOfSave(), looksOfSave()]).toEqual([1, 0]);
    presence.turn("s1", null, true);
    presence.of("s1").title = "billing";
    rmSync(root, { recursive: true });
    expect([looksOfSave(), looksOfSave()]).toEqual([1, 1]);
    mkdirSync(root);
    expect([looksOfSave(), looksOfSave()]).toEqual([1, 0]);
    clock.sleep(60_000);
    expect([looksOfSave(), looksOfSave()]).toEqual([1, 0]);
  });

  /** What may happen to rows; whoever gets one changes it at once. */
  const changes: fc.Arbitrary<(presence: PresenceTable) => void> = fc.oneof(
    fc
      .record({ id: fc.constantFrom("s1", "s2"), agent: fc.constantFrom(null, "a1"), active: fc.boolean() })
      .map(
        ({ id, agent, active }) =>
          (presence: PresenceTable) =>
            presence.turn(id, agent, active),
      ),
    fc.constantFrom("s1", "s2").map(id => (presence: PresenceTable) => void presence.seen(id, "a1")),
    fc.constantFrom("s1", "s2").map(id => (presence: PresenceTable) => presence.forget(id)),
    fc
      .constantFrom("s1", "s2")
      .map(id => (presence: PresenceTable) => void presence.of(id).agents.delete("a1")),
    fc.tuple(fc.constantFrom("s1", "s2"), fc.string()).map(([id, title]) => (presence: PresenceTable) => {
      presence.of(id).title = title;
    }),
    fc.constant(() => {}),
  );

  it("has after each save in time what a save of all rows writes", () => {
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 20 }), all => {
        const { clock, presence, file } = daemonAt(start);
        file.load(live);
        const whole = new PresenceFile({ path: `${path}.whole`, presence, clock, onTrouble: () => {} });
        whole.load(live);
        for (const change of all) {
          change(presence);
          clock.pass(limits.presenceSaveMs);
          file.saveSoon();
          whole.save();
          const [saved, wanted] = [path, `${path}.whole`].map(name => JSON.parse(readFileSync(name, "utf8")));
          expect(saved.sessions).toEqual(wanted.sessions);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("writes the rows of many sessions in several turns, and of several saves the last one", () => {
    const clock = new SimulatedClock(start);
    const presence = new PresenceTable(clock);
    let tasks: (() => void)[] = [];
    const soon = (task: () => void) => void tasks.push(task);
    const file = new PresenceFile({ path, presence, clock, soon, onTrouble: () => {} });
    const many = Array.from({ length: 2 * limits.presenceRowsPerTurn + 1 }, (_, n) => `m${n}`);
    file.load(new Map(many.map(id => [id, { begun: 1 }])));
    for (const id of many) presence.of(id).title = "before";
    clock.pass(limits.presenceSaveMs);
    file.saveSoon();
    presence.forget("m0");
    expect(existsSync(path)).toBe(false);
    let turns = 1;
    while (tasks.length > 0) {
      for (const task of tasks.splice(0)) task();
      turns += 1;
    }
    expect(turns).toBe(3);
    const stored = (): Record<string, { title: string }> => JSON.parse(readFileSync(path, "utf8")).sessions;
    expect(Object.keys(stored())).toEqual(many);
    clock.pass(limits.presenceSaveMs);
    for (const id of many) presence.of(id).title = "then";
    file.saveSoon();
    for (const id of many) presence.of(id).title = "now";
    file.save();
    tasks = tasks.splice(0);
    for (const task of tasks) task();
    expect(new Set(Object.values(stored()).map(({ title }) => title))).toEqual(new Set(["now"]));
  });
});

describe("names by how lately they were seen", () => {
  it("stand as in a list from which each is taken and put in front, whatever comes and goes", () => {
    const random = new Random(7);
    const recency = new Recency();
    let plain: string[] = [];
    for (let i = 0; i < 5_000; i += 1) {
      const name = `s${random.int(0, 11)}`;
      plain = plain.filter(one => one !== name);
      if (random.int(0, 2) === 0) recency.delete(name);
      else {
        recency.seen(name);
        plain.unshift(name);
      }
      expect([...recency]).toEqual(plain);
      expect(recency.size).toBe(plain.length);
    }
  });
});

describe("the sessions of a project", () => {
  it("come with the one that was seen last first, wherever they moved meanwhile", () => {
    const presence = new PresenceTable({ now: () => 1, wall: () => 1, at: () => () => {} });
    for (const id of ["a", "b", "c"]) presence.placed(id, "/p");
    presence.seen("a");
    expect([...presence.latestIn("/p")]).toEqual(["a", "c", "b"]);
    presence.placed("c", "/q");
    presence.placed("a", "/p");
    expect([...presence.latestIn("/p")]).toEqual(["a", "b"]);
    expect([...presence.latestIn("/q")]).toEqual(["c"]);
    presence.forget("a");
    presence.seen("a");
    expect([...presence.latestIn("/p")]).toEqual(["b"]);
  });
});
