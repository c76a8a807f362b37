/** Machines that are away: what the others may do then, what is shown without a store, and how a machine comes back. */
import { afterAll, describe, expect, it } from "vitest";
import { idInCopy } from "../../../daemon/store/rows.ts";
import { withServer } from "../../store/postgres-world.ts";
import {
  answeredBeforeTheLock,
  answerLost,
  backUnasked,
  cameAlone,
  ended,
  givenOutOnce,
  goneUnasked,
  repeatedAtANewStart,
  silentWithTheLock,
} from "./cases.ts";
import { buildNode } from "./history.ts";
import type { Machine } from "./machine.ts";
import { project, SmallWorld, tasksIn, until } from "./small-world.ts";

const timeout = 120_000;

await withServer("machines that are away", async (server, bin) => {
  const { program, remove } = await buildNode();
  afterAll(remove);
  const make = () => SmallWorld.make({ server, bin, program });
  const claim = (task: string) => ({ what: "claim", task }) as const;

  describe("the claims of a machine", { timeout }, () => {
    it.each([
      ["that is dead", (machine: Machine) => machine.kill()],
      [
        "that has no network",
        async (machine: Machine) => {
          machine.isCutOff = true;
        },
      ],
      ["whose process stands still", async (machine: Machine) => machine.signal("SIGSTOP")],
    ])("%s become free, and it begins anew", async (_, lose) => {
      const world = await make();
      const [ash, elm] = await world.startAll("ash", "elm");
      const [task = ""] = await world.create(ash, "one");
      expect((await world.ask(ash, claim(task))).ok).toBe(true);
      await lose(ash);
      await until(
        () => world.ask(elm, claim(task)),
        ({ ok }) => ok,
      );
      ash.heal();
      await ash.reached();
      expect(await world.ask(ash, claim(task))).toMatchObject({ ok: false, code: "task_claimed" });
      const done = await world.ask(ash, { what: "done", task, text: "of before" });
      expect(done).toMatchObject({ ok: false, code: "task_claimed" });
      expect(await world.settled(ash, elm)).toEqual([]);
    });
  });

  it("the claims of a dead machine become free though nobody asks", { timeout }, async () => {
    await goneUnasked(await make());
  });

  it("a machine that was ended meanwhile begins anew though nobody asks", { timeout }, async () => {
    await backUnasked(await make());
  });

  it("sessions that come while nobody else writes are there", { timeout }, async () => {
    await cameAlone(await make());
  });

  it("a machine that stops answering with the lock does not keep the others waiting", {
    timeout,
  }, async () => {
    await silentWithTheLock(await make());
  });

  it("a request that was answered as not done is not done later", { timeout }, async () => {
    await answeredBeforeTheLock(await make());
  });

  it("a request whose answer was lost may have been done", { timeout }, async () => {
    await answerLost(await make());
  });

  it("a request that is repeated at a new start is done once", { timeout }, async () => {
    await repeatedAtANewStart(await make());
  });

  it("a machine that shares a project no more has no sessions in it", { timeout }, async () => {
    await ended(await make());
  });

  it("a letter on its way is given out once", { timeout }, async () => {
    await givenOutOnce(await make());
  });

  it("a start without the store shows what was kept", { timeout }, async () => {
    const world = await make();
    const [ash, elm] = await world.startAll("ash", "elm");
    await world.create(ash, "kept");
    await ash.stop();
    ash.isCutOff = true;
    ash.up();
    expect(tasksIn(await ash.dump(project))).toEqual(["kept"]);
    const refused = await world.ask(ash, { what: "create", text: "lost", dependsOn: [] });
    expect(refused).toMatchObject({ ok: false, code: "store_away" });
    await world.create(elm, "later");
    ash.isCutOff = false;
    await ash.reached();
    expect(await world.settled(ash, elm)).toEqual([]);
    expect(tasksIn(await ash.dump(project))).toEqual(["kept", "later"]);
  });

  it("a message whose answer was lost with its daemon is shown again", { timeout }, async () => {
    const world = await make();
    const [ash, elm] = await world.startAll("ash", "elm");
    const text = "to be read";
    expect(await world.ask(ash, { what: "send", to: "s1@elm", text })).toMatchObject({ ok: true });
    // A copy gives out what it has heard of.
    const taken = () =>
      until(
        () => world.ask(elm, { what: "take" }),
        reply => (reply as { readonly messages?: readonly unknown[] }).messages?.length === 1,
      );
    const shown = { ok: true, messages: [expect.objectContaining({ text })] };
    expect(await taken()).toMatchObject(shown);
    await elm.kill();
    elm.up();
    await elm.reached();
    expect(await taken()).toMatchObject(shown);
    expect(await world.settled(ash, elm)).toEqual([]);
  });

  it("sessions of any id are told apart from those of other machines", { timeout }, async () => {
    const world = await make();
    const ash = await world.start("ash", { sessions: ["ann", "ann@elm", "ann@@elm"] });
    const elm = await world.start("elm", { sessions: ["ann", "ann@ash", "@"] });
    await Promise.all([ash, elm].map(machine => machine.reached()));
    const takers: string[] = [];
    for (const machine of [ash, elm])
      for (const { id } of machine.sessionsOf(project)) {
        const [task = ""] = await world.create(machine, `of ${id} at ${machine.node}`);
        // What has an `@` of its own keeps its ending, so that nobody takes it for another machine's.
        const assignee = idInCopy(id, machine);
        expect(await world.ask(machine, claim(task), id)).toMatchObject({ ok: true, task: { assignee } });
        takers.push(task);
      }
    expect(await world.settled(ash, elm)).toEqual([]);
    const rows = Object.entries((await ash.dump(project)).rows);
    expect(rows.filter(([key]) => key.startsWith("sessions "))).toHaveLength(6);
    const claimers = rows.flatMap(([key, value]) =>
      key.startsWith("tasks ") ? [JSON.parse(value).state.claimer.session as string] : [],
    );
    expect(new Set(claimers).size).toBe(takers.length);
  });

  it("a text of any characters is kept, and hides no other row from people", { timeout }, async () => {
    const world = await make();
    const [ash, elm] = await world.startAll("ash", "elm");
    const texts = ["plain", "a \u0000 b", "half \ud800", 'it\'s \\ "quoted"', "\u2028 😀"];
    await world.create(ash, ...texts);
    expect(await world.settled(ash, elm)).toEqual([]);
    expect(tasksIn(await elm.dump(project))).toEqual([...texts].sort());
    expect(await world.database.sql("SELECT description FROM kite.tasks")).toHaveLength(texts.length);
  });
});
