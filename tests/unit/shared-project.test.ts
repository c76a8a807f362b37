/** The steps of a shared project: what is left when one fails at any point. */
import { describe, expect, it, vi } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { Copy, type StoredRow } from "../../daemon/store/copy.ts";
import { desk, laptop, mainAgent, present, wrongIn } from "./shared-copy-world.ts";
import { FakeServer, Member, serverError } from "./shared-project-world.ts";
import { claimOf, createOf } from "./task-world.ts";

const create = (description: string): Command =>
  ({ ...createOf([{ description }], "ann"), project: laptop.project }) as Command;

/** A project that the laptop has reached, with a session of its. */
async function joined(times = {}) {
  const server = new FakeServer();
  const member = new Member(server, laptop, times);
  member.present = [present("ann")];
  await member.store.reach();
  return { server, member };
}

const sessionsIn = (server: FakeServer) =>
  [...server.rows.values()].flatMap(({ row: [kind, key, value] }) =>
    kind === "sessions" && value !== null ? [key] : [],
  );
const tasksIn = ({ project }: Member) =>
  [...project.state.tasks.all.values()].map(({ description }) => description);

describe("a step of a shared project", () => {
  it("is guessed when nobody else wrote, and done under the lock after somebody did", async () => {
    const { server, member } = await joined();
    expect(sessionsIn(server)).toEqual(["ann@n1"]);
    expect(await member.do(create("one"))).toMatchObject({ ok: true });
    const other = new Member(server, desk);
    await other.store.reach();
    expect(
      await other.do({ ...createOf([{ description: "two" }]), project: desk.project } as Command),
    ).toMatchObject({ ok: true });
    expect(await member.do(create("three"))).toMatchObject({ ok: true });
    expect(tasksIn(member)).toEqual(["one", "two", "three"]);
    expect(member.project.stats).toMatchObject({ missed: 1, reloads: 0 });
    expect(wrongIn({ state: member.project.state } as Copy)).toEqual([]);
  });

  it("is not known to be undone while an earlier try of it may be done", async () => {
    const { server, member } = await joined({ answerMs: 30 });
    const request = { id: "r", digest: "" };
    let release = () => {};
    const held = new Promise<void>(resolve => {
      release = resolve;
    });
    member.connection.before = text => (text.includes("step(") ? held : Promise.resolve());
    const ask = async () => (await member.project.submit(create("one"), request)).reply;
    expect(await ask()).toMatchObject({ code: "outcome_unknown" });
    // Its client asks again, and neither is the second try done in time.
    expect(await ask()).toMatchObject({ code: "outcome_unknown" });
    const { refusal } = member.store;
    member.store.refusal = { ok: false, code: "store_away", error: "away" };
    expect(await ask()).toMatchObject({ code: "outcome_unknown" });
    // What was never sent was not done.
    const other = { id: "s", digest: "" };
    expect((await member.project.submit(create("two"), other)).reply).toMatchObject({ code: "store_away" });
    member.store.refusal = refusal;
    release();
    await member.store.quiet();
    expect(await ask()).toMatchObject({ ok: true });
    await member.store.quiet();
    expect(tasksIn(member)).toEqual(["one"]);
    expect(server.rows.size).toBeGreaterThan(0);
    // Its outcome is known from then on.
    member.store.refusal = { ok: false, code: "store_away", error: "away" };
    expect(await ask()).toMatchObject({ code: "store_away" });
  });

  it("calls this machine what the store calls it, also when the copy was there before", async () => {
    const { server, member } = await joined();
    member.store.lose();
    Object.assign(member.store.options, { machine: "laptop-2" });
    await member.store.reach();
    expect(await member.do(create("one"))).toMatchObject({ ok: true });
    const [row = ""] = [...server.rows.values()].flatMap(({ row: [kind, , value] }) =>
      kind === "tasks" ? [value] : [],
    );
    expect(JSON.parse(String(row))).toMatchObject({ createdBy: { id: "ann@n1", name: "ann@laptop-2" } });
  });

  it("tells of sessions again after the server refused it", async () => {
    const { server, member } = await joined();
    member.connection.failures.push(
      { of: /step\(/, with: serverError("55P03") },
      { of: /FOR UPDATE/, with: serverError("55P03") },
    );
    member.present = [];
    member.project.presentChanged();
    await member.store.quiet();
    expect(sessionsIn(server)).toEqual(["ann@n1"]);
    member.connection.failures.length = 0;
    member.project.look();
    await member.store.quiet();
    expect(sessionsIn(server)).toEqual([]);
  });

  it("begins the machine's sessions anew when another machine ended them", async () => {
    const { server, member } = await joined();
    server.write("n2", [["sessions", "ann@n1", null]]);
    member.project.look(server.version);
    await member.store.quiet();
    expect(sessionsIn(server)).toEqual(["ann@n1"]);
    expect(member.project.state.sessions.live.has("ann")).toBe(true);
  });

  it("begins them anew in a store that was restored, while the connection stays", async () => {
    const { server, member } = await joined();
    await member.do(create("one"));
    const { version } = server;
    Object.assign(server, { version: version - 1, stamp: "restored" });
    server.rows.clear();
    server.steps.length = 0;
    member.project.look();
    await member.store.quiet();
    expect(sessionsIn(server)).toEqual(["ann@n1"]);
    expect(tasksIn(member)).toEqual([]);
    expect(member.gaps).toHaveLength(1);
  });

  const unreadable: readonly (readonly [string, object])[] = [
    ["its counters", { head: '{"seq":"x"}' }],
    ["its events", { events: "{" }],
  ];
  it.each(unreadable)(
    "leaves no transaction open if another one's cannot be read: %s",
    async (_what, damage) => {
      const { server, member } = await joined();
      server.write("n2", [], damage);
      void member.project.submit(create("one"));
      await member.store.quiet();
      expect(member.store.troubles).not.toEqual([]);
      expect(member.connection.isOpen).toBe(false);
      member.store.lose();
    },
  );

  it("is given up if a command throws, and the copy is read anew although the connection is lost meanwhile", async () => {
    const { server, member } = await joined();
    await member.do(create("one"));
    const before = server.version;
    const apply = vi.spyOn(Copy.prototype, "apply").mockImplementationOnce(function (this: Copy, command) {
      apply.mockRestore();
      this.apply(command);
      throw new Error("a bug");
    });
    member.connection.failures.push({ of: /SELECT id FROM/, with: new Error("the connection broke") });
    expect(await member.do(create("two"))).toMatchObject({ ok: false, code: "internal_error" });
    member.store.lose();
    await member.store.reach();
    expect(tasksIn(member)).toEqual(["one"]);
    expect(server.version).toBe(before);
    expect(await member.do(create("three"))).toMatchObject({ ok: true });
    expect(wrongIn({ state: member.project.state } as Copy)).toEqual([]);
  });

  it("is not tried again and again if the look at sessions throws", async () => {
    const { member } = await joined();
    const apply = vi.spyOn(Copy.prototype, "apply").mockImplementation(() => {
      throw new Error("a bug");
    });
    const before = member.connection.texts.length;
    member.present = [];
    member.project.presentChanged();
    for (let i = 0; i < 20; i += 1) await member.store.quiet();
    expect(member.connection.texts.length - before).toBeLessThan(20);
    apply.mockRestore();
    member.project.presentChanged();
    await member.store.quiet();
    expect(sessionsIn(member.store.server)).toEqual([]);
  });

  it("gives letters back that nobody waits for any more", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { member } = await joined();
      const send = {
        type: "message_send",
        actor: null,
        to: "ann",
        text: "hi",
        bytes: 2,
        replyTo: null,
        urgent: false,
      };
      await member.do({ ...send, project: laptop.project, wallMs: 1 } as Command);
      // A step is under way, so the letters wait for the next one.
      member.connection.before = text => {
        if (text.includes("step(")) vi.advanceTimersByTime(60_000);
      };
      const made = member.project.submit(create("one"));
      const taken = member.project.submit({
        type: "inbox_take",
        actor: mainAgent("ann"),
        max: 5,
        chars: 100,
      });
      void member.project.submit(create("two"));
      expect((await made).reply).toMatchObject({ ok: false });
      expect((await taken).reply).toMatchObject({ ok: false });
      member.connection.before = () => {};
      member.project.look();
      await member.store.quiet();
      const letters = [...member.project.state.messages.all.values()].flatMap(one => [
        ...one.letters.values(),
      ]);
      expect(letters).toMatchObject([{ state: "unread" }]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("ends the sessions of a clone that shares the project no more, and the project asks no more", async () => {
    const { server, member } = await joined();
    const rest = [present("bob")];
    member.present = [present("ann"), ...rest];
    member.project.presentChanged();
    await member.store.quiet();
    member.present = rest;
    member.project.end();
    await member.store.quiet();
    expect(sessionsIn(server)).toEqual(["bob@n1"]);
    expect(member.store.projects.size).toBe(0);
  });
});

describe("a request of a shared project", () => {
  it("is done once although its commit's answer was lost", async () => {
    const { server, member } = await joined();
    member.connection.before = text => {
      if (!text.includes("step(")) return;
      member.connection.runAndLose(text);
    };
    const answer = member.project.submit(create("one"), { id: "r1", digest: "d" });
    await member.store.quiet();
    member.store.lose();
    await member.store.reach();
    expect((await answer).reply).toMatchObject({ ok: true });
    expect(tasksIn(member)).toEqual(["one"]);
    const stored = [...server.rows.values()]
      .filter(({ row }) => row[0] === "tasks")
      .map(({ row }: { row: StoredRow }) => row[2]);
    expect(stored).toHaveLength(1);
  });

  it("with another body under the same id is refused", async () => {
    const { member } = await joined();
    await member.project.submit(create("one"), { id: "r1", digest: "d" });
    const [again, other] = await Promise.all([
      member.project.submit(create("one"), { id: "r1", digest: "d" }),
      member.project.submit(create("two"), { id: "r1", digest: "e" }),
    ]);
    expect(again.reply).toMatchObject({ ok: true });
    expect(other.reply).toMatchObject({ ok: false, code: "request_conflict" });
    expect(tasksIn(member)).toEqual(["one"]);
  });

  it("is refused under the lock alone", async () => {
    const { member } = await joined();
    await member.do(create("one"));
    const before = member.connection.texts.length;
    expect(
      await member.do({ ...claimOf("ann", "t-gone-1"), project: laptop.project } as Command),
    ).toMatchObject({ ok: false });
    expect(member.connection.texts.slice(before).some(text => text.includes("FOR UPDATE"))).toBe(true);
  });
});
