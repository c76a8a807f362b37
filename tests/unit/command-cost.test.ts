import { expect, it } from "vitest";
import { costOf } from "../../daemon/core/apply.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { limits } from "../../protocol/limits.ts";
import { Crowd, upTo } from "../bench/growth-steps.ts";
import { World } from "./core-world.ts";
import { WorkCount } from "./work-count.ts";

const end: Command = { type: "session_end", session: "a", incarnation: null, cause: "ended" };
const timer: Command = { type: "elapse", due: { what: "lost_leases_over", session: "a", begun: 1 } };

it("the end of a session costs its locks, its waits and its letters", () => {
  const w = new World();
  w.begin("a");
  w.begin("b");
  expect(costOf(w.state, end)).toBe(limits.sessionEndCost);
  w.lock("b", "theirs");
  w.lock("a", ["one", "two"]);
  w.lock("a", "theirs");
  const message = { text: "x", bytes: 1, wallMs: 1, agents: [], replyTo: null, urgent: false };
  w.do({ type: "message_send", actor: null, project: "/p", to: "a", ...message });
  expect(costOf(w.state, end)).toBe(limits.sessionEndCost + 4);
  expect(costOf(w.state, timer)).toBe(limits.sessionEndCost + 4);
  const all: Command = {
    type: "lock_release",
    actor: { session: "a", agent: null, incarnation: 0 },
    files: "all",
  };
  expect(costOf(w.state, all)).toBe(4);
});

it("a command of many rows costs as many, and to tell so costs none of them", () => {
  const crowd = new Crowd({ step: work => work() });
  const place = { project: "/p", cwd: "/p", worktree: "/p", branch: null, wallMs: 1 };
  for (const i of upTo(500))
    crowd.before({
      type: "session_begin",
      session: `s${i}`,
      anchor: null,
      name: null,
      revive: true,
      ...place,
    });
  const said: Command = {
    type: "broadcast",
    actor: null,
    project: "/p",
    text: "x",
    bytes: 1,
    wallMs: 1,
    hold: null,
  };
  const tasks: Command = { type: "task_remove", by: null, tasks: upTo(900).map(i => `t${i}`) };
  const work = new WorkCount();
  expect(work.step(() => [costOf(crowd.state, said), costOf(crowd.state, tasks)])).toEqual([501, 900]);
  expect(work.total).toBeLessThan(10);
});
