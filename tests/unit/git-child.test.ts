import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { GitChild, GitProgram } from "../../daemon/facts/git/process.ts";
import { Allowance, WorkClock } from "../../daemon/facts/work-clock.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { FixedGit } from "./fixed-git.ts";
import { FakeMachine, settled } from "./work-drive.ts";

const folder = temporaryFolder("kite-child-");

const enough = () => new Allowance(new WorkClock(), 60_000, 60_000);
const never = { code: null, out: "" };

describe("git as a child", () => {
  it("is a sentence where it cannot be started, at once or a moment later, or is not there", async () => {
    for (const program of ["", "/no-such-program-here", null]) {
      const answer = await new GitChild({}, new FixedGit(program)).run(["version"], tmpdir(), enough());
      expect(answer).toMatchObject(never);
      expect(answer.errorText).toMatch(/^git cannot be started \(.+\)$/);
    }
  });

  it("goes on after one that could not be started", async () => {
    const git = new GitChild({}, new FixedGit(""));
    const all = Array.from({ length: 3 * limits.gitAtOnceMax }, () => git.run([], tmpdir(), enough()));
    for (const answer of await Promise.all(all)) expect(answer).toMatchObject(never);
  });

  it("is not started when its time is over", async () => {
    const answer = await new GitChild().run(["version"], tmpdir(), new Allowance(new WorkClock(), 0, 0));
    expect(answer).toMatchObject({ ...never, errorText: "git did not answer within 0 ms of work" });
  });

  it("is given up where the machine has no room for it, long before the allowance is over", async () => {
    const machine = new FakeMachine();
    let tries = 0;
    const full = {
      lend: () => {
        tries += 1;
        throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
      },
      refill: () => {},
    };
    let said = "";
    const git = new GitChild({}, new FixedGit("/bin/true"), full);
    void git.run([], tmpdir(), new Allowance(new WorkClock(machine), 60_000, 60_000)).then(answer => {
      said = answer.errorText;
    });
    await machine.work(limits.gitCrowdedMs + 4 * limits.workBeatMs);
    await settled();
    expect(said).toMatch(/^git cannot be started/);
    expect(tries).toBeGreaterThan(1);
  });

  it("is stopped after its work, not after the time in which nothing had a processor", async () => {
    const machine = new FakeMachine();
    const clock = new WorkClock(machine);
    const program = join(folder, "sleeper");
    writeFileSync(program, "#!/bin/sh\nexec sleep 1000\n");
    chmodSync(program, 0o755);
    const env = { PATH: process.env["PATH"] };
    let isOver = false;
    const asked = new GitChild(env, new FixedGit(program)).run(
      [],
      tmpdir(),
      new Allowance(clock, 100, 1_000_000),
    );
    const answer = asked.then(given => {
      isOver = true;
      return given;
    });
    await machine.stall(50_000);
    await settled();
    expect(isOver).toBe(false);
    await machine.work(100);
    expect(await answer).toMatchObject({ ...never, errorText: "git did not answer within 100 ms of work" });
  });
});

describe("a project's own git", () => {
  let project: string;
  let ran: string;

  beforeEach(() => {
    project = temporaryFolder("kite-git-");
    ran = join(project, "ran");
    put(join(project, "git"));
    put(join(project, "node_modules", ".bin", "git"));
    put(join(project, "tools", "git"));
  });

  function put(path: string): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `#!/bin/sh\n>'${ran}'\necho git version 0 of the project\n`);
    chmodSync(path, 0o755);
  }

  const entries = [
    "./node_modules/.bin:/usr/bin:/bin",
    ".:/usr/bin:/bin",
    ":/usr/bin:/bin",
    "tools:/usr/bin:/bin",
  ];

  it.each(entries)("is not run where PATH is %j", async PATH => {
    const answer = await new GitChild({ PATH }).run(["version"], project, enough());
    expect(answer).toMatchObject({ code: 0, out: expect.stringMatching(/^git version [1-9]/) });
    expect(existsSync(ran)).toBe(false);
  });

  it("is not run by an absolute entry, for that project or any in which a session works", async () => {
    const env = { PATH: `${project}/node_modules/.bin:${project}/tools:/usr/bin:/bin` };
    const answer = await new GitChild(env).run(["version"], project, enough());
    expect(answer.out).toMatch(/^git version [1-9]/);
    const workedIn: string[] = [];
    const program = new GitProgram({ env, workedIn: () => workedIn });
    const git = new GitChild(env, program);
    workedIn.push(project);
    expect((await git.run(["version"], tmpdir(), enough())).out).toMatch(/^git version [1-9]/);
    expect(existsSync(ran)).toBe(false);
  });

  it("that was one is none any more when a session begins to work around it", async () => {
    const env = { PATH: `${project}/tools:/usr/bin:/bin` };
    const workedIn: string[] = [];
    const program = new GitProgram({ env, workedIn: () => workedIn });
    expect(program.for("/usr")?.path).toBe(join(project, "tools", "git"));
    workedIn.push(project);
    program.workedIn([tmpdir().concat("/elsewhere")]);
    expect(program.for("/usr")?.path).toBe(join(project, "tools", "git"));
    program.workedIn([project]);
    expect(program.for("/usr")?.path).toMatch(/^\/(?:usr\/)?bin\/git$/);
  });

  it("is found anew after it could not be started", async () => {
    const env = { PATH: `${project}/tools:/usr/bin:/bin` };
    const git = new GitChild(env);
    expect((await git.run(["version"], "/usr", enough())).out).toContain("of the project");
    rmSync(join(project, "tools"), { recursive: true });
    expect((await git.run(["version"], "/usr", enough())).code).toBeNull();
    expect((await git.run(["version"], "/usr", enough())).out).toMatch(/^git version [1-9]/);
  });
});
