/** Tasks of the clients' own lists: what their events leave behind, in every order. */
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { type ClientTask, ClientTasks, type TaskReport } from "../../daemon/sessions/client-tasks.ts";
import { limits } from "../../protocol/limits.ts";

const lead = { session: "lead", agent: null };
const alice = { session: "lead", agent: "aalice-0123456789abcdef" };
const bob = { session: "bob", agent: null };

function said(state: TaskReport["state"], task: string, more: Partial<TaskReport> = {}): TaskReport {
  const actor = more.actor ?? lead;
  const owner = state === "created" || actor === lead ? null : actor === alice ? "alice" : "bob";
  return {
    actor,
    list: "team",
    isOwnList: actor !== bob,
    task,
    subject: `number ${task}`,
    owner,
    state,
    project: "/shop",
    wallMs: 1,
    ...more,
  };
}

let tasks: ClientTasks;

beforeEach(() => {
  tasks = new ClientTasks();
});

const all = (from = tasks) => [...from.placed()].map(([, task]) => task);
const states = (from = tasks) =>
  all(from).map(one => `${one.task} ${from.isResting(one) ? "resting" : one.state} ${one.owner ?? "-"}`);

describe("a task", () => {
  it("is open from its creation until it is completed in a turn", () => {
    tasks.report(said("created", "1", { wallMs: 5 }));
    expect(all()).toMatchObject([{ state: "open", owner: null, createdAt: 5, updatedAt: 5 }]);
    tasks.report(said("completed", "1", { actor: alice, wallMs: 7 }));
    expect(all()).toMatchObject([{ state: "completed", owner: "alice", createdAt: 5, updatedAt: 7 }]);
  });

  it("is not changed by the same events again, nor by a creation that comes late", () => {
    tasks.report(said("completed", "1", { actor: alice, wallMs: 5 }));
    const before = all();
    tasks.report(said("completed", "1", { actor: alice, wallMs: 8 }));
    tasks.report(said("created", "1", { wallMs: 9 }));
    expect(all()).toEqual(before);
    expect(states()).toEqual(["1 completed alice"]);
  });

  it("stays open, and rests, when it is reported between the end of a turn and the idle", () => {
    tasks.report(said("created", "1"));
    tasks.turnEnded(bob);
    tasks.report(said("completed", "1", { actor: bob }));
    expect(states()).toEqual(["1 resting bob"]);
    tasks.idle(bob);
    expect(states()).toEqual(["1 resting bob"]);
    tasks.atWork(bob);
    expect(states()).toEqual(["1 open bob"]);
    tasks.turnEnded(bob);
    expect(states()).toEqual(["1 resting bob"]);
  });

  it("is completed after the idle, when a message that no event reports began the next turn", () => {
    tasks.turnEnded(bob);
    tasks.report(said("completed", "1", { actor: bob }));
    tasks.idle(bob);
    tasks.report(said("completed", "1", { actor: bob }));
    expect(states()).toEqual(["1 completed bob"]);
  });

  it("is open again when its owner's idle lists it: another hook refused that it is completed", () => {
    tasks.report(said("completed", "1", { actor: bob }));
    tasks.turnEnded(bob);
    tasks.report(said("completed", "1", { actor: bob }));
    expect(states()).toEqual(["1 resting bob"]);
  });

  it("is completed by a lead whose turn is not known to have begun: only a teammate's idle lists tasks", () => {
    tasks.turnEnded(lead);
    tasks.report(said("completed", "1"));
    expect(states()).toEqual(["1 completed -"]);
  });

  it("of one teammate does not rest because another one does", () => {
    for (const actor of [alice, bob]) {
      tasks.turnEnded(actor);
      tasks.report(said("completed", actor === bob ? "2" : "1", { actor }));
    }
    tasks.atWork(alice);
    expect(states()).toEqual(["1 open alice", "2 resting bob"]);
  });

  it("rests when its owner's session has ended", () => {
    tasks.report(said("created", "1"));
    tasks.turnEnded(bob);
    tasks.report(said("completed", "1", { actor: bob }));
    tasks.atWork(bob);
    expect(tasks.sessionEnded("bob")).toEqual([]);
    expect(states()).toEqual(["1 resting bob"]);
  });
});

it("any order and repetition of events gives the state of each event once", () => {
  const kind = fc.record({
    task: fc.integer({ min: 1, max: 4 }).map(String),
    state: fc.constantFrom("created" as const, "completed" as const),
  });
  // One teammate completes a task; its actor is fixed by the task's number.
  const reportOf = ({ task, state }: { task: string; state: TaskReport["state"] }) =>
    said(state, task, state === "created" ? {} : { actor: Number(task) % 2 === 0 ? bob : alice });
  const final = (events: readonly TaskReport[]) => {
    const known = new ClientTasks();
    for (const event of events) known.report(event);
    return states(known).sort();
  };
  fc.assert(
    fc.property(fc.array(kind, { maxLength: 30 }), kinds => {
      const once = [...new Map(kinds.map(k => [`${k.task} ${k.state}`, k])).values()].sort((a, b) =>
        a.state === b.state ? a.task.localeCompare(b.task) : a.state === "created" ? -1 : 1,
      );
      expect(final(kinds.map(reportOf))).toEqual(final(once.map(reportOf)));
      const isCompleted = (task: string) => kinds.some(k => k.task === task && k.state === "completed");
      for (const line of final(kinds.map(reportOf)))
        expect(line.includes(" completed ")).toBe(isCompleted(line.slice(0, 1)));
    }),
  );
});

describe("a list", () => {
  it("ends with its own session, whoever else reports it", () => {
    tasks.report(said("created", "1"));
    tasks.report(said("completed", "2", { actor: bob }));
    expect(tasks.sessionEnded("lead")).toEqual([{ list: "team", tasks: 2, open: 1 }]);
    expect(all()).toEqual([]);
    expect(tasks.sessionEnded("lead")).toEqual([]);
    expect(tasks.sessionEnded("bob")).toEqual([]);
  });

  it("of a session that is not here ends with the last session that reports it", () => {
    const eve = { session: "eve", agent: null };
    tasks.report(said("created", "1", { actor: bob, isOwnList: false }));
    tasks.report(said("created", "1", { actor: eve, isOwnList: false }));
    expect(tasks.sessionEnded("bob")).toEqual([]);
    expect(tasks.sessionEnded("eve")).toEqual([{ list: "team", tasks: 1, open: 1 }]);
  });

  it("keeps the positions of its tasks in their order, beside other lists", () => {
    tasks.report(said("created", "1"));
    tasks.report(said("created", "1", { list: "other" }));
    tasks.report(said("created", "2"));
    tasks.report(said("completed", "1"));
    const placed = [...tasks.placed()];
    expect(placed.map(([, { list, task }]) => `${list} ${task}`)).toEqual(["team 1", "team 2", "other 1"]);
    expect(placed.map(([place]) => place)).toEqual(placed.map(([place]) => place).sort((a, b) => a - b));
  });

  it("names the tasks of one id in one project", () => {
    tasks.report(said("created", "1"));
    tasks.report(said("created", "1", { list: "other", project: "/mill" }));
    expect(tasks.named("1", "/mill").map((one: ClientTask) => one.list)).toEqual(["other"]);
    expect(tasks.named("2", "/mill")).toEqual([]);
  });

  it("forgets its oldest task, and the oldest list goes, beyond their bounds", () => {
    for (let n = 0; n <= limits.clientTasksPerListMax; n++) tasks.report(said("created", `${n}`));
    expect(all().length).toBe(limits.clientTasksPerListMax);
    expect(all()[0]?.task).toBe("1");
    for (let n = 1; n <= limits.clientListsMax; n++)
      tasks.report(said("created", "1", { list: `list ${n}` }));
    const lists = new Set(all().map(({ list }) => list));
    expect([lists.size, lists.has("team")]).toEqual([limits.clientListsMax, false]);
    expect(tasks.sessionEnded("lead")).toHaveLength(limits.clientListsMax);
  });
});
