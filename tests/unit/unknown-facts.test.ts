/** What is not known in time is said wherever a person's command uses it. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unplaced } from "../../bin/commands/status.ts";
import { findRepository, ProjectUnknown, projectOf } from "../../bin/context/project.ts";
import { trialView } from "../../bin/diff/risk.ts";
import { whoseView } from "../../bin/diff/whose.ts";
import { config } from "../../bin/settings/config.ts";
import { loadConfig } from "../../daemon/config/config.ts";
import { ProjectRules } from "../../daemon/config/project-rules.ts";
import { BudgetedFs, type Unreachable } from "../../daemon/facts/filesystem.ts";
import { nodeProber } from "../../daemon/facts/prober.ts";
import type { Repository } from "../../daemon/facts/repositories.ts";
import { limits } from "../../protocol/limits.ts";
import type { WriteRow } from "../../protocol/work.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { fakeWorld } from "./command-world.ts";
import { screen, session } from "./view-rows.ts";

const late = { unreachable: "the filesystem of /mnt/far did not answer" };
const notFound = async () => late;

const top = temporaryFolder("kite-unknown-");

describe("a command", () => {
  test("kite config says that the project's file is left out, and that this is a failure", async () => {
    for (const json of [false, true]) {
      const world = fakeWorld({ home: top });
      expect(await config(world, json, notFound)).toBe(1);
      expect(world.out()).toContain("the project's .kite/config.json, if there is one, is left out");
      expect(world.out()).toContain(late.unreachable);
      const known = { project: top, worktree: top, branch: null, gitDir: null };
      expect(await config(fakeWorld({ home: top }), json, async () => known)).toBe(0);
    }
  });

  test("one that acts in the project of its directory does not act in another one", async () => {
    await expect(projectOf("/mnt/far", notFound)).rejects.toThrow(ProjectUnknown);
    await expect(projectOf("/mnt/far", notFound)).rejects.toThrow("--project");
    expect(await projectOf(top)).toBe(top);
    expect(await findRepository(top)).toMatchObject({ project: top });
  });

  test("kite whose names how many files git could not be asked about", () => {
    const row = (file: string, state: WriteRow["state"]): WriteRow => ({
      file,
      path: `/w/${file}`,
      project: "/w",
      worktree: "/w",
      state,
      writers: [],
      holder: null,
    });
    const text = (...rows: WriteRow[]) => whoseView(rows, null, screen(200)).join("\n");
    expect(text(row("a", "unknown"), row("b", "unknown"), row("c", "changed"))).toContain(
      "! Git did not report the state of 2 files",
    );
    expect(text(row("c", "changed"))).not.toContain("!");
  });

  test("kite risk names the worktrees of which it does not know what is uncommitted", () => {
    const branches = ["a", "b"].map(name => ({ name, worktree: `/w/${name}`, head: "1" }));
    const pair = { a: "a", b: "b", conflicts: [], uncommitted: [] };
    const text = (pairs: readonly (typeof pair & { unseen?: string[] })[]) =>
      trialView({ branches, pairs, left: 0, all: true }, screen(200)).join("\n");
    expect(text([{ ...pair, unseen: ["/w/b"] }])).toContain(
      "! Git did not list the uncommitted files of /w/b",
    );
    expect(text([pair])).not.toContain("!");
  });

  test("kite status names the sessions whose repository is not known", () => {
    expect(unplaced([session("ann"), session("bob", { unplaced: late.unreachable })])).toEqual([
      expect.stringMatching(/^Kite could not determine the repository of bob.*did not answer$/),
    ]);
  });
});

describe("a project's rules", () => {
  /** A project whose files can be made unreadable, and rules by a clock of their own. */
  async function world() {
    const project = mkdtempSync(join(top, "project-"));
    mkdirSync(join(project, ".kite"));
    writeFileSync(join(project, ".kite", "config.json"), '{"ignore":["docs/"]}');
    const loaded = await loadConfig({ env: {}, paths: { config: join(top, "none") } });
    const state = { isOut: false, now: 0 };
    const fails = { code: "EIO", syscall: "open" };
    const prober = {
      ...nodeProber,
      readSmall: async (path: string, max: number) => {
        if (state.isOut) throw Object.assign(new Error("no"), fails);
        return nodeProber.readSmall(path, max);
      },
    };
    const problems: string[] = [];
    const found: Repository | Unreachable = { project, worktree: project, branch: null, gitDir: null };
    const rules = new ProjectRules({
      config: loaded,
      configFile: join(top, "none"),
      trusted: { files: async () => new Map() },
      outside: new BudgetedFs(prober, () => state.now),
      repository: async () => (state.isOut ? late : found),
      onProblem: problem => problems.push(problem),
    });
    const ignores = async () =>
      (await rules.at({ project, worktree: project })).ignores(`${project}/docs/a.md`);
    const later = () => {
      state.now += limits.repositoryKeptMs;
    };
    return { project, state, problems, rules, ignores, later };
  }

  test("that cannot be looked at are those read before, and that is told once", async () => {
    const w = await world();
    expect(await w.ignores()).toBe(true);
    w.state.isOut = true;
    for (let n = 0; n < 3; n += 1) {
      w.later();
      expect(await w.ignores()).toBe(true);
    }
    expect(w.problems).toEqual([expect.stringContaining("the rules read before apply")]);
    w.state.isOut = false;
    expect(await w.ignores()).toBe(true);
    w.state.isOut = true;
    w.later();
    await w.ignores();
    expect(w.problems).toHaveLength(2);
  });

  test("that were never read are the user's, told once, and looked at again at once", async () => {
    const w = await world();
    w.state.isOut = true;
    expect(await w.ignores()).toBe(false);
    expect(await w.ignores()).toBe(false);
    expect(w.problems).toEqual([expect.stringContaining("the user's rules apply")]);
    w.state.isOut = false;
    expect(await w.ignores()).toBe(true);
  });

  test("of a file whose repository is not known are the user's, and that is told", async () => {
    const w = await world();
    w.state.isOut = true;
    await w.rules.for("/mnt/far/a.ts", undefined);
    expect(w.problems[0]).toContain(late.unreachable);
  });
});
