/** What a guarded command comes to where it cannot be looked at in time what is in its reach. */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { GitChild } from "../../daemon/facts/git/process.ts";
import { nodeProber, type Prober } from "../../daemon/facts/prober.ts";
import { FixedGit } from "../unit/fixed-git.ts";
import { type Client, Home } from "./daemon.ts";
import { addAll, command, commit, GuardWorld, reset, stash } from "./guard-world.ts";
import { HookWorld, hookPrograms } from "./hook-clients.ts";

const w = new GuardWorld();
let count = 0;

/** Git, until it is broken: a program that a test puts another one in place of. */
const program = join(w.folder, "git");
const becomes = (script: string) => writeFileSync(program, `#!/bin/sh\n${script}\n`);
const mends = () => becomes('exec git "$@"');
const breaks = () => becomes("echo broken >&2\nexit 128");
/** It writes the index in another form, as a later git may. */
const changesForm = () => becomes(`git "$@" | sed 's/ctime: /changed: /'`);

/** The machine's own files, until none of them can be looked at. */
let isOut = false;
const prober: Prober = {
  ...nodeProber,
  lstat: async path => {
    if (isOut) throw Object.assign(new Error("too many"), { code: "EIO", syscall: "lstat" });
    return nodeProber.lstat(path);
  },
};
// What was read of a repository is kept for a moment: the clock goes on when told.
let now = 0;
function fails(out = true): void {
  isOut = out;
  now += 60_000;
}

beforeAll(async () => {
  mends();
  chmodSync(program, 0o755);
  const git = new GitChild(process.env, new FixedGit(program));
  await w.start("deny", undefined, { git, outside: new BudgetedFs(prober, () => now) });
});
afterEach(() => {
  mends();
  fails(false);
});
afterAll(() => w.dispose());

/** A repository of its own with two sessions in it. */
async function pair() {
  count += 1;
  const dir = w.repo(`r${count}`);
  const [ann, bob] = [`ann${count}`, `bob${count}`];
  await w.begin(ann, dir);
  await w.begin(bob, dir);
  return { dir, ann, bob };
}

describe("where git does not answer", () => {
  it("as it does today, a command that may wipe what another one wrote is denied", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    changesForm();
    const { findings } = await w.guard(bob, dir, [reset]);
    expect(findings).toMatchObject([
      { verdict: "deny", unseen: "git writes its index in a form that Kite does not know" },
    ]);
  });

  it("a command that may wipe what another one wrote is denied, as far as its paths reach", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.edit(bob, dir, "b.ts", "bob\n");
    await w.stopped(ann);
    breaks();
    const denied = [`0 deny unseen: a.ts of ${ann}`, "unchecked: broken"];
    expect(await w.found(bob, dir, [stash])).toEqual(denied);
    expect(await w.found(bob, dir, [reset])).toEqual(denied);
    // However often.
    expect(await w.found(bob, dir, [stash])).toEqual(denied);
    expect(await w.found(bob, dir, [command("git stash push", { paths: ["b.ts"] })])).toEqual([
      "unchecked: broken",
    ]);
  });

  it("what a line may have brought back is its writer's", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    w.git(dir, "stash");
    await w.guard(ann, dir, [command("git status")], { toolUseId: "look" });
    await w.ended(ann, dir, { toolUseId: "look" });
    breaks();
    await w.guard(ann, dir, [command("git stash pop")], { toolUseId: "pop" });
    w.git(dir, "stash", "pop");
    await w.ended(ann, dir, { toolUseId: "pop" });
    mends();
    expect(await w.found(bob, dir, [reset])).toEqual([`0 deny: a.ts of ${ann}`]);
  });

  it("one that takes it in is told first, and passes when it is asked for again", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    breaks();
    for (const one of [addAll, commit]) {
      expect(await w.found(bob, dir, [one])).toEqual([
        `0 tell_first unseen: a.ts of ${ann}`,
        "unchecked: broken",
      ]);
      expect(await w.found(bob, dir, [one])).toEqual(["unchecked: broken"]);
    }
  });

  it("everything passes where nobody else wrote anything", async () => {
    const { dir, bob } = await pair();
    await w.edit(bob, dir, "b.ts", "bob\n");
    breaks();
    expect(await w.found(bob, dir, [stash])).toEqual([]);
  });

  it("a name that may be an alias counts as what may do anything", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    // It stops by a signal: no answer, not even that there is no such alias.
    becomes("kill -9 $$");
    const aliases = [{ name: "wipe", dir, gitDir: null, workTree: null }];
    const { findings, aliased } = await w.guard(bob, dir, [], { aliases });
    expect(aliased).toMatchObject([{ name: "git wipe", reach: "tree" }]);
    expect(findings).toMatchObject([{ command: 0, verdict: "deny", unseen: expect.any(String) }]);
    expect((await w.guard(ann, dir, [], { aliases })).findings).toEqual([]);
  });
});

describe("where the filesystem does not answer", () => {
  it("a command counts for the worktree that it seems to work in", async () => {
    const { dir, ann, bob } = await pair();
    const other = w.repo("other");
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    fails();
    const why = /^unchecked: git .*EIO/;
    const denied = [`0 deny unseen: a.ts of ${ann}`, expect.stringMatching(why)];
    expect(await w.found(bob, dir, [stash])).toEqual(denied);
    expect(await w.found(bob, `${dir}/src`, [reset])).toEqual(denied);
    expect(await w.found(bob, other, [{ ...stash, dir }])).toEqual(denied);
    const byName = command("git reset --hard", { gitDir: `${dir}/.git`, workTree: dir });
    expect(await w.found(bob, other, [byName])).toEqual(denied);
    const limited = command("git stash push", { paths: ["c.ts"] });
    expect(await w.found(bob, `${dir}/src`, [limited])).toEqual([expect.stringMatching(why)]);
    expect(await w.found(bob, other, [stash])).toEqual([expect.stringMatching(why)]);
    expect(await w.found(ann, dir, [stash])).toEqual([expect.stringMatching(why)]);
  });

  it("a file that another one holds counts for the worktree around it", async () => {
    const { dir, ann, bob } = await pair();
    const client = await w.client();
    await client.ask({ type: "file_lock", id: ann, file: "a.ts" });
    fails();
    expect(await w.found(bob, dir, [reset])).toEqual([
      `0 deny unseen: a.ts held by ${ann}`,
      expect.stringMatching(/EIO/),
    ]);
  });
});

describe("what is known all the same", () => {
  it("a write counts for its session's worktree, where the file cannot be looked at when it ends", async () => {
    const { dir, ann, bob } = await pair();
    const who = { session: ann, cwd: dir, toolUseId: "edit", ancestors: [] };
    const lock = { waitMs: 1000, promptId: null, parentFile: null, overwrites: [] };
    await w.act({ do: "lock", ...who, file: join(dir, "a.ts"), ...lock });
    w.put(dir, "a.ts", "ann\n");
    fails();
    await w.act({ do: "flight_end", ...who, wrote: true, file: join(dir, "a.ts"), lines: null });
    fails(false);
    await w.stopped(ann);
    expect(await w.found(bob, dir, [stash])).toEqual([`0 deny: a.ts of ${ann}`]);
  });

  it("a session whose repository could not be looked at says so, until its next event", async () => {
    const dir = w.repo("unplaced");
    const [ann, bob] = ["ann-away", "bob-away"];
    const client = await w.client();
    const rows = async () => {
      const { rows: found } = await client.ask({ type: "query", target: "sessions" });
      return (found as readonly { readonly id: string }[]).filter(({ id }) => [ann, bob].includes(id));
    };
    fails();
    const begin = { do: "begin", session: ann, cwd: `${dir}/src` };
    expect(await w.act({ ...begin, revive: true })).toMatchObject([
      { project: `${dir}/src`, unplaced: expect.stringContaining("EIO") },
    ]);
    expect(await rows()).toMatchObject([{ id: ann, unplaced: expect.stringContaining("EIO") }]);
    const again = await client.ask({ type: "register", id: bob, cwd: dir });
    expect(again).toMatchObject({ ok: true, unplaced: expect.stringContaining("EIO") });
    fails(false);
    expect(await w.act({ ...begin, revive: false })).toEqual([
      { did: "begin", ok: true, name: ann, project: dir },
    ]);
    expect(await client.ask({ type: "register", id: bob, cwd: dir })).not.toHaveProperty("unplaced");
    const known = await rows();
    expect(known).toMatchObject([{ project: dir, worktree: dir }, { project: dir }]);
    for (const row of known) expect(row).not.toHaveProperty("unplaced");
    // What was known of a session counts where it cannot be looked at again.
    fails();
    expect(await w.act({ ...begin, revive: true })).toMatchObject([
      { project: dir, unplaced: expect.any(String) },
    ]);
  });
});

describe("where the index cannot be taken", () => {
  it("for a session that has ended, a command is looked at all the same", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    await w.act({ do: "end", session: bob, cause: "test" });
    expect(await w.found(bob, dir, [stash])).toEqual([`0 deny: a.ts of ${ann}`]);
    expect(await w.ask(bob, dir, [command("git stash push", { paths: ["b.ts"] })])).toMatchObject({
      did: "guard",
      ok: false,
      refusal: { code: "session_ended" },
    });
  });

  it("for a session that cannot begin, too", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    await w.act({ do: "end", session: bob, cause: "test" });
    const who = { session: bob, cwd: dir };
    const line = { line: "git", ancestors: [], parentFile: null, aliases: [], unread: null };
    const asked = { ...who, toolUseId: "t", promptId: null, waitMs: 1000, ...line };
    const outcomes = await w.act(
      { do: "begin", ...who, revive: false },
      { do: "guard", ...asked, commands: [{ dir, ...stash }] },
    );
    expect(outcomes).toMatchObject([
      { did: "begin", ok: false, refusal: { code: "session_ended" } },
      { did: "guard", ok: true, findings: [{ verdict: "deny" }] },
    ]);
  });
});

describe("a daemon without descriptors", () => {
  const hook = (client: Client, session: string, cwd: string, event: string, fields: object) =>
    client.ask({
      type: "hook",
      event: { hook_event_name: event, session_id: session, cwd, prompt_id: "p", ...fields },
    });

  /** Starts one that may open few files, for a repository in which ann has work. */
  async function start(home: Home) {
    const limited = 'ulimit -n 64 && exec "$0" "$@"';
    const daemon = await home.start(["sh", "-c", limited, process.execPath, Home.program]);
    const dir = home.work;
    w.git(dir, "init", "-q");
    writeFileSync(join(dir, "a.ts"), "old\n");
    w.git(dir, "add", "-A");
    w.git(dir, "commit", "-qm", "first");
    const ann = await home.connect();
    const file = { tool_name: "Write", tool_use_id: "e", tool_input: { file_path: join(dir, "a.ts") } };
    for (const session of ["ann", "bob"])
      await hook(ann, session, dir, "SessionStart", { source: "startup" });
    await hook(ann, "ann", dir, "PreToolUse", file);
    writeFileSync(join(dir, "a.ts"), "ann's\n");
    await hook(ann, "ann", dir, "PostToolUse", { ...file, tool_response: {} });
    await hook(ann, "ann", dir, "Stop", { background_tasks: [] });
    return { dir, ann, daemon };
  }

  it("lets nothing pass over another one's work", async () => {
    const home = new Home();
    try {
      const { dir, ann } = await start(home);
      // As many edits that wait for their file as there is room for, beside connections that do nothing.
      const files = Array.from({ length: 100 }, (_, n) => join(dir, `${n}`));
      await ann.ask({ type: "file_lock", id: "ann", files, bind: true });
      const crowd: Client[] = [];
      for (let isFull = false; !isFull; ) {
        const one = await home.connect();
        crowd.push(one);
        const waits = one.blank().then(() => false);
        const waiting = { tool_name: "Edit", tool_use_id: `${crowd.length}` };
        const tool_input = { file_path: files[crowd.length] };
        const asked = hook(one, "bob", dir, "PreToolUse", { ...waiting, tool_input });
        isFull = await Promise.race([
          waits,
          asked.then(
            () => true,
            () => true,
          ),
        ]);
      }
      expect(crowd.length).toBeGreaterThan(5);
      for (const command of ["git stash", "git reset --hard", "git checkout .", "git -C . stash"]) {
        const tool = { tool_name: "Bash", tool_use_id: command, tool_input: { command } };
        const reply = await hook(ann, "bob", dir, "PreToolUse", tool);
        expect(reply, command).toMatchObject({ ok: true, output: expect.stringContaining('"deny"') });
        expect(reply["output"], command).toContain("may change or remove files that other agents hold");
      }
      for (const one of crowd) one.destroy();
      await ann.ask({ type: "file_unlock", id: "ann", all: true });
      const tool = { tool_name: "Bash", tool_use_id: "last", tool_input: { command: "git stash" } };
      const reply = await hook(ann, "bob", dir, "PreToolUse", tool);
      expect(reply["output"]).toContain("has uncommitted changes of");
    } finally {
      await home.dispose();
    }
  });

  it.each(hookPrograms)("takes the hooks all the same, by the $name client", async program => {
    const home = new Home();
    const hooks = new HookWorld(program);
    try {
      const { dir, daemon } = await start(home);
      // More than fit, and all of them stay.
      await Promise.allSettled(Array.from({ length: 200 }, () => home.connect()));
      for (const command of ["git stash", "git reset --hard", "git checkout ."]) {
        const tool = { tool_name: "Bash", tool_use_id: command, tool_input: { command } };
        const event = { hook_event_name: "PreToolUse", session_id: "bob", cwd: dir, prompt_id: "p", ...tool };
        const said = await hooks.run({
          stdin: JSON.stringify(event),
          env: { KITE_HOME: home.paths.home },
        });
        expect(said.stdout, command).toContain('"deny"');
        expect(said.stdout, command).toContain("has uncommitted changes of");
      }
      // What is no hook is told why it is not served, and who wants to stop the daemon is.
      const late = await home.connect();
      expect(await late.ask({ type: "query", target: "locks" })).toMatchObject({
        ok: false,
        code: "too_many_connections",
      });
      await late.ended;
      const last = await home.connect();
      expect(await last.ask({ type: "shutdown" })).toMatchObject({ ok: true });
      expect(await daemon.exited).toEqual({ code: 0, signal: null });
    } finally {
      await hooks.dispose();
      await home.dispose();
    }
  });
});
