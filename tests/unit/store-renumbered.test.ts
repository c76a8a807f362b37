/** What an agent hears of a task that it works on when its project moves between the logs, also where the daemon is killed. */
import { expect, test } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { numberOf } from "../../daemon/core/tables/tasks.ts";
import { CopyRefused } from "../../daemon/sharing/copy.ts";
import { isSharedAs, moveAll, shareProject, takeBack } from "../../daemon/sharing/share.ts";
import { project, Scene } from "./copy-world.ts";
import { actor, type World } from "./core-world.ts";
import { Local, shared } from "./nodes-world.ts";

/** An agent that works on task 1 of a project; in the store another machine has a task of this number. */
class Claimed extends Scene {
  readonly desk = new Local("b");
  readonly task: string;

  constructor() {
    super();
    const { own, store, desk } = this;
    own.begin("s1", { name: "alice" });
    this.task = this.add("beta");
    this.add("gamma");
    expect(this.claim()).toMatchObject({ ok: true });
    desk.begin("s9", { name: "bob" });
    store.take("b", desk);
    store.add("b", null, "alpha");
  }

  claim() {
    const where = { task: this.task, labels: [], project, cwd: "", wallMs: 7_000 };
    return this.own.do({ type: "task_claim", actor: actor("s1"), ...where });
  }

  numberIn({ state }: World): number {
    const task = state.tasks.all.get(this.task);
    return task === undefined ? 0 : numberOf(task);
  }

  get letters(): readonly string[] {
    return [...this.own.state.messages.all.values()].map(({ text, letters }) => {
      expect([...letters.values()].map(({ to }) => to.id)).toEqual(["s1"]);
      return text;
    });
  }
}

const isShared = 'Kite: task #1 "beta" of yours is #2 now: this project is shared with other machines now.';

test("its number in the store, once, wherever the daemon is killed", async () => {
  let isOver = false;
  for (let at = 1; !isOver; at += 1) {
    const made = new Claimed();
    made.breakAt({ at, how: "lost", isKill: true });
    await shareProject(made.logs, project, shared).catch(refused);
    isOver = !made.isDead;
    made.revive();
    if (!isSharedAs(made.own, project, shared)) continue;
    await moveAll(made.logs, () => {});
    expect(made.numberIn(made.store)).toBe(2);
    expect([at, made.letters]).toEqual([at, [`${isShared} Use #2 from now on.`]]);
  }
});

test("its number here when the machine leaves, and when it shares again", async () => {
  const made = new Claimed();
  await shareProject(made.logs, project, shared);
  made.store.as("a", claimOf(made));
  await takeBack(made.logs, made.outward);
  const back = made.numberIn(made.own);
  const gone = `Kite: task #2 "beta" of yours is #${back} now: this project is no longer shared with other machines.`;
  expect(made.letters.slice(1)).toEqual(back === 2 ? [] : [`${gone} Use #${back} from now on.`]);
  expect(made.letters).toHaveLength(back === 2 ? 1 : 2);
  const before = made.letters.length;
  await shareProject(made.logs, project, shared);
  expect(made.letters).toHaveLength(back === 2 ? before : before + 1);
});

test("nothing of a leave that did not come to its end", async () => {
  for (let at = 1; ; at += 1) {
    const made = new Claimed();
    await shareProject(made.logs, project, shared);
    made.breakAt({ at, how: "lost", isKill: true });
    await takeBack(made.logs, made.outward).catch(refused);
    if (!isSharedAs(made.own, project, shared)) break;
    expect([at, made.letters]).toEqual([at, [`${isShared} Use #2 from now on.`]]);
  }
});

test("of the end of a leave in one batch with it", async () => {
  const made = new Claimed();
  await shareProject(made.logs, project, shared);
  const { own } = made.logs;
  let isWaiting = false;
  const during: string[] = [];
  const slow = {
    ...own,
    submitAndWait: async (command: Command) => {
      if (isWaiting) during.push(command.type);
      if (command.type !== "sharing_set") return own.submitAndWait(command);
      isWaiting = true;
      const reply = await own.submitAndWait(command);
      await new Promise(resolve => setImmediate(resolve));
      isWaiting = false;
      return reply;
    },
  };
  await takeBack({ ...made.logs, own: slow }, made.outward);
  const back = made.numberIn(made.own);
  expect(during).toEqual(back === 2 ? [] : ["message_import"]);
});

test("that another machine has it, where both claimed it while this one had left", async () => {
  const made = new Claimed();
  await shareProject(made.logs, project, shared);
  await takeBack(made.logs, made.outward);
  made.store.as("a", { type: "node_leave" });
  expect(made.store.claim("b", made.desk.idOf("s9"), made.task)).toMatchObject({ ok: true });
  made.store.join("a", "laptop");
  const before = made.letters.length;
  const { released } = await shareProject(made.logs, project, shared);
  expect(released).toEqual([made.task]);
  const took = "is no longer yours: bob@desk took it in the store that this project is shared through now.";
  expect(made.letters.slice(before)).toEqual([
    `Kite: task #2 "beta" ${took} Look at it again before you go on with it.`,
  ]);
});

function claimOf(made: Claimed): Command {
  const where = { task: made.task, labels: [], project: shared, cwd: "", wallMs: 7_000 };
  return { type: "task_claim", actor: actor(made.own.idOf("s1")), ...where };
}

function refused(error: unknown): void {
  expect(error).toBeInstanceOf(CopyRefused);
}
