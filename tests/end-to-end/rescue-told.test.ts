/** Whoever's work was wiped hears it with the line that brings it back, and so does who did it; and nobody hears it in vain. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WipeRow } from "../../protocol/schemas/rescue.ts";
import { RestoreWorld } from "./restore-world.ts";

const world = new RestoreWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

/** What an agent is told with its next prompt. */
async function hears(session: string, dir: string): Promise<string> {
  return contextIn(await world.event(session, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" }));
}

/** What an agent is told with the end of a shell line, which `does` something that its hook does not see. */
async function runs(session: string, dir: string, command: string, does: () => void): Promise<string> {
  const call = world.call("Bash", { command });
  await world.event(session, dir, { hook_event_name: "PreToolUse", ...call });
  does();
  const end = { hook_event_name: "PostToolUse", duration_ms: 1, ...call };
  return contextIn(await world.event(session, dir, end));
}

function contextIn(said: string): string {
  if (said === "") return "";
  const { hookSpecificOutput } = JSON.parse(said) as { hookSpecificOutput?: { additionalContext?: string } };
  return hookSpecificOutput?.additionalContext ?? "";
}

/** The lines about wiped work in what an agent was told. */
function wipedLines(told: string): readonly string[] {
  return told.split("\n").filter(line => line.includes("kite rescue restore"));
}

/** Runs the command at the end of such a line in the shell of the agent. */
async function paste(line: string | undefined, session: string, dir: string): Promise<void> {
  const [, words = ""] = /: kite (rescue restore .+)$/.exec(line ?? "") ?? [];
  const { code, err } = await world.kite(dir, words.split(" "), session);
  expect({ line, code, err }).toEqual({ line, code: 0, err: "" });
}

/** Two agents in a repository, of which the first has work; both turns are over. */
async function two(name: string): Promise<{ dir: string; ann: string; bob: string }> {
  const dir = world.repo(name);
  const [ann, bob] = [`ann-${name}`, `bob-${name}`];
  for (const session of [ann, bob])
    await world.event(session, dir, { hook_event_name: "SessionStart", source: "startup" });
  return { dir, ann, bob };
}

/** The work: a changed file, a new one, and one below a folder. */
const work = {
  "a.ts": "a.ts\nexport const one = 1;\nexport function two() {\n  return 2;\n}\n",
  "new.ts": 'export const made = true;\r\nexport const bytes = "\u00e9\u{1f600}";',
  "src/c.ts": "src/c.ts\nexport const three = 3;\n",
} as const;
type Work = keyof typeof work;
const all = Object.keys(work) as readonly Work[];

/** Does the work as the agent, and ends its turn. */
async function writes(session: string, dir: string): Promise<void> {
  for (const file of all) await world.write(session, dir, file, work[file]);
  await world.event(session, dir, { hook_event_name: "Stop" });
}

describe("what the guard does not see", () => {
  interface Way {
    readonly line: string;
    readonly does: (dir: string) => void;
    readonly lost: readonly Work[];
  }
  const script = (text: string) => (dir: string) => {
    // The script is no file of the project.
    const path = world.put(world.folder, "script.sh", text);
    world.shell(dir, `bash ${path}`);
  };
  /** Ways of another agent, each in a line that does not name what it wipes. */
  const ways: Readonly<Record<string, Way>> = {
    "a script with rm -rf": {
      line: "./clean.sh",
      does: script("rm -rf src new.ts"),
      lost: ["new.ts", "src/c.ts"],
    },
    "make clean": { line: "make clean", does: script("rm -f ./*.ts src/*.ts"), lost: all },
    python: {
      line: "python3 gen.py",
      does: dir => void world.put(dir, "a.ts", "generated\n"),
      lost: ["a.ts"],
    },
    "sed in a script": {
      line: "bash bump.sh",
      does: script("sed -i s/three/four/ src/c.ts"),
      lost: ["src/c.ts"],
    },
    "mv in a script": {
      line: "./swap.sh",
      does: script("mv b.ts a.ts && mv new.ts ../gone.ts"),
      lost: ["a.ts", "new.ts"],
    },
    truncation: { line: "node log.js", does: script(": > a.ts"), lost: ["a.ts"] },
    "git in a script": {
      line: "./deploy.sh",
      does: script("git reset -q --hard && git clean -qfd"),
      lost: all,
    },
    "a formatter of a folder": {
      line: "npm run format",
      does: script("for f in *.ts src/*.ts; do sed -i 's/^  /    /; s/$/ /' $f; done"),
      lost: all,
    },
  };

  test.each(Object.keys(ways))("%s is told to both, and the told line brings it back", async name => {
    const way = ways[name];
    if (way === undefined) throw new Error(name);
    const { dir, ann, bob } = await two(`way-${Object.keys(ways).indexOf(name)}`);
    await writes(ann, dir);
    // Who did it hears it with the end of its line, the other one with its next prompt.
    const toBob = await runs(bob, dir, way.line, () => way.does(dir));
    for (const session of [ann, bob]) {
      const told = session === bob ? toBob : await hears(session, dir);
      const [line, ...more] = wipedLines(told);
      expect(more, told).toEqual([]);
      for (const file of way.lost) expect(line).toContain(`"${file}"`);
      // One message, not two.
      expect(told.split("\n")).toHaveLength(3);
      // The same is not told again.
      expect(wipedLines(await hears(session, dir))).toEqual([]);
      for (const file of way.lost) rmSync(join(dir, file), { force: true });
      await paste(line, session, dir);
      for (const file of way.lost) expect(world.read(dir, file)).toBe(work[file]);
      await world.event(session, dir, { hook_event_name: "Stop" });
    }
  });

  /** Ways of a person: no event tells of them. */
  const outside: Readonly<Record<string, Omit<Way, "line">>> = {
    "a person's git checkout": { does: script("git checkout -q ."), lost: ["a.ts", "src/c.ts"] },
    "an editor that writes an old buffer": {
      does: dir => void world.put(dir, "a.ts", "a.ts\nexport const one = 1;\n// by hand\n"),
      lost: ["a.ts"],
    },
  };

  test.each(Object.keys(outside))("%s is told to whose work it was, and names nobody", async name => {
    const way = outside[name];
    if (way === undefined) throw new Error(name);
    const { dir, ann, bob } = await two(`outside-${Object.keys(outside).indexOf(name)}`);
    await writes(ann, dir);
    way.does(dir);
    // Its next prompt is when Kite looks; what it finds comes with the event after it.
    await hears(ann, dir);
    await world.settled();
    const told = await hears(ann, dir);
    const [line, ...more] = wipedLines(told);
    expect(more).toEqual([]);
    expect(line).toContain("changed outside Kite");
    expect(line).not.toContain(bob);
    for (const file of way.lost) expect(line).toContain(`"${file}"`);
    expect(wipedLines(await hears(bob, dir))).toEqual([]);
    await paste(line, ann, dir);
    for (const file of way.lost) expect(world.read(dir, file)).toBe(work[file]);
  });
});

describe("nobody is told", () => {
  /** What happens to the work of the first agent, and nothing of it is a loss. `as`: which agent's line does it; null: a person. */
  interface Harmless {
    readonly as: "ann" | "bob" | null;
    readonly line?: string;
    readonly does: (dir: string) => void;
  }
  const sh = (line: string) => (dir: string) => void world.shell(dir, line);
  const format = "for f in *.ts src/*.ts; do sed -i 's/^  /    /; s/;$//; s/\\r$//' $f; done";
  const harmless: Readonly<Record<string, Harmless>> = {
    "of a commit by a person": { as: null, does: sh("git add -A && git commit -qm work") },
    "of a commit, and a change after it": {
      as: null,
      does: sh("git add -A && git commit -qm work && echo other > a.ts && rm new.ts"),
    },
    "of a commit that is no longer checked out": {
      as: null,
      does: sh("git checkout -qb side && git add -A && git commit -qm work && git checkout -q main"),
    },
    "of a stash": { as: null, does: sh("git stash -qu") },
    "of a stash of one's own": { as: "ann", line: "git stash -u", does: sh("git stash -qu") },
    "of a branch that a person switches with the work": { as: null, does: sh("git switch -qc other") },
    "of a file that a person moves": {
      as: null,
      does: sh("mkdir lib && mv new.ts lib/made.ts && git mv src/c.ts d.ts"),
    },
    "of files that another agent's script moves": {
      as: "bob",
      line: "./sort.sh",
      does: sh("mkdir lib && mv new.ts lib/"),
    },
    "of formatting by an editor": { as: null, does: sh(format) },
    "of formatting by the author's own shell": { as: "ann", line: "npm run format", does: sh(format) },
    "of lines that a person adds": {
      as: null,
      does: sh("echo '// more' >> a.ts && sed -i '1i// first' src/c.ts"),
    },
    "of a line that a person edits": { as: null, does: sh("sed -i 's/one = 1/one = 11/' a.ts") },
    "of one's own deletion": { as: "ann", line: "rm new.ts a.ts", does: sh("rm new.ts a.ts") },
    "of one's own script's deletion": { as: "ann", line: "./tidy.sh", does: sh("rm new.ts") },
    "of a person's deletion": { as: null, does: sh("rm -rf new.ts src") },
    "of a save through one's own shell": {
      as: "ann",
      line: "python3 edit.py",
      does: dir => void world.put(dir, "a.ts", "all new\n"),
    },
    "of one's own git checkout": { as: "ann", line: "git checkout a.ts", does: sh("git checkout -q a.ts") },
  };

  test.each(Object.keys(harmless))("%s", async name => {
    const one = harmless[name];
    if (one === undefined) throw new Error(name);
    const { dir, ann, bob } = await two(`harmless-${Object.keys(harmless).indexOf(name)}`);
    await writes(ann, dir);
    if (one.as === null) one.does(dir);
    else await world.line(one.as === "ann" ? ann : bob, dir, one.line ?? "", () => one.does(dir));
    for (let round = 0; round < 2; round += 1) {
      for (const session of [ann, bob]) expect(wipedLines(await hears(session, dir))).toEqual([]);
      await world.settled();
    }
    // What was deleted is listed all the same.
    const isDeletion = name.includes("deletion");
    const listed = (await world.wipes({ project: dir })).flatMap(({ files }) => files.map(({ how }) => how));
    expect(listed.includes("gone")).toBe(isDeletion);
  });
});

describe("kite status", () => {
  test("shows what was wiped with the line to paste, until the work is somewhere again", async () => {
    const { dir, ann, bob } = await two("status");
    await writes(ann, dir);
    const shown = async () => (await world.kite(dir, ["status"])).out;
    expect(await shown()).not.toContain("Wiped lately");
    await world.line(bob, dir, "./deploy.sh", () => world.shell(dir, "git checkout -q . && rm new.ts"));
    const before = await shown();
    expect(before).toContain("Wiped lately: Kite kept it");
    const [, line = ""] =
      /^ *\S.*? {2}(kite rescue restore r-\d+) {2}.* {2}\S.*: deploy\.sh$/m.exec(before) ?? [];
    expect(before).toContain(" and 2 other files");
    const json = await world.json(dir, ["status"]);
    const here = (json["wiped"] as readonly WipeRow[]).filter(({ project }) => project === dir);
    expect(here).toMatchObject([{ by: { id: bob }, files: [{}, {}, {}] }]);
    await world.kite(dir, [...line.split(" ").slice(1), "new.ts"], ann);
    expect(await shown()).toContain(" and 1 other file");
    // A commit has one of them, a file has the other.
    world.put(dir, "a.ts", work["a.ts"]);
    world.shell(dir, "git add a.ts && git commit -qm saved && git rm -q a.ts");
    expect(await shown()).toMatch(/kite rescue restore r-\d+ {2}1 line of src\/c\.ts/);
    world.put(dir, "src/c.ts", `${work["src/c.ts"]}// more\n`);
    expect(await shown()).not.toContain("Wiped lately");
  });

  test("shows an agent nothing of other projects", async () => {
    const { dir, ann, bob } = await two("status-agents");
    await writes(ann, dir);
    await world.line(bob, dir, "./deploy.sh", () => world.shell(dir, "git checkout -q . && rm new.ts"));
    const elsewhere = world.repo("status-elsewhere");
    const eve = "eve-status";
    await world.event(eve, elsewhere, { hook_event_name: "SessionStart", source: "startup" });
    const wiped = async (session?: string) =>
      ((await world.json(elsewhere, ["status", "--all"], session))["wiped"] as readonly WipeRow[]).map(
        ({ project }) => project,
      );
    expect(await wiped()).toContain(dir);
    expect(await wiped(eve)).toEqual([]);
    expect((await world.kite(elsewhere, ["status", "--all"], eve)).out).not.toContain("Wiped lately");
    expect((await world.kite(dir, ["status"], ann)).out).toContain("Wiped lately");
  });

  test("shows what a person's own command wiped as soon as it is asked, and not what an agent did to its own", async () => {
    const { dir, ann } = await two("status-outside");
    await writes(ann, dir);
    world.shell(dir, "rm new.ts");
    // It looks now; what it finds is in its answer if the machine is not busy, and in the next one.
    await world.kite(dir, ["status"]);
    await world.settled();
    const [, first = ""] = (await world.kite(dir, ["status"])).out.split("Wiped lately");
    expect(first).toMatch(/kite rescue restore r-\d+ {2}2 lines of new\.ts {2}changed outside Kite/);
    await world.line(ann, dir, "rm a.ts", () => world.shell(dir, "rm a.ts"));
    expect((await world.kite(dir, ["status"])).out.split("Wiped lately")[1]).not.toContain("a.ts");
  });
});
