/** This machine's log and a shared project, as one log: which command goes where, and what its caller hears. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Actor, Retry } from "../../daemon/core/frame/actors.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import type { Caller } from "../../daemon/engine/answers.ts";
import type { Engine } from "../../daemon/engine/engine.ts";
import { ownView } from "../../daemon/engine/log-view.ts";
import { type Answer, type RequestId, SharedProject } from "../../daemon/store/project.ts";
import { SharedLog } from "../../daemon/store/shared-log.ts";
import { type Store, storeLimits } from "../../daemon/store/store.ts";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { actor, World } from "./core-world.ts";
import { claimOf, createOf } from "./task-world.ts";

interface Asked {
  readonly command: Command;
  readonly request: RequestId | undefined;
  readonly answer: (reply: Reply) => void;
}

/** A machine with a shared project `/shop`, and one of its own, `/own`. What the store hears waits for an answer. */
class Scene {
  readonly world = new World();
  readonly clock = new SimulatedClock(1_000);
  readonly own: Command[] = [];
  readonly shared: Asked[] = [];
  readonly heard: Reply[] = [];
  refusal: Refusal | null = null;
  ownReply: Reply = { ok: true, own: true };
  readonly log: SharedLog;

  constructor() {
    const { world } = this;
    world.begin("ann", { name: "ann", project: "/shop" });
    world.begin("bob@home", { name: "bob", project: "/shop" });
    world.begin("cat", { name: "cat", project: "/own" });
    vi.spyOn(SharedProject.prototype, "submit").mockImplementation((command, request) => {
      return new Promise<Answer>(resolve => {
        this.shared.push({ command, request, answer: reply => resolve({ reply, version: null }) });
      });
    });
    const own = {
      state: world.state,
      logOf: () => ownView({ state: world.state, now: 0 }),
      submit: (command: Command, caller: Caller) => {
        caller.answer(this.ownReply);
        return this.own.push(command);
      },
      submitWithRetry: (command: Command) => void this.own.push(command),
      submitAndWait: async (command: Command) => {
        this.own.push(command);
        return { ok: true };
      },
      close: async () => {},
    };
    const scene = this;
    const store = {
      options: { node: "n1", machine: "laptop", limits: storeLimits },
      machine: "laptop",
      table: (name: string) => name,
      get refusal() {
        return scene.refusal;
      },
      nowMs: 5,
      add: () => {},
      close: async () => {},
    };
    this.log = new SharedLog({
      ...{ own: own as unknown as Engine, store: store as unknown as Store, clock: this.clock, copies: null },
      ...{ onEvents: () => {}, onDone: () => {}, onGap: () => {}, onReached: () => {} },
    });
    this.log.open("/shop", "team/shop");
  }

  submit(command: object): number {
    return this.log.submit(command as Command, { answer: reply => this.heard.push(reply) });
  }

  /** Where the command goes: `own`, `shared`, both or neither. */
  to(command: object): string {
    this.submit(command);
    const found = [this.own.length > 0 ? "own" : "", this.shared.length > 0 ? "shared" : ""];
    return found.filter(one => one !== "").join(" ");
  }

  /** What the store was asked. */
  get asked(): Record<string, unknown> {
    const [one, more] = this.shared;
    if (one === undefined || more !== undefined) throw new Error(`${this.shared.length} are asked`);
    return one.command as unknown as Record<string, unknown>;
  }

  /** Kite itself writes to an agent in the machine's own log. */
  ownMail(session: string): string {
    const to = [{ id: session, agent: null, name: session }];
    this.world.do({
      ...{ type: "message_import", project: "/shop", from: null, to, text: "hi", bytes: 2, urgent: false },
      ...{ broadcast: false, at: 1 },
    });
    const [id] = [...this.world.state.messages.all.keys()].slice(-1);
    if (id === undefined) throw new Error("no message");
    return id;
  }
}

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});
afterEach(async () => {
  await scene.log.close();
  vi.restoreAllMocks();
});

const settled = () => new Promise(resolve => setImmediate(resolve));
const base = { project: "/own", wallMs: 1 };
const mail = (who: string | Actor | null, more: object = {}) => ({
  ...{ type: "message_send", actor: who === null ? null : actor(who), to: "x", text: "hi", bytes: 2 },
  ...{ replyTo: null, urgent: false, ...base, ...more },
});

describe("a command", () => {
  it.each<[string, object, string]>([
    ["a claim of an agent of a shared project", { ...claimOf("ann"), project: "/own" }, "shared"],
    ["a claim of another agent", { ...claimOf("cat"), project: "/shop" }, "own"],
    [
      "a task of a person for the shared project",
      { ...createOf([{ description: "x" }]), project: "/shop" },
      "shared",
    ],
    ["a task of a person for another one", { ...createOf([{ description: "x" }]), project: "/own" }, "own"],
    ["a message", mail("ann"), "shared"],
    ["a person's message", mail(null, { project: "/shop" }), "shared"],
    ["a person's message to another project", mail(null), "own"],
    ["a broadcast", { ...mail("ann"), type: "broadcast", hold: null }, "shared"],
    [
      "a broadcast that freezes files",
      { ...mail("ann"), type: "broadcast", hold: { files: [], ttlMs: 1 } },
      "own",
    ],
    ["an import of tasks", { type: "task_import", by: null, tasks: [{ project: "/shop" }] }, "shared"],
    ["a value that is read", { type: "context_read", project: "/shop", key: "k" }, "shared"],
    ["a lock", { type: "lock_release", actor: actor("ann"), files: "all" }, "own"],
    [
      "the end of a session",
      { type: "session_end", session: "ann", incarnation: null, cause: "ended" },
      "own",
    ],
    [
      "the beginning of one",
      { type: "session_begin", session: "dan", project: "/shop", anchor: null },
      "own",
    ],
  ])("goes to one log: %s", (_what, command, where) => {
    expect(scene.to(command)).toBe(where);
  });

  it.each([
    ["ann@laptop", "ann"],
    ["ann@laptop/Explore", "ann/Explore"],
    ["bob@desk", "bob@desk"],
    ["ann", "ann"],
    ["x@ann@laptop", "x@ann@laptop"],
  ])("names whom the others call %s as its own machine does", (to, here) => {
    scene.submit(mail("ann", { project: "/shop", to }));
    expect(scene.asked).toMatchObject({ to: here });
  });

  it("goes to each log that it is about, one after the other: an import", async () => {
    const tasks = [
      { project: "/shop", id: "a" },
      { project: "/own", id: "b" },
      { project: "/shop", id: "c" },
    ];
    scene.ownReply = { ok: true, imported: 1, skipped: [], debatesDropped: [] };
    scene.submit({ type: "task_import", by: null, tasks });
    expect(scene.asked).toMatchObject({ tasks: [{ id: "a" }, { id: "c" }] });
    expect(scene.own).toEqual([]);
    scene.shared[0]?.answer({ ok: true, imported: 1, skipped: ["c"], debatesDropped: [] });
    await settled();
    expect(scene.own).toMatchObject([{ tasks: [{ id: "b" }] }]);
    expect(scene.heard).toEqual([{ ok: true, imported: 2, skipped: ["c"], debatesDropped: [] }]);
  });

  it("goes to the own log when the project is shared no more", () => {
    scene.log.end("/shop");
    expect(scene.to(claimOf("ann"))).toBe("own");
  });

  it("is answered once, by the store", async () => {
    scene.submit(claimOf("ann"));
    await settled();
    expect(scene.heard).toEqual([]);
    scene.shared[0]?.answer({ ok: true, task: "t" });
    await settled();
    expect(scene.heard).toEqual([{ ok: true, task: "t" }]);
  });

  it.each([claimOf("zed"), mail("zed", { project: "/shop" })])(
    "of a session that is not registered is refused, and no log hears of it: %j",
    async command => {
      expect(scene.to({ ...command, project: "/shop" })).toBe("");
      expect(scene.heard).toEqual([]);
      await settled();
      expect(scene.heard).toMatchObject([{ ok: false, code: "unknown_session" }]);
    },
  );

  it("has no path of the machine, and calls its speaker as the copy does", () => {
    scene.submit({ ...claimOf("bob@home"), cwd: "/home/ann/secret" });
    expect(scene.asked["cwd"]).toBe("");
    expect(scene.asked["actor"]).toEqual(actor("bob@home@@n1"));
    expect(JSON.stringify(scene.asked)).not.toContain("secret");
  });

  it("has a number that no command of the own log has", () => {
    expect(scene.submit(claimOf("ann"))).toBeLessThan(0);
    expect(scene.submit(claimOf("ann"))).toBeLessThan(-1);
    expect(scene.submit(claimOf("cat"))).toBeGreaterThan(0);
  });

  it("tells its caller of a store that is away as a failure, if the caller knows one", async () => {
    const failed = vi.fn();
    scene.log.submit(claimOf("ann"), { answer: reply => scene.heard.push(reply), failed });
    scene.shared[0]?.answer(refuse("store_away", "away"));
    await settled();
    expect(failed).toHaveBeenCalledOnce();
    expect(scene.heard).toEqual([]);
  });
});

describe("a request that may be repeated", () => {
  const retry: Retry = { by: "ann", requestId: "r1", digest: "d1" };

  it("has an id of its own on each node, and its digest", () => {
    scene.submit({ ...claimOf("ann"), retry });
    expect(scene.shared[0]?.request).toEqual({ id: '["n1","ann","r1"]', digest: "d1" });
    expect(scene.asked).not.toHaveProperty("retry");
  });

  it("is not confused with one whose parts are joined otherwise", () => {
    const ids = [
      { by: 'a","b', requestId: "c" },
      { by: "a", requestId: 'b","c' },
    ].map(one => {
      scene.submit({ ...claimOf("ann"), retry: { ...retry, ...one } });
      return scene.shared.at(-1)?.request?.id;
    });
    expect(new Set(ids).size).toBe(2);
  });

  it("has none without an id of its client", () => {
    scene.submit(claimOf("ann"));
    expect(scene.shared[0]?.request).toBeUndefined();
  });
});

describe("an acknowledgement", () => {
  const ack = (...messages: readonly string[]) => ({ type: "message_ack", actor: actor("ann"), messages });

  it("goes to the store if its messages are there", () => {
    expect(scene.to(ack("ms-1", "ms-2"))).toBe("shared");
    expect(scene.asked["messages"]).toEqual(["ms-1", "ms-2"]);
  });

  it("goes to the own log if its messages are there", () => {
    expect(scene.to(ack(scene.ownMail("ann")))).toBe("own");
  });

  it("is split between both, and answered once", async () => {
    const own = scene.ownMail("ann");
    expect(scene.to(ack("ms-1", own))).toBe("own shared");
    expect(scene.own).toMatchObject([{ type: "message_ack", messages: [own] }]);
    expect(scene.asked["messages"]).toEqual(["ms-1"]);
    scene.shared[0]?.answer({ ok: true });
    await settled();
    expect(scene.heard).toEqual([{ ok: true }]);
  });

  it("of another agent's letter in the own log is the store's", () => {
    expect(scene.to(ack(scene.ownMail("cat")))).toBe("shared");
  });

  it("keeps what it says besides", () => {
    const own = scene.ownMail("ann");
    scene.submit({ ...ack("ms-1", own), read: true });
    expect([scene.own[0], scene.asked]).toMatchObject([{ read: true }, { read: true }]);
  });

  it("by an answer goes where the message is that it answers", () => {
    expect(scene.to(mail("ann", { to: null, replyTo: scene.ownMail("ann") }))).toBe("own");
  });
});

describe("messages for the answer to an event", () => {
  const take = { type: "inbox_take", actor: actor("ann"), max: 5, chars: 100 } as Command;
  const given: Reply = { ok: true, messages: [{ id: "ms-1" }, { id: "ms-2" }] };
  const asked = () => scene.shared.map(({ command }) => command.type);

  it("come from the store if it answers in time", async () => {
    const reply = scene.log.submitAndWait(take);
    scene.clock.pass(limits.storeHookMs - 1);
    scene.shared[0]?.answer(given);
    expect(await reply).toEqual(given);
    scene.clock.pass(60_000);
    expect(asked()).toEqual(["inbox_take"]);
  });

  it("are not waited for longer than an event may, and what comes late is unread again", async () => {
    const reply = scene.log.submitAndWait(take);
    scene.clock.pass(limits.storeHookMs);
    expect(await reply).toMatchObject({ ok: false, code: "store_away" });
    scene.shared[0]?.answer(given);
    await settled();
    expect(asked()).toEqual(["inbox_take", "inbox_told"]);
    expect(scene.shared[1]?.command).toMatchObject({ messages: ["ms-1", "ms-2"], heard: false });
  });

  it("are not asked for while the store was slow lately, and are again later", async () => {
    void scene.log.submitAndWait(take);
    scene.clock.pass(limits.storeHookMs);
    expect(await scene.log.submitAndWait(take)).toMatchObject({ ok: false, code: "store_away" });
    expect(asked()).toEqual(["inbox_take"]);
    scene.clock.pass(limits.storeHookPauseMs);
    void scene.log.submitAndWait(take);
    expect(asked()).toEqual(["inbox_take", "inbox_take"]);
  });

  it("of an agent of another project come from the own log", async () => {
    await scene.log.submitAndWait({ ...take, actor: actor("cat") } as Command);
    expect(scene.own).toHaveLength(1);
    expect(scene.shared).toEqual([]);
  });
});

describe("a command that is proposed until it is taken", () => {
  const told = { type: "inbox_told", actor: actor("ann"), messages: ["ms-1"], heard: false } as Command;

  it("goes again after a pause while the store is away, and once it was taken no more", async () => {
    scene.log.submitWithRetry(told);
    for (let i = 1; i <= 3; i += 1) {
      scene.shared.at(-1)?.answer(refuse("store_away", "away"));
      await settled();
      expect(scene.shared).toHaveLength(i);
      scene.clock.pass(limits.fullRetryMs);
      expect(scene.shared).toHaveLength(i + 1);
    }
    scene.shared.at(-1)?.answer({ ok: true });
    await settled();
    scene.clock.pass(60_000);
    expect(scene.shared).toHaveLength(4);
  });

  it("ends with its session", async () => {
    scene.log.submitWithRetry(told);
    scene.world.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
    scene.shared[0]?.answer(refuse("store_away", "away"));
    await settled();
    scene.clock.pass(60_000);
    await settled();
    expect(scene.shared).toHaveLength(1);
  });
});

describe("the view of a shared project", () => {
  it("is that of the project's copy, and all else is the own log's", () => {
    const view = scene.log.logOf("/shop");
    expect(view.state).toBe(scene.log.projectAt("/shop")?.state);
    expect(scene.log.logOf("/own").state).toBe(scene.world.state);
    expect(scene.log.logOf(null).state).toBe(scene.world.state);
    expect(scene.log.logs).toHaveLength(2);
  });

  it("calls an agent as the copy does", () => {
    const { actor: named } = scene.log.logOf("/shop");
    expect(named(actor("ann"))).toEqual(actor("ann"));
    expect(named(actor("bob@home"))).toEqual(actor("bob@home@@n1"));
  });

  it("says as of when it is while the store is away", () => {
    const view = scene.log.logOf("/shop");
    const project = scene.log.projectAt("/shop");
    if (project === undefined) throw new Error("no project");
    expect(view.asOfMs).toBeUndefined();
    scene.refusal = refuse("store_away", "away");
    expect(view.asOfMs).toBeNull();
    project.asOfMs = 77;
    expect(view.asOfMs).toBe(77);
  });

  it("goes on as the copy does, in its time too", () => {
    const view = scene.log.logOf("/shop");
    expect(view.now).toBe(5);
    view.state.t = 9;
    expect(view.now).toBe(9);
  });
});
