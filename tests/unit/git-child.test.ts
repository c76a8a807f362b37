import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { GitChild } from "../../daemon/git-child.ts";
import { limits } from "../../protocol/limits.ts";

const soon = () => performance.now() + 60_000;
const never = { code: null, out: "" };

describe("git as a child", () => {
  it("is a sentence where it cannot be started, at once or a moment later", async () => {
    for (const program of ["", "no-such-program-here"]) {
      const answer = await new GitChild({}, program).run(["version"], tmpdir(), soon());
      expect(answer).toMatchObject(never);
      expect(answer.said).toMatch(/^git cannot be started \(.+\)$/);
    }
  });

  it("goes on after one that could not be started", async () => {
    const git = new GitChild({}, "");
    const all = Array.from({ length: 3 * limits.gitAtOnceMax }, () => git.run([], tmpdir(), soon()));
    for (const answer of await Promise.all(all)) expect(answer).toMatchObject(never);
  });

  it("is not started when its time is over", async () => {
    const answer = await new GitChild().run(["version"], tmpdir(), performance.now() - 1);
    expect(answer).toEqual({ ...never, said: `git did not answer within ${limits.guardMs} ms` });
  });
});
