/**
 * What a told agent confirms by sending its line again, what an ended session leaves, and what owners hear of work that
 * another one took: through the hooks of the client, on real repositories, with what is let through run by a real shell.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Files, LineWorld, read, type SceneKind } from "./guard-scene.ts";
import { firstCommit } from "./guard-world.ts";

const w = new LineWorld();

// What is kept is told otherwise, with how to have it back: rescue-told.test.ts. Here nothing is.
beforeAll(() => {
  mkdirSync(w.paths.home, { recursive: true, mode: 0o700 });
  writeFileSync(w.paths.config, '{"rescue": "off"}', { mode: 0o600 });
  return w.start();
});
afterAll(() => w.dispose());

/** An edit, and what the agent reads before it. */
async function edit(session: string, dir: string, file: string, text: string): Promise<string> {
  return read(await w.wholeEdit(session, dir, file, text));
}

const prompt = async (session: string, dir: string): Promise<string> =>
  read(await w.event(session, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" }));

const files: Files = {
  "a.ts": "a.ts\n",
  "b.ts": "b.ts\n",
  "src/c.ts": "src/c.ts\n",
  "src/deep/d.ts": "d.ts\n",
};
/** A checkout in which nobody has work yet. */
const alone: SceneKind = { committed: files, made: firstCommit, ann: {}, bob: {} };
/** Two sessions with work in one checkout. */
const checkout: SceneKind = { ...alone, ann: { "a.ts": "ann's\n" }, bob: { "b.ts": "bob's\n" } };

describe("what is confirmed is that line on those contents", () => {
  it.each([
    ["git commit -a -m x", "git commit -am x"],
    ["git add -A", "git add --all"],
    ["git add .", "git stage ."],
    ["git add -A", "git add -A && git status"],
  ])("%s does not confirm %s", async (first, second) => {
    const { dir, bob } = await w.scene(checkout);
    expect(await w.line(bob, dir, first)).toContain("did not run yet");
    expect(await w.line(bob, dir, second)).toContain("did not run yet");
    expect(await w.line(bob, dir, first)).toBe("");
  });

  it("the same file written again asks again, by whatever means", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    expect(await w.line(bob, dir, "git add -A")).toContain("did not run yet");
    await edit(ann, dir, "a.ts", "ann's again\n");
    expect(await w.line(bob, dir, "git add -A")).toContain("did not run yet");
    w.put(dir, "a.ts", "from outside\n");
    expect(await w.line(bob, dir, "git add -A")).toContain("did not run yet");
    expect(await w.line(bob, dir, "git add -A")).toBe("");
  });

  it("another file asks again, and so does another directory", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    expect(await w.line(bob, dir, "git add -A .")).toContain("did not run yet");
    await edit(ann, dir, "src/c.ts", "ann's\n");
    const said = await w.line(bob, dir, "git add -A .");
    expect(said).toContain('"src/c.ts"');
    expect(await w.line(bob, `${dir}/src`, "git add -A .")).toContain("did not run yet");
    expect(await w.line(bob, dir, "git add -A .")).toBe("");
  });

  it("a line that is denied for one command was told of no other", async () => {
    const { dir, bob } = await w.scene(checkout);
    expect(await w.line(bob, dir, "git add -A && git stash -u")).toContain("`git stash push` in it may wipe");
    expect(await w.line(bob, dir, "git add -A")).toContain("did not run yet");
    // The line itself stays denied, however often it is sent.
    expect(await w.line(bob, dir, "git add -A && git stash -u")).toContain("may wipe");
  });

  it("and the trail says that it was sent again", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    await w.line(bob, dir, "git add -A");
    await w.line(bob, dir, "git add -A");
    const why = `was told and sent it again, reaches uncommitted work: a.ts (${ann})`;
    expect((await w.trail(bob)).map(({ decision, why: said }) => [decision, said])).toContainEqual([
      "allow",
      why,
    ]);
  });
});

describe("what a session left that has ended", () => {
  it.each(["git stash", "git checkout -- .", "git reset -q --hard", "git restore a.ts"])(
    "is guarded: %s is refused once and told whose it was, and runs when it is sent again",
    async wipe => {
      const { dir, ann, bob } = await w.scene(checkout);
      await w.ends(ann, dir);
      const said = await w.line(bob, dir, wipe);
      expect(said).toContain("may wipe uncommitted work of a session that has ended");
      expect(said).toMatch(
        new RegExp(`"a.ts" has uncommitted changes of "${ann}" \\(session ended\\), written .* ago`),
      );
      expect(w.read(dir, "a.ts")).toBe("ann's\n");
      expect(await w.line(bob, dir, wipe)).toBe("");
      expect(w.read(dir, "a.ts")).toBe("a.ts\n");
      const whys = (await w.trail(bob)).map(({ why }) => why);
      expect(whys).toContain(`was told and sent it again, reaches uncommitted work: a.ts (${ann}, ended)`);
    },
  );

  it("is guarded after a restart of the daemon", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    await w.ends(ann, dir);
    await w.restart();
    expect(await w.line(bob, dir, "git stash")).toContain(`"${ann}"`);
    const client = await w.client();
    const reply = await client.ask({ type: "query", target: "writes", project: dir });
    expect(Object.values(reply["rows"] ?? {})).toContainEqual(
      expect.objectContaining({
        file: "a.ts",
        writers: [expect.objectContaining({ name: ann, live: false })],
      }),
    );
  });

  it("is nobody's when it is committed or clean again", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    await edit(ann, dir, "src/c.ts", "ann's\n");
    await w.ends(ann, dir);
    w.git(dir, "commit", "-qm", "x", "--", "a.ts");
    w.put(dir, "src/c.ts", "src/c.ts\n");
    await prompt(bob, dir);
    expect(await w.line(bob, dir, "git stash")).toBe("");
  });

  it("is in the file still when a living one has written it since", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    await w.ends(ann, dir);
    await edit(bob, dir, "a.ts", "ann's\nand bob's\n");
    await prompt(bob, dir);
    expect(await w.line(bob, dir, "git checkout -- a.ts")).toContain(
      `"a.ts" has uncommitted changes of "${ann}"`,
    );
    expect(await w.line(bob, dir, "git commit -qam mine")).toBe("");
  });

  it("may be committed by anybody, without a word", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    await w.ends(ann, dir);
    expect(await w.line(bob, dir, "git add -A && git commit -qm all")).toBe("");
  });

  it("is its own again when it goes on", async () => {
    const { dir, ann } = await w.scene(checkout);
    await w.ends(ann, dir);
    await w.event(ann, dir, { hook_event_name: "SessionStart", source: "resume" });
    expect(await w.line(ann, dir, "git restore a.ts")).toBe("");
  });

  it("does not soften what a living one's work needs", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    await w.ends(ann, dir);
    await edit("cyd", dir, "src/c.ts", "cyd's\n");
    for (let n = 0; n < 2; n += 1) {
      const said = await w.line(bob, dir, "git stash");
      expect(said).toContain("may wipe uncommitted work of other agents");
      expect(said).toContain('tell "cyd" what you need');
    }
    await w.ends("cyd", dir);
  });
});

describe("whoever's work another one took", () => {
  it("is told of the commit, once, with its next event that waits", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    await edit(ann, dir, "src/c.ts", "ann's\n");
    const all = "git add -A && git commit -qm all";
    await w.line(bob, dir, all);
    expect(await w.line(bob, dir, all)).toBe("");
    const head = w.git(dir, "rev-parse", "HEAD").trim().slice(0, 10);
    const said = await prompt(ann, dir);
    expect(said).toContain("git commands of other agents committed or removed uncommitted work of yours");
    expect(said).toContain(`\`git commit\` of "${bob}" committed your uncommitted work in`);
    expect(said).toContain(`"a.ts"`);
    expect(said).toContain(`"src/c.ts"`);
    expect(said).toContain(`git show ${head}`);
    expect(await prompt(ann, dir)).toBe("");
    expect(await prompt(bob, dir)).toBe("");
    const [note] = (await w.trail(bob)).filter(({ event }) => event === "work_taken");
    expect(note?.why).toBe(`committed as ${head}: it was uncommitted work of ${ann}`);
  });

  it("is told so after a restart, too", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    await w.line(bob, dir, "git commit -qam all");
    expect(await w.line(bob, dir, "git commit -qam all")).toBe("");
    await w.restart();
    expect(await edit(ann, dir, "new.ts", "x\n")).toContain('committed your uncommitted work in "a.ts"');
    await w.restart();
    expect(await edit(ann, dir, "new.ts", "y\n")).toBe("");
  });

  it("is told of the right commit where the line makes several and goes elsewhere", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    w.git(dir, "branch", "other");
    const many = "git commit -qam all && git commit -q --allow-empty -m empty && git checkout -q other";
    // What the checkout may wipe is committed by then; that it is still known as uncommitted is another matter.
    await w.restart("warn");
    expect(await w.line(bob, dir, many)).toContain("runs anyway");
    const commit = w.git(dir, "rev-parse", "main~1").trim().slice(0, 10);
    expect(await prompt(ann, dir)).toContain(`committed your uncommitted work in "a.ts" as ${commit}`);
    await w.restart();
  });

  it.each([
    ["git stash", "git stash push"],
    ["git reset -q --hard", "git reset --hard"],
    ["git checkout .", "git checkout"],
  ])("is told where it is gone: %s", async (wipe, name) => {
    const { dir, ann, bob } = await w.scene(checkout);
    await w.restart("warn");
    expect(await w.line(bob, dir, wipe)).toContain("runs anyway");
    const said = await prompt(ann, dir);
    expect(said).toContain(
      `\`${name}\` of "${bob}" removed your uncommitted work from the working tree: "a.ts"`,
    );
    // Said once: that the file changed while a shell command ran is the same.
    expect(said).not.toContain("shell command");
    expect(await prompt(bob, dir)).toBe("");
    await w.restart();
  });

  it.each([
    ["true && git checkout -- .", "git checkout", "c.ts"],
    ["git stash -q", "git stash push", "src/c.ts"],
    ["cd src && git reset -q --hard", "git reset --hard", "c.ts"],
    ["git clean -qfd src", "git clean", "src/new.ts"],
  ])("is told of what it wrote while the line ran: %s", async (wipe, name, file) => {
    const { dir, ann, bob } = await w.scene(checkout);
    w.put(dir, "c.ts", "c\n");
    w.git(dir, "add", "-A");
    w.git(dir, "commit", "-qm", "all");
    expect(await w.line(bob, dir, wipe, () => edit(ann, dir, file, "ann's late\n"))).toBe("");
    const said = await prompt(ann, dir);
    expect(said).toContain(
      `\`${name}\` of "${bob}" removed your uncommitted work from the working tree: "${file}"`,
    );
    expect(said).not.toContain("shell command");
    expect(await prompt(bob, dir)).toBe("");
    const [note] = (await w.trail(bob)).filter(({ event }) => event === "work_taken");
    expect(note?.why).toContain(`uncommitted work of ${ann}`);
  });

  it("is told nothing of what stayed of that", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    w.git(dir, "add", "-A");
    w.git(dir, "commit", "-qm", "all");
    const meanwhile = async () => {
      await edit(ann, dir, "src/c.ts", "ann's late\n");
      await edit(bob, dir, "b.ts", "bob's late\n");
    };
    expect(await w.line(bob, dir, "git checkout -q -- a.ts b.ts", meanwhile)).toBe("");
    expect(w.read(dir, "src/c.ts")).toBe("ann's late\n");
    expect([await prompt(ann, dir), await prompt(bob, dir)]).toEqual(["", ""]);
  });

  it("is told nothing of what was only staged, and of what is its own", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    await w.line(bob, dir, "git add -A");
    expect(await w.line(bob, dir, "git add -A")).toBe("");
    expect(await w.line(ann, dir, "git commit -qm mine -- a.ts")).toBe("");
    expect([await prompt(ann, dir), await prompt(bob, dir)]).toEqual(["", ""]);
  });

  it("is an event, too", async () => {
    const { dir, ann, bob } = await w.scene(checkout);
    const events = await w.client();
    await events.ask({ type: "subscribe", events: ["work_taken"], project: dir });
    await w.line(bob, dir, "git commit -qam all");
    await w.line(bob, dir, "git commit -qam all");
    expect(await events.event("work_taken")).toMatchObject({
      how: "committed",
      command: "git commit -a",
      commit: w.git(dir, "rev-parse", "HEAD").trim().slice(0, 10),
      files: ["a.ts"],
      paths: [`${dir}/a.ts`],
      by: { id: bob },
      owner: { id: ann },
    });
  });
});

describe("work that git brings back", () => {
  it.each([
    ["a stash", "git stash", "git stash pop"],
    ["a stash with what is new", "git stash -u", "git stash apply"],
    ["a commit taken back", "git commit -qam x", "git reset HEAD~1"],
    ["a commit taken back softly", "git commit -qam x", "git reset -q --soft HEAD~1"],
  ])("is its writer's again: %s", async (_what, away, back) => {
    const { dir, ann, bob } = await w.scene(alone);
    await edit(ann, dir, "a.ts", "ann's\n");
    expect(await w.line(ann, dir, away)).toBe("");
    expect(await w.line(bob, dir, "git reset -q --hard")).toBe("");
    expect(await w.line(ann, dir, back)).toBe("");
    expect(w.git(dir, "status", "--porcelain")).toContain("a.ts");
    expect(await w.line(bob, dir, "git checkout -f")).toContain("a.ts");
    expect(await w.line(ann, dir, "git checkout -f")).toBe("");
  });

  it("is its writer's too if another one brings it back", async () => {
    const { dir, ann, bob } = await w.scene(alone);
    await edit(ann, dir, "a.ts", "ann's\n");
    await w.line(ann, dir, "git stash");
    await w.ends(ann, dir);
    expect(await w.line(bob, dir, "git stash pop")).toContain("did not run yet");
    await w.line(bob, dir, "git stash pop");
    expect(await w.line(bob, dir, "git checkout -f")).toContain("a.ts");
  });

  it("and is its actor's if it is a commit picked", async () => {
    const { dir, ann, bob } = await w.scene(alone);
    await edit(ann, dir, "a.ts", "ann's\n");
    await w.line(ann, dir, "git commit -qam x");
    await w.line(ann, dir, "git branch topic; git reset -q --hard HEAD~1");
    await w.line(bob, dir, "git cherry-pick -n topic");
    expect(await w.line(ann, dir, "git reset -q --hard")).toContain("a.ts");
    expect(await w.line(bob, dir, "git reset -q --hard")).toBe("");
  });
});
