/** Programs that a repository's own git configuration names: none runs in a merge before a person has trusted it. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { attempt } from "../../bin/lead/merge/attempt.ts";
import type { Tried } from "../../bin/lead/merge/git.ts";
import { type Git, gitOf, type Programs, programsIn } from "../../bin/lead/merge/git.ts";
import { temporaryFolder } from "../temporary-folder.ts";

let dir: string;
let repo: string;
let ran: string;
let env: Record<string, string | undefined>;
let git: Git;
const run = (...args: string[]) =>
  execFileSync("git", args, { cwd: repo, env, encoding: "utf8", stdio: "pipe" }).trim();
const write = (files: Readonly<Record<string, string>>) => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(repo, name), text);
};
const commit = (message: string) => {
  run("add", "-A");
  run("commit", "-qm", message);
};

beforeEach(() => {
  dir = temporaryFolder("kite-programs-");
  repo = join(dir, "repo");
  ran = join(dir, "ran");
  mkdirSync(join(dir, "home"));
  const who = {
    GIT_AUTHOR_NAME: "t",
    GIT_AUTHOR_EMAIL: "t@e",
    GIT_COMMITTER_NAME: "t",
    GIT_COMMITTER_EMAIL: "t@e",
  };
  env = {
    ...process.env,
    ...who,
    HOME: join(dir, "home"),
    XDG_CONFIG_HOME: join(dir, "home"),
    GIT_CONFIG_NOSYSTEM: "1",
  };
  execFileSync("git", ["init", "-q", "-b", "main", repo], { env });
  write({ a: "a\n", "x.m": "1\n2\n3\n4\n5\n" });
  commit("first");
  git = gitOf(env, join(repo, ".git"), new AbortController().signal);
});

/** A branch `one` with these files; main is checked out behind it. */
function branch(files: Readonly<Record<string, string>>): void {
  run("switch", "-qc", "one");
  write(files);
  commit("one");
  run("switch", "-q", "main");
}

function merge(trusted: Programs = new Map(), more: { readonly rebase?: boolean } = {}): Promise<Tried> {
  return attempt({
    git,
    gitDir: join(repo, ".git"),
    folder: join(dir, "try"),
    merge: {
      base: "refs/heads/main",
      branch: "refs/heads/one",
      rebase: false,
      checkOnly: false,
      commit: null,
      ...more,
    },
    on: null,
    checks: async () => null,
    trusted,
    keepers: async () => new Map(),
    mayMove: async () => {},
    say: text => expect.fail(text),
  });
}

function refusal(key: string) {
  const text = expect.stringContaining(`the merge needs ${key} of the repository's own git configuration`);
  return { is: "stopped", reason: { code: "failed", text } };
}

it.each([
  ["filter.up.smudge", (line: string) => `${line}; cat`],
  ["filter.up.process", (line: string) => line],
])("%s is not run for a file that the branch brings, and the base stays", async (key, program) => {
  branch({ ".gitattributes": "*.f filter=up\n", "b.f": "b\n" });
  const main = run("rev-parse", "main");
  run("config", key, program(`echo ran >> ${ran}`));
  expect(await merge()).toMatchObject(refusal(key));
  expect(run("rev-parse", "main")).toBe(main);
  expect(existsSync(ran)).toBe(false);
  expect(existsSync(join(dir, "try"))).toBe(false);
  expect(run("status", "--porcelain")).toBe("");
});

it("runs a filter that a person trusted as it is, and none that changed since", async () => {
  branch({ ".gitattributes": "*.f filter=up\n", "b.f": "b\n" });
  run("config", "filter.up.smudge", `echo ran >> ${ran}; tr b B`);
  const trusted = await programsIn(git, [repo]);
  expect([...trusted.keys()]).toEqual(["filter.up.smudge"]);
  run("config", "filter.up.smudge", `echo other >> ${ran}; cat`);
  expect(await merge(trusted)).toMatchObject(refusal("filter.up.smudge"));
  expect(existsSync(ran)).toBe(false);
  run("config", "filter.up.smudge", `echo ran >> ${ran}; tr b B`);
  expect(await merge(trusted)).toMatchObject({ is: "merged" });
  expect(readFileSync(join(repo, "b.f"), "utf8")).toBe("B\n");
});

it.each([[false], [true]])(
  "a merge driver is not taken for a conflict of the branch (rebase: %j)",
  async rebase => {
    write({ ".gitattributes": "*.m merge=drv\n" });
    commit("attributes");
    branch({ "x.m": "one\n2\n3\n4\n5\n" });
    write({ "x.m": "1\n2\n3\n4\nfive\n" });
    commit("main");
    run("config", "merge.drv.driver", `echo ran >> ${ran}; cp %B %A`);
    expect(await merge(new Map(), { rebase })).toMatchObject(refusal("merge.drv.driver"));
    expect(existsSync(ran)).toBe(false);
    expect(await merge(await programsIn(git, [repo]), { rebase })).toMatchObject({ is: "merged" });
    expect(existsSync(ran)).toBe(true);
  },
);

it("a program that signs is refused where commits are signed, and only there", async () => {
  branch({ b: "b\n" });
  const signer = join(dir, "signer");
  writeFileSync(signer, `#!/bin/sh\necho ran >> ${ran}\n`, { mode: 0o755 });
  run("config", "gpg.program", signer);
  run("config", "commit.gpgSign", "true");
  expect(await merge()).toMatchObject(refusal("gpg.program"));
  expect(existsSync(ran)).toBe(false);
  run("config", "commit.gpgSign", "false");
  expect(await merge()).toMatchObject({ is: "merged" });
});

it("a program that no path needs keeps no merge back", async () => {
  branch({ b: "b\n" });
  run("config", "filter.up.smudge", `echo ran >> ${ran}; cat`);
  run("config", "merge.drv.driver", "false");
  expect(await merge()).toMatchObject({ is: "merged" });
  expect(existsSync(ran)).toBe(false);
});

it("what a person's own configuration names runs as always", async () => {
  branch({ ".gitattributes": "*.f filter=up\n", "b.f": "b\n" });
  run("config", "--global", "filter.up.smudge", "tr b B");
  expect(await merge()).toMatchObject({ is: "merged" });
  expect(readFileSync(join(repo, "b.f"), "utf8")).toBe("B\n");
});

it("a configuration that counts only in the worktree of the try is seen, too", async () => {
  branch({ ".gitattributes": "*.f filter=up\n", "b.f": "b\n" });
  writeFileSync(join(dir, "more"), `[filter "up"]\n\tsmudge = echo ran >> ${ran}; cat\n`);
  run("config", "includeIf.gitdir:**/worktrees/**.path", join(dir, "more"));
  expect(await merge()).toMatchObject(refusal("filter.up.smudge"));
  expect(existsSync(ran)).toBe(false);
});
