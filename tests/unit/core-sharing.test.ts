/** Which projects are shared: what the own log's commands make of a row, and of what the log has of the project. */
import { beforeEach, describe, expect, it } from "vitest";
import { sharedProjects, sharingOf } from "../../daemon/core/sharing.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { limits } from "../../protocol/limits.ts";
import { project, TaskWorld, updateOf } from "./task-world.ts";

const store = { id: "store-1", where: "kite@db/kite" };
const bases = { tasks: [["t-1", "d"]], keys: [["k", "d"]] } as const;

let world: TaskWorld;
beforeEach(() => {
  world = new TaskWorld();
});

type Of = "project_share" | "project_moved" | "project_leave" | "project_left";

function commandOf(type: Of, more: object = {}): Command {
  const rest =
    type === "project_share" ? { as: "team/app", store } : type === "project_left" ? { bases } : {};
  return { type, project, ...rest, ...more } as Command;
}

function reach(...types: readonly Of[]): void {
  for (const type of types) expect(world.do(commandOf(type))).toEqual({ ok: true });
}

const is = () => world.state.sharings.projects.get(project)?.is;

describe("a project", () => {
  it.each<[readonly Of[], readonly Of[]]>([
    [[], ["project_share"]],
    [["project_share"], ["project_moved", "project_left"]],
    // What was made here while no store was set is shared by one more share.
    [
      ["project_share", "project_moved"],
      ["project_share", "project_leave"],
    ],
    [
      ["project_share", "project_moved", "project_leave"],
      ["project_moved", "project_leave", "project_left"],
    ],
    [["project_share", "project_moved", "project_leave", "project_left"], ["project_share"]],
  ])("after %j may have %j alone", (before, next) => {
    for (const type of ["project_share", "project_moved", "project_leave", "project_left"] as const) {
      world = new TaskWorld();
      reach(...before);
      const known = is();
      const reply = world.do(commandOf(type));
      expect([type, reply.ok]).toEqual([type, next.includes(type)]);
      if (!reply.ok) expect([reply.code, is()]).toEqual(["store_project", known]);
    }
  });

  it("is the store's from the share until the machine left", () => {
    reach("project_share");
    expect([...sharedProjects(world.state)]).toMatchObject([
      { project, as: "team/app", store, is: "moving" },
    ]);
    reach("project_moved", "project_leave");
    expect(sharingOf(world.state, project)?.is).toBe("leaving");
    reach("project_left");
    expect([sharingOf(world.state, project), [...sharedProjects(world.state)]]).toEqual([undefined, []]);
  });

  it.each([
    ["in the same store under the same name", {}, bases],
    ["under another name", { as: "other" }, { tasks: [], keys: [] }],
    ["in another store", { store: { ...store, id: "store-2" } }, { tasks: [], keys: [] }],
  ])("that is shared again %s knows how it was if that says something", (_where, more, expected) => {
    reach("project_share", "project_left");
    expect(world.do(commandOf("project_share", more))).toEqual({ ok: true });
    expect(sharingOf(world.state, project)?.bases).toEqual(expected);
    reach("project_moved");
    expect(sharingOf(world.state, project)?.bases).toEqual({ tasks: [], keys: [] });
  });

  it("is refused beyond so many", () => {
    for (let n = 0; n < limits.sharedProjectsMax; n += 1)
      world.do(commandOf("project_share", { project: `/p${n}` }));
    expect(world.do(commandOf("project_share"))).toMatchObject({ ok: false, code: "store_project" });
  });
});

it("what was moved goes without an event: open tasks, durable values, and the needs of what stays", () => {
  world.create("ended", "first", { description: "second", dependsOn: ["first"] });
  for (const change of [{ status: "done" }, { dependsOn: [world.id("first")] }] as const)
    expect(world.do(updateOf(null, world.id("ended"), change))).toMatchObject({ ok: true });
  for (const [key, durable] of [
    ["kept", true],
    ["passing", false],
  ] as const)
    world.do({
      ...{ type: "context_set", actor: null, project, key, value: 1, bytes: 1, durable },
      ...{ ifVersion: null, ttlMs: null, wallMs: 1 },
    });
  const version = world.state.context.items.get(`${project}\nkept`)?.version ?? 0;
  reach("project_share");
  const { events } = world.step(commandOf("project_moved"));
  expect([events, world.board, world.task("ended").dependsOn]).toEqual([[], { ended: "done" }, []]);
  expect([...world.state.context.items.values()].map(({ key }) => key)).toEqual(["passing"]);
  expect(world.state.context.versions).toBeGreaterThanOrEqual(version);
});
