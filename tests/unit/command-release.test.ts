/** `kite release`: who may run it without a session's name. */
import { describe, expect, it } from "vitest";
import { release } from "../../bin/agent/release.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";

describe("kite release", () => {
  it("counts an agent's shell without a session's name as no person", async () => {
    const daemon = fakeDaemon();
    const world = fakeWorld({ daemon, env: { CLAUDECODE: "1" } });
    expect(await release(world, "ann", {})).toBe(1);
    expect(world.err()).toContain("only a person gives back what an agent has without a session's name");
    expect(daemon.asked).toEqual([]);
  });
});
