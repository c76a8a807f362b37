/** What sessions work on, kept as long as it is right, and how near it is to one's own. */
import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { marksOf, Nearness, PeerMemory, SessionWorks } from "../../daemon/hooks/session-work.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { limits } from "../../protocol/limits.ts";
import { oneLog } from "../one-log.ts";
import { Random } from "../simulation/random.ts";
import { actor } from "./core-world.ts";
import { claimOf, releaseOf, TaskWorld, updateOf } from "./task-world.ts";

const ids = ["a", "b", "c", "d"];
const folders = ["", "src/", "src/db/", "docs/"];
const tasks = ["t0", "t1", "t2"];

/** Sessions that do at random what counts as work, or ends it. */
class Works extends TaskWorld {
  readonly #random: Random;
  readonly presence = new PresenceTable({ now: () => this.now, wall: () => this.now, at: () => () => {} });
  readonly sessionWorks = new SessionWorks();

  constructor(random: Random) {
    super();
    this.#random = random;
    for (const id of ids) this.begin(id);
    this.create(...tasks);
  }

  get source() {
    const { state, now, presence, sessionWorks } = this;
    return { engine: oneLog({ state, now }), presence, sessionWorks };
  }

  get sessions() {
    return [...this.state.sessions.live.values()];
  }

  act(): void {
    const random = this.#random;
    const id = random.pick(ids);
    const who = random.chance(0.3) ? { ...actor(id), agent: "x" } : actor(id);
    this.pass(1_000);
    if (!this.state.sessions.live.has(id)) this.begin(id);
    random.pick([
      () => this.#lock(who),
      () => this.#lock(who),
      () => this.#unlock(who),
      () => this.#declare(who),
      () => this.#write(who),
      () => this.presence.touched(id, `/p/${this.#file()}`, this.#file()),
      () => this.#claim(who),
      () => this.#moveOrEnd(id),
    ])();
  }

  #lock(who: Actor): void {
    const random = this.#random;
    const bound = random.pick([null, null, { node: "n", epoch: 1, connection: 1 }]);
    const kind = bound === null ? random.pick(["turn", "explicit"] as const) : "explicit";
    const [waitMs, ancestors] = [random.pick([0, 30_000]), who.agent === null ? [] : [null]];
    const name = random.chance(0.2) ? "src/db/" : this.#file();
    this.lock(who, name, { kind, bound, waitMs, detach: true, ancestors });
  }

  #unlock(who: Actor): void {
    const random = this.#random;
    const [ref] = this.#refs();
    if (random.chance(0.3)) this.do({ type: "turn_end", actor: who, keepPrompt: null });
    else if (random.chance(0.2) && ref !== undefined)
      this.do({ type: "lock_revoke", files: [ref], by: "a person" });
    else this.unlock(who, random.chance(0.3) ? "all" : this.#file());
  }

  #declare(who: Actor): void {
    const view = { files: this.#refs().map(ref => ({ ref })), uncertainties: [], wallMs: this.now };
    this.do({ type: "declare", actor: who, ancestors: [], anew: this.#random.chance(0.3), ...view });
  }

  #write(who: Actor): void {
    const files = this.#refs().map(({ file, key }) => ({ key, file, worktree: "/p", project: "/p" }));
    const noted = { files, by: "shell", ancestors: [], wallMs: this.now } as const;
    if (this.#random.chance(0.6)) this.do({ type: "writes_noted", actor: who, noted });
    const settled = [...this.state.writes.files.values()].slice(0, this.#random.int(0, 2));
    const known = settled.map(({ key, writers }) => ({ key, seq: writers.at(-1)?.seq ?? 0 }));
    this.do({ type: "writes_settled", settled: known });
  }

  #claim(who: Actor): void {
    const task = this.id(this.#random.pick(tasks));
    const [claim, release] = [claimOf(who, task, [], this.now), releaseOf(who.session, task)];
    this.do(this.#random.pick([claim, claim, release, updateOf(who, task, { priority: "high" }, this.now)]));
  }

  #moveOrEnd(id: string): void {
    const random = this.#random;
    const anchor = { pid: 1, startTime: "1" };
    if (random.chance(0.4)) this.begin(id, { branch: random.pick(["main", "other"]) });
    else if (random.chance(0.5)) {
      // Its process goes on under another id.
      this.begin(id, { anchor });
      this.do({ type: "session_suspend", session: id });
      this.begin(random.pick(ids), { anchor });
    } else {
      this.presence.forget(id);
      this.do({ type: "session_end", session: id, incarnation: null, cause: "ended" });
    }
  }

  #file(): string {
    return `${this.#random.pick(folders)}f${this.#random.int(0, 2)}`;
  }

  /** Files, and now and then a folder. */
  #refs() {
    const names = [this.#file(), this.#random.chance(0.2) ? "src/db/" : this.#file()];
    return [...new Set(names)].map(file => {
      const lexical = `/p/${file.replace(/\/$/, "")}`;
      return { file, lexical, key: `n:${lexical}`, dir: file.endsWith("/") };
    });
  }
}

const seeds = [1, 2, 3, 4, 5, 6];

describe.each(seeds)("whatever sessions do (seed %i)", seed => {
  it("their work is what it would be if it were never kept", () => {
    const w = new Works(new Random(seed));
    const marks = new Set<string | null>();
    for (let i = 0; i < 400; i += 1) {
      w.act();
      for (const session of w.sessions) {
        const kept = w.sessionWorks.of(w.source, session);
        const made = new SessionWorks().of(w.source, session);
        expect(kept.mark).toBe(made.mark);
        expect(kept.holds).toEqual(made.holds);
        expect(kept.paths).toEqual(made.paths);
        expect(kept.folders).toEqual(made.folders);
        marks.add(made.mark);
      }
    }
    expect(marks.size).toBeGreaterThan(20);
  });

  it("the nearest of them are those with a file in common, then in the same directory", () => {
    const w = new Works(new Random(seed));
    const seen = new Set<number>();
    for (let i = 0; i < 200; i += 1) {
      w.act();
      const [self, ...others] = w.sessions;
      if (self === undefined) continue;
      const own = w.sessionWorks.of(w.source, self).paths;
      const far = (id: string) => {
        const session = w.state.sessions.live.get(id);
        if (session === undefined) throw new Error(id);
        const { paths } = w.sessionWorks.of(w.source, session);
        return Math.min(...(paths.length === 0 ? [""] : paths).map(path => plainDistance(own, path)));
      };
      const sorted = new Nearness(w.source, w.sessionWorks, self).sort(others).map(({ id }) => far(id));
      expect(sorted).toEqual([...sorted].sort());
      for (const distance of sorted) seen.add(distance);
    }
    expect(seen).toEqual(new Set([0, 1, 2]));
  });
});

describe("a prompt tells of no change in another session's work", () => {
  /** The sessions of which "b" is told that their work changed when something happens. */
  function changes(before: (w: TaskWorld) => void, happens: (w: TaskWorld) => void): readonly string[] {
    const w = new Works(new Random(1));
    const memory = new PeerMemory();
    const self = w.state.sessions.live.get("b");
    if (self === undefined) throw new Error("b");
    const now = () => ({ sessions: marksOf(w.source, w.sessionWorks, self), finishedAt: 0, sharedAt: 0 });
    before(w);
    memory.told("b", now());
    happens(w);
    return [...memory.changes("b", now(), () => true).changed];
  }

  const sub = { ...actor("a"), agent: "x" };
  const borrow = (w: TaskWorld, name: string) => w.lock(sub, name, { kind: "turn", ancestors: [null] });
  const keep = (w: TaskWorld, count = 1) => {
    w.lock(
      "a",
      Array.from({ length: count }, (_, n) => `kept${n}`),
    );
  };

  it("while its agent uses a lock that it keeps, and after", () => {
    const back = (w: TaskWorld) => w.do({ type: "turn_end", actor: sub, keepPrompt: null });
    expect(changes(keep, w => borrow(w, "kept0"))).toEqual([]);
    const lent = (w: TaskWorld) => {
      keep(w);
      borrow(w, "kept0");
    };
    expect(changes(lent, back)).toEqual([]);
    expect(changes(lent, w => w.unlock("a", "kept0"))).toEqual(["a"]);
  });

  it("while it edits many files besides, itself or by its agent", () => {
    const edits = (who: Actor) => (w: TaskWorld) => {
      for (let n = 0; n < limits.glanceLocksMax; n += 1) w.lock(who, `t${n}`, { kind: "turn" });
    };
    expect(changes(keep, edits(actor("a")))).toEqual([]);
    const lent = (w: TaskWorld) => {
      keep(w);
      borrow(w, "kept0");
      edits(sub)(w);
    };
    expect(changes(keep, lent)).toEqual([]);
  });

  it("while its agent uses one of more locks than are compared", () => {
    const many = (w: TaskWorld) => keep(w, limits.glanceLocksMax + 20);
    const use = (w: TaskWorld) => {
      borrow(w, "kept5");
      w.do({ type: "turn_end", actor: sub, keepPrompt: null });
    };
    expect(changes(many, use)).toEqual([]);
    expect(changes(many, w => w.lock("a", "one-more"))).toEqual(["a"]);
  });
});

/** 0: a common file; 1: in the same directory as one; 2: neither. Directories end with a slash. */
function plainDistance(own: readonly string[], path: string): number {
  const folderOf = (one: string) => one.slice(0, one.lastIndexOf("/") + 1);
  const within = (one: string, whole: string) => whole.endsWith("/") && one.startsWith(whole);
  // Without files it works in its own directory, which is the top: there and below.
  if (own.length === 0) return 1;
  if (own.some(one => one === path || within(one, path) || within(path, one))) return 0;
  return own.some(one => folderOf(one) === folderOf(path)) ? 1 : 2;
}
