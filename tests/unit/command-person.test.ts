/** What an agent's shell is told that hides its session: words that fit the command. */
import { describe, expect, it } from "vitest";
import { rename } from "../../bin/agents/agents.ts";
import type { ProcessContext } from "../../bin/context/process-context.ts";
import { add as addDebate } from "../../bin/lead/debates.ts";
import { release } from "../../bin/lead/release.ts";
import { stop } from "../../bin/lead/spawn/replace.ts";
import { set } from "../../bin/tasks/change.ts";
import { fakeDaemon, fakeWorld, runWords } from "./command-world.ts";

type Run = (world: ProcessContext) => Promise<number>;

const commands: readonly (readonly [name: string, run: Run, what: string, tool: string | null])[] = [
  ["kite rename", world => rename(world, "calm", "alice", {}), "renames a session", null],
  ["kite release", world => release(world, "alice", {}), "gives back what an agent has", null],
  ["kite agents stop", world => stop(world, "alice", false), "stops an agent", null],
  [
    "kite debate close --force",
    world =>
      runWords(world, addDebate, ["debate", "close", "1", "--verdict", "a", "--because", "b", "--force"]),
    "forces a debate to close",
    null,
  ],
  ["kite task done", world => set(world, "1", "done", null, {}), "ends a task", "kite_task_complete"],
];

describe("an agent's shell without a session's name", () => {
  it.each(commands)("%s is told what fits it", async (_name, run, what, tool) => {
    const daemon = fakeDaemon();
    const world = fakeWorld({ daemon, env: { CLAUDECODE: "1" } });
    expect(await run(world)).toBe(1);
    expect(world.err()).toContain(`only a person ${what} without a session's name`);
    expect(world.err().match(/kite_\w+/g)).toEqual(tool === null ? null : [tool]);
    expect(daemon.asked).toEqual([]);
  });
});
