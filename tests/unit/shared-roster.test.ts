/** Who is there on a machine, as rows of a shared project. */
import { describe, expect, it } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { compareSessions } from "../../daemon/store/roster.ts";
import { limits } from "../../protocol/limits.ts";
import { desk, laptop, mainAgent, present, StoreWorld, storedFormsOf, wrongIn } from "./shared-copy-world.ts";
import { claimOf, createOf } from "./task-world.ts";

const inShop = { project: laptop.project };

/** A project of two machines, with tasks that nobody has. */
function shop(...tasks: readonly string[]) {
  const world = new StoreWorld();
  const copy = world.join(laptop);
  const other = world.join(desk);
  if (tasks.length > 0)
    world.do(copy, { ...createOf(tasks.map(description => ({ description }))), ...inShop } as Command);
  const claim = (actor: ReturnType<typeof mainAgent>) => {
    const [done] = world.do(copy, { ...claimOf(actor), ...inShop } as Command);
    if (done?.reply.ok !== true) throw new Error(JSON.stringify(done?.reply));
  };
  /** Who has each task, as the other machine sees it. */
  const claimers = () =>
    [...other.state.tasks.all.values()].map(({ state }) =>
      state.status === "active" && state.claimer !== null
        ? `${state.claimer.session} ${state.claimer.agent ?? "-"} ${state.claimer.incarnation}`
        : state.status,
    );
  /** The names of this machine's sessions and their agents, as the other machine sees them. */
  const seen = () =>
    [...other.state.sessions.live.values()].map(({ name, agents }) => [name, ...agents.values()].join(" "));
  const letters = (id: string) =>
    [...copy.state.messages.all.values()].flatMap(one =>
      [...one.letters.values()].filter(({ to }) => to.id === id).map(({ state }) => `${one.text} ${state}`),
    );
  const send = (to: string, text: string) =>
    world.do(copy, {
      ...{ type: "message_send", actor: null, to, text, bytes: 2, replyTo: null, urgent: false, wallMs: 1 },
      ...inShop,
    });
  return { world, copy, other, claim, claimers, seen, letters, send };
}

const terminals = (...ordinals: readonly number[]) =>
  ordinals.map(ordinal => ({ ordinal, begun: 1, anchor: null }));

describe("sessions of a machine in a shared project", () => {
  it("begin, and others see them with their machine", () => {
    const { world, copy, other, seen } = shop();
    world.compare(copy, present("a", { name: "ann", branch: "dev", client: "claude", registeredAt: 77 }));
    expect(seen()).toEqual(["ann@laptop"]);
    expect(other.state.sessions.live.get("a@n1")).toMatchObject({
      ...{ node: "n1", branch: "dev", client: "claude", registeredAt: 77, cwd: "", worktree: "" },
      project: desk.project,
    });
  });

  it("tell the store nothing when nothing changed", () => {
    const { world, copy } = shop();
    const those = [
      present("a", { agents: new Map([["x1", "sub"]]), incarnations: terminals(0, 2) }),
      present("b@c", { name: "bob@home", client: "codex" }),
      present("person", { name: "feat/x" }),
    ];
    expect(world.compare(copy, ...those).stored).not.toEqual([]);
    expect(world.compare(copy, ...those).stored).toEqual([]);
    expect(world.compare(copy, ...those).changes).toEqual([]);
  });

  it("have no path and no process of the machine in their rows", () => {
    const { world, copy } = shop();
    const anchor = { pid: 4_242, startTime: "9_999" } as never;
    world.compare(copy, present("a", { incarnations: [{ ordinal: 0, begun: 1, anchor }] }));
    const text = JSON.stringify([...storedFormsOf(copy).values()]);
    for (const own of [laptop.project, "4242", "9_999"]) expect(text).not.toContain(own);
  });

  it("are renamed, and change their branch and client", () => {
    const { world, copy, other, seen } = shop();
    world.compare(copy, present("a", { name: "ann" }));
    world.compare(copy, present("a", { name: "anna", branch: "next", client: "codex" }));
    expect(seen()).toEqual(["anna@laptop"]);
    expect(other.state.sessions.live.get("a@n1")).toMatchObject({ branch: "next", client: "codex" });
    world.compare(copy, present("a", { name: "anna", branch: "last", client: "codex" }));
    expect(other.state.sessions.live.get("a@n1")?.branch).toBe("last");
    world.compare(copy, present("a", { name: "anna", branch: "last", client: "claude" }));
    expect(other.state.sessions.live.get("a@n1")?.client).toBe("claude");
  });

  it("swap their names within one step", () => {
    const { world, copy, other, seen } = shop();
    world.compare(copy, present("a", { name: "ann" }), present("b", { name: "bob" }));
    world.compare(copy, present("a", { name: "bob" }), present("b", { name: "ann" }));
    world.compare(copy, present("a", { name: "bob" }), present("b", { name: "ann" }));
    expect(seen().sort()).toEqual(["ann@laptop", "bob@laptop"]);
    expect(wrongIn(other)).toEqual([]);
  });

  it("give their claims back when they end", () => {
    const { world, copy, claim, claimers, seen } = shop("one");
    world.compare(copy, present("a"));
    claim(mainAgent("a"));
    expect(claimers()).toEqual(["a@n1 - 0"]);
    world.compare(copy);
    expect(claimers()).toEqual(["pending"]);
    expect(seen()).toEqual([]);
  });

  it("leave the sessions of other machines alone", () => {
    const { world, copy, other } = shop();
    world.compare(other, present("b"));
    world.compare(copy, present("a"));
    world.compare(copy);
    expect([...other.state.sessions.live.keys()]).toEqual(["b"]);
  });

  it("are others if they began later under the same id", () => {
    const { world, copy, claim, claimers, other, letters, send } = shop("one");
    world.compare(copy, present("a"));
    claim(mainAgent("a"));
    send("a", "for the first");
    world.compare(copy, present("a", { registeredAt: 2 }));
    expect(claimers()).toEqual(["pending"]);
    expect(letters("a")).toEqual([]);
    expect(other.state.sessions.live.get("a@n1")?.registeredAt).toBe(2);
    expect(wrongIn(other)).toEqual([]);
  });

  it("come back after another machine ended them", () => {
    const { world, copy, other, seen, claim, claimers } = shop("one");
    world.compare(copy, present("a"));
    claim(mainAgent("a"));
    world.do(other, { type: "session_end", session: "a@n1", incarnation: null, cause: "ended" });
    expect([seen(), claimers()]).toEqual([[], ["pending"]]);
    world.compare(copy, present("a"));
    expect(seen()).toEqual(["a@laptop"]);
  });

  it("are at most as many as may be, and none of another machine's goes", () => {
    const { world, copy, other } = shop();
    const many = (from: string, count: number) =>
      Array.from({ length: count }, (_, i) => present(`${from}${i}`));
    world.compare(other, ...many("o", 2));
    world.compare(copy, ...many("a", limits.sessionsMax + 3));
    expect(other.state.sessions.live.size).toBe(limits.sessionsMax);
    expect(other.state.sessions.byNode.get("n2")?.size).toBe(2);
    expect(world.compare(copy, ...many("a", limits.sessionsMax + 3)).stored).toEqual([]);
    expect(wrongIn(other)).toEqual([]);
  });
});

describe("a session that goes on under another id", () => {
  it("takes its claims and unread messages along", () => {
    const { world, copy, claim, claimers, letters, seen, send } = shop("one", "two");
    world.compare(copy, present("a", { name: "ann" }));
    claim(mainAgent("a"));
    send("ann", "hi");
    world.compare(copy, present("b", { name: "ann", registeredAt: 2, before: ["a"] }));
    expect(claimers()).toEqual(["b@n1 - 0", "pending"]);
    expect(letters("b")).toEqual(["hi unread"]);
    expect(seen()).toEqual(["ann@laptop"]);
    expect(wrongIn(copy)).toEqual([]);
  });

  it("takes them along if it did so twice since the last step", () => {
    const { world, copy, claim, claimers, letters, send } = shop("one");
    world.compare(copy, present("a"));
    claim(mainAgent("a"));
    send("a", "hi");
    world.compare(copy, present("c", { name: "a", registeredAt: 3, before: ["b", "a"] }));
    expect(claimers()).toEqual(["c@n1 - 0"]);
    expect(letters("c")).toEqual(["hi unread"]);
  });

  it("begins as any other if nothing is known of what it was before", () => {
    const { world, copy, seen } = shop();
    world.compare(copy, present("b", { before: ["a"] }));
    expect(seen()).toEqual(["b@laptop"]);
    expect(world.compare(copy, present("b", { before: ["a"] })).stored).toEqual([]);
  });

  it("takes nothing from a session that is still there", () => {
    const { world, copy, claim, claimers } = shop("one");
    world.compare(copy, present("a"));
    claim(mainAgent("a"));
    world.compare(copy, present("a"), present("b", { before: ["a"] }));
    expect(claimers()).toEqual(["a@n1 - 0"]);
  });
});

describe("agents within a session", () => {
  const withAgents = (...agents: readonly (readonly [string, string])[]) =>
    present("a", { agents: new Map(agents) });

  it("come, get their name, claim tasks and go", () => {
    const { world, copy, claim, claimers, seen } = shop("one");
    world.compare(copy, withAgents(["0123456789abcdef", "01234567"]));
    world.compare(copy, withAgents(["0123456789abcdef", "tester"]));
    expect(seen()).toEqual(["a@laptop tester"]);
    claim(mainAgent("a", "0123456789abcdef"));
    expect(claimers()).toEqual(["a@n1 0123456789abcdef 0"]);
    world.compare(copy, withAgents());
    expect(seen()).toEqual(["a@laptop"]);
  });

  it("have the name of the later one if another one began under the id meanwhile", () => {
    const { world, copy, seen } = shop();
    world.compare(copy, withAgents(["x", "tester"]));
    world.compare(copy, withAgents(["x", "writer"]));
    expect(seen()).toEqual(["a@laptop writer"]);
    expect(world.compare(copy, withAgents(["x", "writer"])).stored).toEqual([]);
  });

  it("tell the store nothing of a session for which there is no room", () => {
    const { world, copy } = shop();
    const many = Array.from({ length: limits.sessionsMax }, (_, i) => present(`s${i}`));
    world.compare(copy, ...many);
    const changes = world.plan(
      copy,
      () => void compareSessions(copy, [...many, withAgents(["x", "tester"])]),
    );
    expect(changes.stored).toEqual([]);
  });
});

describe("terminals of a session", () => {
  it("come, and give their claims back when they close", () => {
    const { world, copy, claim, claimers } = shop("one", "two");
    world.compare(copy, present("a"));
    world.compare(copy, present("a", { incarnations: terminals(0, 1) }));
    claim({ ...mainAgent("a"), incarnation: 0 });
    claim({ ...mainAgent("a"), incarnation: 1 });
    expect(claimers()).toEqual(["a@n1 - 0", "a@n1 - 1"]);
    world.compare(copy, present("a", { incarnations: terminals(0) }));
    expect(claimers()).toEqual(["a@n1 - 0", "pending"]);
  });

  it("may all be others than at the last step, and the session goes on", () => {
    const { world, copy, claim, claimers, other } = shop("one");
    world.compare(copy, present("a"));
    claim(mainAgent("a"));
    world.compare(copy, present("a", { incarnations: terminals(3, 4) }));
    expect(other.state.sessions.live.get("a@n1")?.incarnations.map(({ ordinal }) => ordinal)).toEqual([3, 4]);
    expect(claimers()).toEqual(["pending"]);
    expect(world.compare(copy, present("a", { incarnations: terminals(3, 4) })).stored).toEqual([]);
  });

  it("are told with the session that begins", () => {
    const { world, copy, other } = shop();
    world.compare(copy, present("a", { incarnations: terminals(1, 2) }));
    expect(other.state.sessions.live.get("a@n1")?.incarnations.map(({ ordinal }) => ordinal)).toEqual([1, 2]);
    expect(wrongIn(other)).toEqual([]);
  });
});

describe("what a look at sessions tells", () => {
  it("is each event once, and none if nothing changed", () => {
    const { world, copy, claim } = shop("one");
    const events: string[] = [];
    const compare = (...those: ReturnType<typeof present>[]) => {
      const changes = world.plan(copy, () => {
        events.push(...compareSessions(copy, those).map(({ event }) => event.event));
      });
      world.commit(copy, changes);
    };
    compare(present("a"));
    compare(present("a"));
    claim(mainAgent("a"));
    compare();
    compare();
    expect(events).toEqual(["session_started", "task_released", "task_ready", "session_ended"]);
  });
});
