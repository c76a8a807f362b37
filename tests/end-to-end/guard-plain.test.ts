/** Plain commands that name files: what they would wipe of another agent, and the files that they change in place. */
import { existsSync, symlinkSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nameOfId } from "../session-name.ts";
import { LineWorld, read, rows, type SceneKind } from "./guard-scene.ts";
import { firstCommit } from "./guard-world.ts";

const w = new LineWorld();

beforeAll(() => w.start());
afterAll(() => w.dispose());

/** Of each agent a file that was there and a new one; ann's also in folders, and where git ignores them. */
const both: SceneKind = {
  committed: {
    ".gitignore": "dist/\n*.log\n",
    "a.ts": "a.ts\n",
    "b.ts": "b.ts\n",
    "src/c.ts": "src/c.ts\n",
    "src/d.ts": "src/d.ts\n",
    "lib/x.ts": "lib/x.ts\n",
  },
  made: firstCommit,
  ann: {
    "a.ts": "ann's\n",
    "ann.ts": "ann's new\n",
    "src/c.ts": "ann's\n",
    "dist/out.js": "built\n",
    "run.log": "run\n",
  },
  bob: { "b.ts": "bob's\n", "bob.ts": "bob's new\n" },
  loose: { "gen/c.ts": "generated\n", "gen/new.ts": "generated\n", "c.ts": "loose\n" },
};

describe("where both have changed and new files", () => {
  rows(w, both, [
    ["rm a.ts", "denied"],
    ["rm -f ann.ts b.ts", "denied"],
    ["rm -rf src", "denied"],
    ["rm -r .", "denied"],
    ["rm -rf ../REPO", "denied"],
    ["rm *.ts", "denied"],
    ["rm -rf *", "denied"],
    ["rm src/[cd].ts", "denied"],
    ["cd src && rm c.ts", "denied"],
    ["for f in a.ts b.ts; do rm $f; done", "denied"],
    ["echo a.ts | xargs rm", "denied"],
    ["truncate -s 0 a.ts", "denied"],
    ["cp b.ts a.ts", "denied"],
    ["cp c.ts src", "denied"],
    ["cp -r gen/. src", "denied"],
    ["cp gen/*.ts src/", "denied"],
    ["mv b.ts a.ts", "denied"],
    ["mv c.ts src/", "denied"],
    ["echo x | tee a.ts", "denied"],
    ["rm b.ts && git stash list && rm ann.ts", "denied"],
    ["git show HEAD:a.ts > a.ts", "denied"],
    [": > src/c.ts", "denied"],
    ["git show HEAD:a.ts > b.ts", "runs"],
    ["git show HEAD:a.ts > new.ts", "runs"],
    ["git log >> b.ts 2>/dev/null", "runs"],
    ["rm b.ts bob.ts", "runs"],
    ["rm src/d.ts", "runs"],
    ["rm lib/*.ts", "runs"],
    ["rm -f missing.ts", "runs"],
    ["rm */none.ts || true", "runs"],
    ["rm -rf gen lib", "runs"],
    ["cp a.ts copy.ts", "runs"],
    ["cp a.ts b.ts", "runs"],
    ["cp -n b.ts a.ts || true", "runs"],
    ["cp gen/n*.ts src/", "runs"],
    ["cp -r gen src", "runs"],
    ["mv b.ts moved.ts", "runs"],
    ["echo x | tee new.ts", "runs"],
    ["echo x | tee -a b.ts", "runs"],
    ["sed -i s/bob/bobs/ b.ts", "runs"],
    ['rm "$NOTHING" || true', "runs"],
  ]);
});

describe("what is said and noted", () => {
  it("of a line that may wipe: whose work, and what to do", async () => {
    const { dir, ann, bob } = await w.scene(both);
    const said = await w.asks(bob, dir, "rm -rf src a.ts");
    expect(said.split("\n")).toEqual([
      "Kite: this command line did not run: `rm -r` in it may wipe uncommitted work of another agent.",
      expect.stringMatching(
        new RegExp(
          `"src/c.ts" has uncommitted changes of "${nameOfId(ann)}"; "a.ts" has uncommitted changes of`,
        ),
      ),
      `What to do: leave out these files, work in a worktree of your own (git worktree add), tell "${nameOfId(ann)}" what you need, or ask your user.`,
    ]);
    expect(await w.trail(bob)).toContainEqual(
      expect.objectContaining({ type: "rm -r", decision: "deny", rule: "guard", file: `${dir}/src/c.ts` }),
    );
  });

  it("what git ignores is nobody's, whoever wrote it", async () => {
    const { dir, bob } = await w.scene(both);
    expect(await w.line(bob, dir, "rm -rf dist run.log")).toBe("");
    expect(existsSync(`${dir}/dist`)).toBe(false);
  });

  it("committed work is nobody's any more", async () => {
    const { dir, ann, bob } = await w.scene(both);
    expect(await w.line(ann, dir, "git add a.ts && git commit -qm ann -- a.ts")).toBe("");
    expect(await w.line(bob, dir, "rm a.ts")).toBe("");
  });

  it("an ended session's work is told, not refused", async () => {
    const { dir, ann, bob } = await w.scene(both);
    await w.ends(ann, dir);
    const said = await w.line(bob, dir, "rm a.ts");
    expect(said).toContain(
      "`rm` wipes uncommitted work of a session that has ended. The command line runs anyway.",
    );
    expect(said).toContain(`"a.ts" has uncommitted changes of "${nameOfId(ann)}" (session ended)`);
    expect(existsSync(`${dir}/a.ts`)).toBe(false);
  });

  it("a link to another one's file is one's own to remove, but not to write through", async () => {
    const { dir, bob } = await w.scene(both);
    symlinkSync("a.ts", `${dir}/link.ts`);
    expect(await w.asks(bob, dir, "cp bob.ts link.ts")).toContain("may wipe");
    expect(await w.line(bob, dir, "rm link.ts")).toBe("");
    expect(w.read(dir, "a.ts")).toBe("ann's\n");
  });

  it("another repository's file by its path, from anywhere", async () => {
    const { dir, bob } = await w.scene(both);
    const other = w.repo("other-for-plain");
    expect(await w.asks(bob, other, `rm -rf ${dir}/src`)).toContain("may wipe");
    expect(await w.asks(bob, "/", `rm ${dir}/a.ts`)).toContain("may wipe");
  });

  it("a file that another one is writing, and one that it keeps", async () => {
    const { dir, ann, bob } = await w.scene(both);
    const call = { tool_name: "Edit", tool_input: { file_path: `${dir}/src/d.ts` }, tool_use_id: "w-plain" };
    await w.event(ann, dir, { hook_event_name: "PreToolUse", ...call });
    const said = await w.asks(bob, dir, "rm src/d.ts");
    expect(said).toContain(`"src/d.ts" is held by "${nameOfId(ann)}"`);
    const client = await w.client();
    expect(await client.ask({ type: "file_lock", id: ann, file: `${dir}/lib/` })).toMatchObject({ ok: true });
    expect(await w.asks(bob, dir, "rm lib/x.ts")).toContain(`"lib/" is held by "${nameOfId(ann)}"`);
  });

  it("a file that another one only holds is not called uncommitted work, neither to the agent nor in the trail", async () => {
    const dir = w.repo("only-held");
    for (const session of ["hal", "ida"])
      await w.event(session, dir, { hook_event_name: "SessionStart", source: "startup" });
    const client = await w.client();
    await client.ask({ type: "file_lock", id: "hal", file: `${dir}/src/c.ts` });
    for (const line of ["git checkout -- src", "rm src/c.ts"]) {
      const said = await w.asks("ida", dir, line);
      expect(said).toContain("in it may change or remove a file that another agent holds.");
      expect(said).toContain('"src/c.ts" is held by "hal"');
      expect(said).not.toContain("uncommitted work of");
    }
    w.put(dir, "src/c.ts", "not committed\n");
    expect(await w.asks("ida", dir, "git stash")).toContain("may wipe uncommitted work of another agent.");
    const denials = (await w.trail("ida")).filter(({ decision }) => decision === "deny");
    expect(denials.map(({ why }) => why)).toEqual([
      "would reach files that others hold: src/c.ts (hal)",
      "would wipe files that others hold: src/c.ts (hal)",
      "would reach uncommitted work: src/c.ts (hal)",
    ]);
  });
});

describe("changes in place are edits", () => {
  let uses = 0;

  /** The hook before a line; `ends` is the hook behind it. */
  async function begin(session: string, dir: string, command: string) {
    uses += 1;
    const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: `p${uses}` };
    const said = w.event(session, dir, { hook_event_name: "PreToolUse", ...call });
    const ends = () =>
      w.event(session, dir, { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 5, ...call });
    return { said, ends };
  }

  async function holders(dir: string): Promise<Record<string, string>> {
    const client = await w.client();
    const { rows: locks } = await client.ask({ type: "query", target: "locks" });
    const here = (locks as { path: string; holder: { id: string } }[]).filter(one =>
      one.path.startsWith(dir),
    );
    return Object.fromEntries(here.map(one => [one.path.slice(dir.length + 1), one.holder.id]));
  }

  it("the line holds the files that it names until it ends, and the change is its agent's work", async () => {
    const { dir, ann, bob } = await w.scene(both);
    const line = await begin(bob, dir, "sed -i s/a/b/ src/d.ts lib/x.ts");
    expect(await line.said).toBe("");
    expect(await holders(dir)).toEqual({ "src/d.ts": bob, "lib/x.ts": bob });
    w.put(dir, "src/d.ts", "bob's\n");
    await line.ends();
    expect(await holders(dir)).toEqual({});
    expect(await w.asks(ann, dir, "rm src/d.ts")).toContain(nameOfId(bob));
    expect(await w.line(ann, dir, "rm lib/x.ts")).toBe("");
  });

  it("an edit waits for the line, and the line for an edit", async () => {
    const { dir, ann, bob } = await w.scene(both);
    const line = await begin(bob, dir, "npx prettier --write src/d.ts");
    expect(await line.said).toBe("");
    const edit = { tool_name: "Edit", tool_input: { file_path: `${dir}/src/d.ts` }, tool_use_id: "e-waits" };
    let isOver = false;
    const waits = w.event(ann, dir, { hook_event_name: "PreToolUse", ...edit }).finally(() => {
      isOver = true;
    });
    await waitFor(dir, "src/d.ts", 1);
    expect(isOver).toBe(false);
    w.put(dir, "src/d.ts", "bob's\n");
    await line.ends();
    expect(read(await waits)).toContain(`"${nameOfId(bob)}" changed "src/d.ts"`);
    const next = await begin(bob, dir, "sed -i s/x/y/ src/d.ts");
    await waitFor(dir, "src/d.ts", 1);
    w.put(dir, "src/d.ts", "ann's\n");
    await w.event(ann, dir, { hook_event_name: "PostToolUse", tool_response: {}, ...edit });
    await w.event(ann, dir, { hook_event_name: "Stop" });
    const said = read(await next.said);
    expect(said).toContain(`"${nameOfId(ann)}" changed "src/d.ts"`);
    expect(said).toContain("Your command line runs.");
    await next.ends();
  });

  /** Resolves when so many wait for a file. */
  async function waitFor(dir: string, file: string, count: number): Promise<void> {
    const client = await w.client();
    for (;;) {
      const { rows: locks } = await client.ask({ type: "query", target: "locks" });
      const row = (locks as { path: string; waiters: unknown[] }[]).find(
        one => one.path === `${dir}/${file}`,
      );
      if (row?.waiters.length === count) return;
    }
  }

  it("another one's uncommitted lines do not keep a change in place back, nor does a folder", async () => {
    const { dir, bob } = await w.scene(both);
    const line = await begin(bob, dir, "sed -i s/ann/bob/ a.ts && npx prettier --write . 'src/*.ts'");
    expect(await line.said).toBe("");
    expect(await holders(dir)).toEqual({ "a.ts": bob });
    w.put(dir, "a.ts", "bob's\n");
    await line.ends();
    expect(await holders(dir)).toEqual({});
  });

  it("a kept lock refuses it, with the holder", async () => {
    const { dir, ann, bob } = await w.scene(both);
    const client = await w.client();
    expect(await client.ask({ type: "file_lock", id: ann, file: `${dir}/src/d.ts` })).toMatchObject({
      ok: true,
    });
    const said = await w.asks(bob, dir, "sed -i s/a/b/ src/d.ts");
    expect(said).toContain("Kite: this command line did not run: another agent holds the file.");
    expect(said).toContain(`"src/d.ts" is held by "${nameOfId(ann)}"`);
    expect(said).toContain("Do not change this file in another way.");
    expect(await w.asks(bob, dir, "mv src lib2")).toContain("did not run");
  });

  it("its own lock from an edit stays, and a line that is denied leaves none", async () => {
    const { dir, bob } = await w.scene(both);
    const edit = { tool_name: "Edit", tool_input: { file_path: `${dir}/b.ts` }, tool_use_id: "e-own" };
    await w.event(bob, dir, { hook_event_name: "PreToolUse", ...edit });
    await w.event(bob, dir, { hook_event_name: "PostToolUse", tool_response: {}, ...edit });
    expect(await w.line(bob, dir, "sed -i s/x/y/ b.ts")).toBe("");
    expect(await holders(dir)).toEqual({ "b.ts": bob });
    expect(await w.asks(bob, dir, "sed -i s/x/y/ src/d.ts && git stash -u")).toContain("may wipe");
    expect(await holders(dir)).toEqual({ "b.ts": bob });
    await w.event(bob, dir, { hook_event_name: "Stop" });
    expect(await holders(dir)).toEqual({});
  });

  it("two hooks of one line take its files once", async () => {
    const { dir, bob } = await w.scene(both);
    const tool_input = { command: "for f in src/d.ts; do sed -i s/x/y/ $f; done" };
    const call = { tool_name: "Bash", tool_input, tool_use_id: "p-twice" };
    const hook = () => w.event(bob, dir, { hook_event_name: "PreToolUse", ...call });
    expect(await Promise.all([hook(), hook(), hook()])).toEqual(["", "", ""]);
    expect(await hook()).toBe("");
    expect(await holders(dir)).toEqual({ "src/d.ts": bob });
    await w.event(bob, dir, { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 5, ...call });
    expect(await holders(dir)).toEqual({});
  });

  it("while a person is asked about the line its files stay held; a line that is refused gives them back", async () => {
    const { dir, bob } = await w.scene(both);
    const line = await begin(bob, dir, "sed -i s/x/y/ src/d.ts");
    expect(await line.said).toBe("");
    const call = { tool_name: "Bash", tool_input: { command: "sed -i s/x/y/ src/d.ts" } };
    await w.event(bob, dir, { hook_event_name: "PermissionRequest", ...call });
    expect(await holders(dir)).toEqual({ "src/d.ts": bob });
    await w.event(bob, dir, { hook_event_name: "PermissionDenied", ...call, tool_use_id: `p${uses}` });
    expect(await holders(dir)).toEqual({});
  });

  it("a moved file's owner is told", async () => {
    const { dir, ann, bob } = await w.scene(both);
    expect(await w.line(bob, dir, "mv a.ts moved.ts")).toBe("");
    const said = await w.event(ann, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" });
    expect(said).toContain("a.ts");
    expect(said).toContain(nameOfId(bob));
  });
});

describe("gates", () => {
  it("ask before a file that a line names as before an edit, and not before build output or other files", async () => {
    const dir = w.copy("gated", both.committed, firstCommit);
    w.put(dir, ".kite/config.json", '{"gates": "strict"}');
    w.put(dir, "dist/out.js", "built\n");
    for (const line of ["sed -i s/a/b/ src/c.ts", "rm a.ts", "git status; mv a.ts x.ts", "cp b.ts a.ts"]) {
      const said = await w.asks("gated", dir, line);
      expect(said, line).toContain("Kite: this command line did not run");
      expect(said, line).toMatch(/understanding|for the same reasons as before/);
    }
    for (const line of ["rm -rf dist", "rm dist/out.js", "rm -f /tmp/none.ts", "rm missing.ts", "git status"])
      expect(await w.asks("gated", dir, line), line).toBe("");
  });

  it("warn once, and the line runs", async () => {
    const dir = w.copy("warned", both.committed, firstCommit);
    w.put(dir, ".kite/config.json", '{"gates": "team"}');
    const said = await w.line("warned", dir, "sed -i s/a/b/ src/c.ts");
    expect(said).toContain("Kite: your command line runs. This project asks you for this, too:");
    expect(said).toContain('file: "src/c.ts"');
  });
});

describe("as it is set", () => {
  it("warns, or says nothing", async () => {
    const { dir, bob } = await w.scene(both);
    await w.restart("warn");
    expect(await w.line(bob, dir, "rm ann.ts")).toContain("`rm` wipes uncommitted work of another agent.");
    await w.restart("off");
    expect(await w.line(bob, dir, "rm a.ts")).toBe("");
    await w.restart();
  });
});
