import { beforeEach, describe, expect, test } from "vitest";
import type { Command, CoreEvent, Reply } from "../../daemon/core/tables/entries.ts";
import { HookWakes, type Led } from "../../daemon/hooks/wake.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import type { TrailLine } from "../../daemon/trail/trail.ts";
import { type Code, codes, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { oneLog } from "../one-log.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { actor, lockOf, World, waits } from "./core-world.ts";

/** The core beside the part that wakes, as the daemon puts them together. */
class Wakeful {
  readonly core = new World();
  readonly clock = new SimulatedClock(1_000);
  readonly wakes = new HookWakes();
  readonly trail: TrailLine[] = [];
  /** Looks at the lock table so far. */
  looks = 0;
  readonly #around;

  constructor() {
    const { core, clock } = this;
    const looked = () => {
      this.looks += 1;
      return core.state;
    };
    const engine = {
      now: 0,
      get state() {
        return looked();
      },
    };
    const recorder = { note: (line: TrailLine) => void this.trail.push(line) };
    this.#around = { engine: oneLog(engine), clock, presence: new PresenceTable(clock), recorder };
    for (const [id, name] of [
      ["a", "alice"],
      ["b", "bob"],
      ["c", "carol"],
    ] as const)
      core.begin(id, { name });
  }

  /** Applies a command, as the engine does, and tells of it. */
  do(command: Command): Reply {
    const step = this.core.step(command);
    this.wakes.stepped(command.type, step.events);
    return step.reply ?? waits;
  }

  /** An edit's lock, asked for by a hook that does not wait, and what came of it. */
  edit(session: string, file: string, prompt: string | null = "p1", agent: string | null = null): Reply {
    const who = { ...actor(session), agent };
    const command = lockOf(who, file, this.core.now, { kind: "turn", waitMs: 0, prompt });
    const reply = this.do(command);
    const [ref] = command.files;
    if (ref === undefined) throw new Error("no file");
    this.wakes.decided(this.#around, { actor: who, file: ref, prompt }, reply);
    return reply;
  }

  /** The same, refused with this code whatever the state. */
  refused(code: Code, prompt: string | null = "p1"): void {
    const [file] = lockOf("b", "x", 0).files;
    if (file === undefined) throw new Error("no file");
    this.wakes.decided(this.#around, { actor: actor("b"), file, prompt }, refuse(code, "no"));
  }

  turnEnds(session: string): void {
    this.do({ type: "turn_end", actor: actor(session), keepPrompt: null });
  }

  /** The second hook of a Stop. */
  stop(session = "b", prompt: string | null = "p1", hook = new FakeHook(), led: Led = leadsNobody) {
    const wait = { hook, freed: undefined as unknown, done: Promise.resolve() };
    wait.done = this.wakes.wait(this.#around, hook, { session, prompt, led }).then(woken => {
      wait.freed = woken?.why === "freed" ? woken.freed : (woken?.why ?? null);
    });
    return wait;
  }
}

const leadsNobody: Led = {
  isAtWork: false,
  hasAlarm: () => false,
  hasBranch: false,
  cameBack: () => null,
  hasNotice: () => false,
};

class FakeHook {
  parked = 0;
  readonly pushed: string[] = [];
  readonly connection = {
    isClosed: false,
    hasRoomToWait: true,
    ties: new Set<() => void>(),
    tie(release: () => void) {
      this.ties.add(release);
      return () => void this.ties.delete(release);
    },
    push: (text: string) => void this.pushed.push(text),
  };

  park(): void {
    this.parked += 1;
  }

  close(): void {
    this.connection.isClosed = true;
    for (const release of [...this.connection.ties]) release();
  }
}

const isACode = (name: string): name is Code => Object.hasOwn(codes, name);

/** Until everything that can go on has done so. */
const settle = () => new Promise<void>(resolve => setImmediate(resolve));

let w: Wakeful;

beforeEach(() => {
  w = new Wakeful();
});

describe("a session that stops", () => {
  test("waits for the file that it was refused, and hears when nobody has it and who had", async () => {
    w.edit("a", "x");
    expect(w.edit("b", "x")).toMatchObject({ code: "lock_held" });
    const wait = w.stop();
    await settle();
    expect([wait.freed, wait.hook.parked, wait.hook.pushed]).toEqual([undefined, 1, ["\n"]]);
    w.turnEnds("a");
    await wait.done;
    expect(wait.freed).toEqual({ file: "/p/x", had: "alice" });
    expect(w.core.holder("x")).toBeNull();
    expect(w.trail).toEqual([
      {
        at: 1_000,
        event: "Stop",
        id: "b",
        agent: null,
        name: "bob",
        project: "/p",
        type: "wake",
        file: "/p/x",
        decision: "note",
        rule: "lock",
        why: "free again (alice had it): woken to try its edit anew",
      },
    ]);
    expect(wait.hook.connection.ties.size).toBe(0);
  });

  test("is let go at once, and unparked, where nothing was refused in this turn", async () => {
    const quiet = async (prompt: string | null = "p1") => {
      const wait = w.stop("b", prompt);
      await wait.done;
      expect([wait.freed, wait.hook.parked, wait.hook.pushed]).toEqual([null, 0, []]);
    };
    await quiet();
    w.edit("a", "x");
    await quiet();
    w.edit("b", "x");
    await quiet("p2");
    await quiet(null);
  });

  test("hears at once of a file that got free while it went on", async () => {
    w.edit("a", "x");
    w.edit("b", "x");
    w.turnEnds("a");
    const wait = w.stop();
    await wait.done;
    expect([wait.freed, wait.hook.parked]).toEqual([{ file: "/p/x", had: "alice" }, 0]);
  });

  test("is not woken for a file that it got in the end", async () => {
    w.edit("a", "x");
    w.edit("b", "x");
    w.turnEnds("a");
    expect(w.edit("b", "x")).toMatchObject({ ok: true });
    const wait = w.stop();
    await wait.done;
    expect(wait.freed).toBeNull();
  });

  test("is not woken for what was refused in a turn before, whose end nobody told", async () => {
    w.edit("a", "x");
    w.edit("c", "y");
    w.edit("b", "x", "p1");
    w.edit("b", "y", "p2");
    w.turnEnds("a");
    const wait = w.stop("b", "p2");
    await settle();
    expect(wait.freed).toBeUndefined();
    w.turnEnds("c");
    await wait.done;
    expect(wait.freed).toMatchObject({ file: "/p/y" });
  });

  test("is not woken for what an agent of its was refused", async () => {
    w.edit("a", "x");
    w.edit("b", "x", "p1", "a0954b2b04fdf61ec");
    const wait = w.stop();
    await wait.done;
    expect(wait.freed).toBeNull();
  });

  test("waits on while the file passes from one to the next, and hears who had it last", async () => {
    w.edit("a", "x");
    w.edit("b", "x");
    w.do(lockOf("c", "x", w.core.now, { kind: "turn" }));
    const wait = w.stop();
    w.turnEnds("a");
    await settle();
    expect([w.core.holder("x"), wait.freed]).toEqual(["c", undefined]);
    w.do({ type: "session_end", session: "c", incarnation: null, cause: "anchor_gone" });
    await wait.done;
    expect(wait.freed).toEqual({ file: "/p/x", had: "carol" });
  });

  test("hears of a place in line that was left, too: nobody else stands before it then", async () => {
    w.edit("a", "y");
    w.do(lockOf("c", ["x", "y"], w.core.now, { detach: true, waitMs: 60_000 }));
    const waiter = w.core.origin(w.core.n);
    w.edit("b", "x");
    const wait = w.stop();
    w.do({ type: "lock_detach", waiter });
    await wait.done;
    expect(wait.freed).toEqual({ file: "/p/x", had: "carol" });
  });

  test("refused several files hears of the first that is free, once, and at its next stop of another", async () => {
    w.edit("a", "x");
    w.edit("c", "y");
    for (const file of ["x", "y"]) w.edit("b", file);
    const first = w.stop();
    w.turnEnds("c");
    await first.done;
    expect(first.freed).toEqual({ file: "/p/y", had: "carol" });
    w.turnEnds("a");
    const second = w.stop();
    await second.done;
    expect(second.freed).toEqual({ file: "/p/x", had: "alice" });
    const third = w.stop();
    await third.done;
    expect(third.freed).toBeNull();
  });

  test.each(Object.keys(codes).filter(isACode))("refused with %s", async code => {
    w.refused(code);
    const wait = w.stop();
    await wait.done;
    const isBusy = /^lock_(held|queue_full|timeout|deadlock)$/.test(code);
    expect(wait.freed).toEqual(isBusy ? { file: "/p/x", had: null } : null);
  });

  test("remembers so many files of one turn and no more", async () => {
    for (let n = 0; n <= limits.refusedFilesMax; n += 1) w.edit("a", `x${n}`);
    for (let n = 0; n <= limits.refusedFilesMax; n += 1) w.edit("b", `x${n}`);
    const wait = w.stop();
    w.do({ type: "lock_release", actor: actor("a"), files: [named(`x${limits.refusedFilesMax}`)] });
    await settle();
    expect(wait.freed).toBeUndefined();
    w.do({ type: "lock_release", actor: actor("a"), files: [named("x7")] });
    await wait.done;
    expect(wait.freed).toMatchObject({ file: "/p/x7" });
  });
});

describe("the wait ends without a word", () => {
  let wait: ReturnType<Wakeful["stop"]>;

  beforeEach(() => {
    w.edit("a", "x");
    w.edit("b", "x");
    wait = w.stop();
  });

  /** It is over, and what happens to the file wakes nobody any more. */
  async function isOver(): Promise<void> {
    await wait.done;
    expect(wait.freed).toBeNull();
    expect(wait.hook.connection.ties.size).toBe(0);
    const looks = w.looks;
    w.turnEnds("a");
    expect(w.looks).toBe(looks);
    expect(w.trail).toEqual([]);
  }

  test("after its time", async () => {
    w.clock.pass(limits.wakeWaitMs - 1);
    await settle();
    expect(wait.freed).toBeUndefined();
    w.clock.pass(1);
    await isOver();
  });

  test("with the next prompt, whoever wrote it", async () => {
    w.wakes.prompted("b", "p2", false);
    await isOver();
    const next = w.stop("b", "p2");
    await next.done;
    expect(next.freed).toBeNull();
  });

  test("with the session, or where its process goes on under another id", async () => {
    w.wakes.forget("b");
    await isOver();
  });

  test("with its hook", async () => {
    wait.hook.close();
    await isOver();
  });

  test("with the next stop, which waits in its place", async () => {
    const next = w.stop();
    await wait.done;
    expect([wait.freed, next.freed]).toEqual([null, undefined]);
    w.turnEnds("a");
    await next.done;
    expect(next.freed).toMatchObject({ file: "/p/x" });
  });

  test("not with another session's prompt, stop or end", async () => {
    w.wakes.prompted("c", "p9", true);
    w.wakes.forget("c");
    await w.stop("c", "p9").done;
    expect(wait.freed).toBeUndefined();
    w.turnEnds("a");
    await wait.done;
    expect(wait.freed).toMatchObject({ file: "/p/x" });
  });
});

test("a hook that is gone before it waits is let go", async () => {
  w.edit("a", "x");
  w.edit("b", "x");
  const hook = new FakeHook();
  hook.close();
  const wait = w.stop("b", "p1", hook);
  await wait.done;
  expect([wait.freed, hook.parked]).toEqual([null, 0]);
});

test("a prompt typed into the running turn forgets nothing of it", async () => {
  w.edit("a", "x");
  w.edit("b", "x");
  w.wakes.prompted("b", "p1", true);
  const wait = w.stop();
  w.turnEnds("a");
  await wait.done;
  expect(wait.freed).toMatchObject({ file: "/p/x" });
});

test("so often between two prompts of a person, and no more", async () => {
  /** A turn in which the file is refused; whether its stop is woken. */
  async function turn(prompt: string, byPerson: boolean): Promise<boolean> {
    w.wakes.prompted("b", prompt, byPerson);
    w.edit("a", "x");
    w.edit("b", "x", prompt);
    const wait = w.stop("b", prompt);
    w.turnEnds("a");
    await wait.done;
    return wait.freed !== null;
  }
  const woken: boolean[] = [];
  for (let n = 0; n < limits.wakesMax + 2; n += 1) woken.push(await turn(`p${n}`, n === 0));
  expect(woken).toEqual([true, true, true, false, false]);
  expect(await turn("p9", true)).toBe(true);
});

test("while nobody waits, steps are not looked at", () => {
  w.edit("a", "x");
  w.edit("b", "x");
  const { looks } = w;
  w.turnEnds("a");
  expect(w.looks).toBe(looks);
});

function named(file: string) {
  return { file, lexical: `/p/${file}`, key: `n:/p/${file}` };
}

describe("a session whose work others changed", () => {
  const noticed = (more: Partial<Led> = {}): Led => ({ ...leadsNobody, hasNotice: () => true, ...more });

  test("is woken at once when it stops without having heard of it, at most once a minute", async () => {
    const stops = async (led = noticed()) => {
      const wait = w.stop("b", "p1", new FakeHook(), led);
      await wait.done;
      return [wait.freed, wait.hook.parked];
    };
    expect(await stops(leadsNobody)).toEqual([null, 0]);
    expect(await stops()).toEqual(["notice", 0]);
    expect(await stops()).toEqual([null, 0]);
    w.clock.pass(limits.wakeNoticeMs - 1);
    // A prompt does not make it sooner.
    w.wakes.prompted("b", "p2", true);
    expect(await stops()).toEqual([null, 0]);
    w.clock.pass(1);
    expect(await stops()).toEqual(["notice", 0]);
    expect(await stops(noticed({ hasAlarm: () => true }))).toEqual(["stalled", 0]);
    w.clock.pass(limits.wakeNoticeMs);
    expect(await stops()).toEqual(["notice", 0]);
    w.clock.pass(limits.wakeNoticeMs);
    // It was woken as often as it may be until a person writes.
    expect(await stops()).toEqual([null, 0]);
  });

  test("is woken while its hook waits for something else", async () => {
    let has = false;
    w.edit("a", "x");
    w.edit("b", "x");
    const wait = w.stop("b", "p1", new FakeHook(), noticed({ hasNotice: () => has }));
    await settle();
    expect(wait.freed).toBeUndefined();
    has = true;
    w.wakes.stepped("work_taken", []);
    await wait.done;
    expect(wait.freed).toBe("notice");
  });
});

describe("a lead that stops", () => {
  let alarm = false;
  const led: Led = { ...leadsNobody, isAtWork: true, hasAlarm: () => alarm };

  beforeEach(() => {
    alarm = false;
  });

  test("waits while agents of its work, and is woken when one of them stalls", async () => {
    const wait = w.stop("b", "p1", new FakeHook(), led);
    await settle();
    expect([wait.freed, wait.hook.parked]).toEqual([undefined, 1]);
    w.wakes.alarmed("b");
    w.clock.pass(limits.wakeLeadMs - 1);
    await settle();
    expect(wait.freed).toBeUndefined();
    alarm = true;
    w.wakes.alarmed("c");
    await settle();
    expect(wait.freed).toBeUndefined();
    w.wakes.alarmed("b");
    await wait.done;
    expect(wait.freed).toBe("stalled");
    expect(wait.hook.connection.ties.size).toBe(0);
  });

  test("is woken at once if one stalled before, and for a file that is free, too", async () => {
    alarm = true;
    const first = w.stop("b", "p1", new FakeHook(), { ...led, isAtWork: false });
    await first.done;
    expect(first.freed).toBe("stalled");
    alarm = false;
    w.edit("a", "x");
    w.edit("b", "x");
    const second = w.stop("b", "p1", new FakeHook(), led);
    w.turnEnds("a");
    await second.done;
    expect(second.freed).toMatchObject({ file: "/p/x" });
  });

  test("is woken so often and no more, until a person writes to it", async () => {
    alarm = true;
    for (let n = 0; n < limits.wakesMax; n += 1) {
      const wait = w.stop("b", `p${n}`, new FakeHook(), led);
      await wait.done;
      expect(wait.freed).toBe("stalled");
      w.wakes.prompted("b", `p${n + 1}`, false);
    }
    const last = w.stop("b", "p9", new FakeHook(), led);
    await last.done;
    expect(last.freed).toBeNull();
    w.wakes.prompted("b", "p10", true);
    const again = w.stop("b", "p10", new FakeHook(), led);
    await again.done;
    expect(again.freed).toBe("stalled");
  });

  test("is let go after its time, and by the next prompt", async () => {
    const long = w.stop("b", "p1", new FakeHook(), led);
    w.clock.pass(limits.wakeLeadMs);
    await long.done;
    expect(long.freed).toBeNull();
    const next = w.stop("b", "p1", new FakeHook(), led);
    w.wakes.prompted("b", "p2", false);
    await next.done;
    expect(next.freed).toBeNull();
  });
});

describe("an author that stops", () => {
  const cameBack = { merge: "mg-5-1", branch: "a", base: "main" };
  let returned: typeof cameBack | null = null;
  const author: Led = { ...leadsNobody, hasBranch: true, cameBack: () => returned };
  const merged = () => ({ event: { event: "merge_changed" } }) as unknown as CoreEvent;

  beforeEach(() => {
    returned = null;
  });

  test("waits as long as a lead while somebody may merge its branch, and is woken when the merge comes back", async () => {
    const wait = w.stop("b", "p1", new FakeHook(), author);
    w.clock.pass(limits.wakeLeadMs - 1);
    w.wakes.stepped("merge_report", [merged()]);
    await settle();
    expect([wait.freed, wait.hook.parked]).toEqual([undefined, 1]);
    returned = cameBack;
    w.wakes.stepped("merge_report", [merged()]);
    await wait.done;
    expect(wait.freed).toBe("came_back");
  });

  test("is woken at once by one that came back before, also if it has no branch now", async () => {
    returned = cameBack;
    const wait = w.stop("b", "p1", new FakeHook(), { ...author, hasBranch: false });
    await wait.done;
    expect([wait.freed, wait.hook.parked]).toEqual(["came_back", 0]);
  });
});
