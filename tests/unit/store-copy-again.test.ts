/** A project that is shared anew after work here, and sessions that end during a move. */
import { expect, test } from "vitest";
import type { Command } from "../../daemon/core/commands.ts";
import type { Reply } from "../../daemon/core/outcome.ts";
import { shareProject, takeBack } from "../../daemon/sharing/share.ts";
import { project, Scene } from "./copy-world.ts";
import { actor } from "./core-world.ts";
import { Local, shared } from "./nodes-world.ts";

test("what happened here between a leave and the next share goes along, with its claims", async () => {
  const made = new Scene();
  const { own, store } = made;
  own.begin("s1", { name: "alice" });
  const ids = ["claimed", "kept", "edited", "cancelled", "ended", "taken"].map(name => made.add(name));
  const [claimed = "", kept = "", edited = "", cancelled = "", ended = "", taken = ""] = ids;
  const claim = (task: string) => {
    const command = { actor: actor("s1"), task, labels: [], project, cwd: "", wallMs: 6_000 } as const;
    expect(own.do({ type: "task_claim", ...command }).ok).toBe(true);
  };
  claim(kept);
  await shareProject(made.logs, project, shared);
  await takeBack(made.logs, made.outward);
  expect(store.as("a", { type: "node_leave" }).ok).toBe(true);
  const change = { by: null, dependsOn: null, description: null, priority: null, labels: null } as const;
  const update = (task: string, what: object) =>
    own.do({
      ...{ type: "task_update", task, ...change, status: null, result: null },
      ...{ project, cwd: "", wallMs: 7_000, ...what },
    });
  claim(claimed);
  claim(taken);
  update(edited, { description: "edited here" });
  update(cancelled, { status: "failed", result: "not needed" });
  update(ended, { status: "done", result: "well" });
  made.add("after it", { dependsOn: [ended] });
  const desk = new Local("b");
  desk.begin("s9", { name: "bob" });
  store.take("b", desk);
  expect(store.claim("b", desk.idOf("s9"), taken).ok).toBe(true);
  store.join("a", "laptop");
  const { released, tasks } = await shareProject(made.logs, project, shared);
  expect(released).toEqual([taken]);
  expect(tasks).toBe(1);
  expect(made.tasks(store, shared)).toEqual([
    ...["claimed active by s1", "kept active by s1", "edited here pending", "cancelled failed"],
    ...["taken active by s9", "after it pending on ended"],
  ]);
  expect(store.state.tasks.all.get(ended)?.state).toMatchObject({ status: "done", result: "well" });
  expect(made.tasks(own, project)).toEqual([]);
});

test("a session that ends during a move gives back its own task alone", async () => {
  for (const isKnownHere of [true, false]) {
    const made = new Scene();
    const { own, store } = made;
    const [one = "", two = ""] = ["one", "two"].map(name => made.add(name));
    for (const [id, name, task] of [
      ["s1", "alice", one],
      ["s2", "carl", two],
    ] as const) {
      own.begin(id, { name });
      const claim = { actor: actor(id), task, labels: [], project, cwd: "", wallMs: 6_000 } as const;
      expect(own.do({ type: "task_claim", ...claim }).ok).toBe(true);
    }
    const { logs } = made;
    const ended: Reply = { ok: false, code: "session_ended", error: "the session has ended" };
    const submitAndWait = async (command: Command): Promise<Reply> => {
      if (isKnownHere) {
        own.do({ type: "session_end", session: "s2", incarnation: null, cause: "ended" });
        store.take("a", own);
      } else if (JSON.stringify(command).includes(own.idOf("s2"))) return ended;
      return logs.shared.submitAndWait(command);
    };
    const both = { ...logs, shared: { ...logs.shared, submitAndWait } };
    const { released } = await shareProject(both, project, shared);
    expect(made.tasks(store, shared)).toEqual(["one active by s1", "two pending"]);
    expect(released).toEqual([two]);
  }
});
