/** kite merge --pr against a bare remote and a stand-in for gh. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { contextOf } from "../../bin/context/process-context.ts";
import { Refused } from "../../bin/context/with-daemon.ts";
import { pullRequest } from "../../bin/lead/merge/pull-request.ts";
import { MergeHome } from "./merge-world.ts";

let home: MergeHome;
let remote: string;
let tools: string;
let said: string;

beforeAll(async () => {
  home = new MergeHome();
  await home.prepare();
  remote = join(home.work, "remote.git");
  tools = join(home.work, "tools");
  said = join(home.work, "gh.json");
  mkdirSync(tools);
  home.git(home.work, "init", "-q", "--bare", "-b", "main", remote);
});
afterAll(() => home.dispose());

/** A program called gh that keeps its words and where it ran. */
function standIn(exit = 0): void {
  const script = `#!${process.execPath}\nrequire("fs").writeFileSync(${JSON.stringify(said)}, JSON.stringify({ words: process.argv.slice(2), cwd: process.cwd(), here: require("fs").readdirSync(".") }));\nprocess.exit(${exit});\n`;
  writeFileSync(join(tools, "gh"), script, { mode: 0o755 });
}

async function pr(
  name: string,
  { answer = "y", isAgent = false }: { answer?: string | null; isAgent?: boolean } = {},
) {
  let [out, err] = ["", ""];
  const env = { ...home.environment, PATH: `${tools}:${home.environment["PATH"]}` };
  const world = contextOf({
    argv: ["node", "kite", "merge", name, "--pr"],
    env,
    cwd: () => home.repo,
    stdout: { write: text => (out += text) },
    stderr: { write: text => (err += text) },
  });
  const asked: string[] = [];
  const ask =
    answer === null
      ? null
      : async (question: string) => {
          asked.push(question);
          return answer;
        };
  try {
    const code = await pullRequest(world, name, {}, { ask, isAgent: async () => isAgent });
    return { code, out, err: err.replace(/\n */g, " ").trim(), asked };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { code: 1, out, err: error instanceof Refused ? error.message : `${error.message}`, asked };
  }
}

const pushed = (name: string) =>
  home.git(remote, "for-each-ref", "--format=%(objectname)", `refs/heads/${name}`).trim();
const head = (name: string) => home.git(home.repo, "rev-parse", name).trim();
const trust = async () => expect(await home.merge(["trust", "--yes"]).done).toMatchObject({ code: 0 });

test("a branch goes to the remote and gh is asked, after a person said yes; nothing else was pushed", async () => {
  home.branch("pay", { "pay.ts": "pay\n" });
  expect((await pr("pay")).err).toContain("the repository has no remote to push to; add one");
  home.git(home.repo, "remote", "add", "origin", remote);
  // A remote on this machine runs hooks of its own.
  const untrusted = await pr("pay");
  expect(untrusted.err).toContain("a push would follow remote.origin.url");
  expect(untrusted.asked).toEqual([]);
  await trust();
  standIn();
  expect(await pr("pay", { isAgent: true })).toMatchObject({
    code: 1,
    asked: [],
    err: expect.stringContaining("only a person"),
  });
  expect((await pr("pay", { answer: null })).err).toContain("no terminal to ask on, and nothing was pushed");
  expect(await pr("pay", { answer: "" })).toMatchObject({
    code: 1,
    out: expect.stringContaining("Nothing was pushed."),
  });
  expect(pushed("pay")).toBe("");
  const done = await pr("pay");
  expect(done).toMatchObject({ code: 0, err: "", asked: ["Push it? [y/N] "] });
  expect(done.out).toContain(`Kite pushes 1 commit of pay to origin: ${remote}`);
  expect(pushed("pay")).toBe(head("pay"));
  expect(home.git(remote, "for-each-ref", "--format=%(refname)").trim()).toBe("refs/heads/pay");
  const { words, cwd, here } = JSON.parse(readFileSync(said, "utf8"));
  expect(words).toEqual([
    "pr",
    "create",
    `--repo=${remote}`,
    "--head=pay",
    "--base=main",
    "--title=pay",
    "--body=- pay",
  ]);
  expect([cwd.startsWith(home.repo), here]).toEqual([false, []]);
  expect(existsSync(cwd)).toBe(false);
});

test("a rejected push, a gh that fails and one that is missing are said, and what was done stands there", async () => {
  const folder = home.branch("cart", { "cart.ts": "cart\n" });
  standIn(4);
  const failed = await pr("cart");
  expect(failed).toMatchObject({ code: 1 });
  expect(failed.err).toContain(
    "gh ended with 4: cart is pushed, and no pull request is known to be open. Try again: gh pr create",
  );
  expect(pushed("cart")).toBe(head("cart"));
  // The remote has a commit that the branch lacks.
  const before = head("cart");
  home.write(folder, { "cart.ts": "more\n" });
  home.commit(folder, "more");
  home.git(folder, "push", "-q", "origin", "cart");
  home.git(folder, "reset", "-q", "--hard", before);
  home.write(folder, { "other.ts": "other\n" });
  home.commit(folder, "other");
  const there = pushed("cart");
  rmSync(said, { force: true });
  const rejected = await pr("cart");
  expect(rejected).toMatchObject({ code: 1 });
  expect(rejected.err).toContain("git did not push cart");
  expect(pushed("cart")).toBe(there);
  expect(existsSync(said)).toBe(false);
  rmSync(join(tools, "gh"));
  home.branch("alone", { "alone.ts": "alone\n" });
  const alone = await pr("alone");
  expect(alone.out).toContain("! gh is not installed: the branch alone is pushed");
  expect(alone.out).toContain(
    "No pull request was opened. Install gh, then: gh pr create --head alone --base main",
  );
  expect(alone.code).toBe(1);
  expect(pushed("alone")).toBe(head("alone"));
});

test("a detached worktree, a merged branch and a branch that is not there are refused before a question", async () => {
  const folder = home.branch("gone", { "gone.ts": "gone\n" });
  await home.author("gone");
  home.git(folder, "checkout", "-q", "--detach");
  home.git(home.repo, "branch", "-qD", "gone");
  expect((await pr("gone")).err).toContain("works on no branch");
  expect((await pr("nothing")).err).toContain("there is no local branch nothing");
  home.git(home.repo, "branch", "-q", "old", "main");
  expect((await pr("old")).err).toContain("main has all of old already");
});

test.each([
  ["core.sshCommand", "touch RAN"],
  ["credential.helper", "!touch RAN"],
  ["url.ext::touch RAN.insteadOf", "https://example.org/"],
  ["remote.origin.receivepack", "touch RAN; git-receive-pack"],
  ["remote.origin.uploadpack", "touch RAN; git-upload-pack"],
  ["remote.origin.vcs", "evil"],
  ["core.gitProxy", "touch RAN"],
  ["protocol.ext.allow", "always"],
])("%s of the repository's own configuration is not followed unless it is trusted", async (key, value) => {
  if (!existsSync(home.tree("guarded"))) home.branch("guarded", { "guarded.ts": "guarded\n" });
  const ran = join(home.work, "ran");
  home.git(home.repo, "config", key.replace("RAN", ran), value.replace("RAN", ran));
  const answer = await pr("guarded");
  home.git(home.repo, "config", "--unset-all", key.replace("RAN", ran));
  expect(answer).toMatchObject({ code: 1, asked: [] });
  expect(answer.err).toContain("of the repository's own git configuration");
  expect([existsSync(ran), pushed("guarded")]).toEqual([false, ""]);
});

test("a hook pre-push is not run: nothing is pushed, and the line that pushes is named", async () => {
  if (!existsSync(home.tree("guarded"))) home.branch("guarded", { "guarded.ts": "guarded\n" });
  const ran = join(home.work, "hook-ran");
  const hooks = join(home.repo, ".git/hooks");
  mkdirSync(hooks, { recursive: true });
  writeFileSync(join(hooks, "pre-push"), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
  const answer = await pr("guarded");
  rmSync(join(hooks, "pre-push"));
  expect(answer).toMatchObject({ code: 1, asked: [] });
  expect(answer.err).toContain(
    "has a hook pre-push, which Kite does not run; nothing was pushed. Push it yourself: git push origin guarded",
  );
  expect([existsSync(ran), pushed("guarded")]).toEqual([false, ""]);
});
