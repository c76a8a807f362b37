import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { GitChild } from "../../daemon/git-child.ts";
import { Allowance, WorkClock } from "../../daemon/work-clock.ts";
import { limits } from "../../protocol/limits.ts";
import { FakeMachine, settled } from "./work-drive.ts";

const folder = mkdtempSync(join(tmpdir(), "kite-child-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const enough = () => new Allowance(new WorkClock(), 60_000, 60_000);
const never = { code: null, out: "" };

describe("git as a child", () => {
  it("is a sentence where it cannot be started, at once or a moment later", async () => {
    for (const program of ["", "no-such-program-here"]) {
      const answer = await new GitChild({}, program).run(["version"], tmpdir(), enough());
      expect(answer).toMatchObject(never);
      expect(answer.said).toMatch(/^git cannot be started \(.+\)$/);
    }
  });

  it("goes on after one that could not be started", async () => {
    const git = new GitChild({}, "");
    const all = Array.from({ length: 3 * limits.gitAtOnceMax }, () => git.run([], tmpdir(), enough()));
    for (const answer of await Promise.all(all)) expect(answer).toMatchObject(never);
  });

  it("is not started when its time is over", async () => {
    const answer = await new GitChild().run(["version"], tmpdir(), new Allowance(new WorkClock(), 0, 0));
    expect(answer).toMatchObject({ ...never, said: "git did not answer within 0 ms of work" });
  });

  it("is stopped after its work, not after the time in which nothing had a processor", async () => {
    const machine = new FakeMachine();
    const clock = new WorkClock(machine);
    const program = join(folder, "sleeper");
    writeFileSync(program, "#!/bin/sh\nexec sleep 1000\n");
    chmodSync(program, 0o755);
    const env = { PATH: process.env["PATH"] };
    let isOver = false;
    const asked = new GitChild(env, program).run([], tmpdir(), new Allowance(clock, 100, 1_000_000));
    const answer = asked.then(given => {
      isOver = true;
      return given;
    });
    await machine.stall(50_000);
    await settled();
    expect(isOver).toBe(false);
    await machine.work(100);
    expect(await answer).toMatchObject({ ...never, said: "git did not answer within 100 ms of work" });
  });
});
