/** `kite release`: who may run it without a session's name. */
import { describe, expect, it } from "vitest";
import { release } from "../../bin/lead/release.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";
import { session } from "./view-rows.ts";

describe("kite release", () => {
  it("counts an agent's shell without a session's name as no person", async () => {
    const daemon = fakeDaemon();
    const world = fakeWorld({ daemon, env: { CLAUDECODE: "1" } });
    expect(await release(world, "ann", {})).toBe(1);
    expect(world.err()).toContain("only a person gives back what an agent has without a session's name");
    expect(daemon.asked).toEqual([]);
  });

  it("takes the beginning of a name, of this project's agents alone, and a whole id of any", async () => {
    const here = { project: "/home/ana/code/shop" };
    const rows = [
      session("calm-otter", here),
      session("tidy-wolf", here),
      session("calm-wren", { id: "whole-id", project: "/srv/x" }),
    ];
    const agent = { id: "x", agent: null, name: "x" };
    const given = { ok: true, agent, tasks: [], taskCount: 0, paths: [], lockCount: 0 };
    const daemon = fakeDaemon({ "query sessions": { ok: true, rows }, agent_release: given });
    const ask = async (name: string, cwd = here.project) => {
      const world = { ...fakeWorld({ daemon, env: { KITE_SESSION: "lead" } }), cwd };
      const code = await release(world, name, {});
      return code === 0 ? daemon.asked.at(-1)?.["of"] : world.err();
    };
    expect(await ask("calm")).toBe("calm-otter-0000-4000");
    expect(await ask("calm-wren")).toContain("no agent is called calm-wren; active: calm-otter, tidy-wolf");
    expect(await ask("whole-id")).toBe("whole-id");
    expect(await ask("calm-wren", "/nobody/works/here")).toContain("no agent is called calm-wren");
    expect(await ask("whole-id", "/nobody/works/here")).toBe("whole-id");
  });
});
