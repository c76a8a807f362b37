/**
 * Two sessions of the real client: one wipes the other's work in ways that the guard does not see. Both are told, and the line that
 * they are told, which the other one pastes into its shell, brings every byte back.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import type { WipeRow } from "../../protocol/schemas/rescue.ts";
import type { Turn } from "./model.ts";
import { programs } from "./programs.ts";
import { Moment, say } from "./script.ts";
import type { ClaudeSession } from "./session.ts";
import { World } from "./world.ts";

interface Way {
  /** What the session runs. Its words name none of the other one's files. */
  readonly line: string;
  /** What runs in the folder that has the other one's work. */
  readonly script: string;
  readonly lost: readonly Work[];
}

/** The files of each way, in a folder of its own: the first is committed with other lines, the others are new. */
const work = {
  "a.ts": "a.ts\nexport const way = WAY;\nexport function two() {\n  return 2;\n}\n",
  "new.ts": 'export const made = WAY;\nexport const bytes = "\u00e9\u{1f600}\t\\";',
  "src/c.ts": "export const three = WAY;\n\n\n",
} as const;
type Work = keyof typeof work;
const all = Object.keys(work) as readonly Work[];

const ways: readonly Way[] = [
  { line: "bash clean.sh", script: "rm -rf src new.ts", lost: ["new.ts", "src/c.ts"] },
  { line: "make clean", script: "rm -f *.ts src/*.ts", lost: all },
  { line: "node gen.js", script: "echo generated > a.ts", lost: ["a.ts"] },
  { line: "./bump.sh", script: "sed -i.old s/three/four/ src/c.ts", lost: ["src/c.ts"] },
  {
    line: "sh swap.sh",
    script: "mv old.ts a.ts; mv new.ts ../../gone.ts",
    lost: ["a.ts", "new.ts"],
  },
  { line: "./log.sh", script: ": > a.ts", lost: ["a.ts"] },
  { line: "bash deploy.sh", script: "git checkout -q . && git clean -qfd .", lost: all },
  {
    line: "./format.sh",
    script: "for f in *.ts src/*.ts; do sed -i.old 's/$/ /' $f; done",
    lost: all,
  },
  { line: "bash unpack.sh", script: "tar xf old.tar", lost: ["a.ts"] },
  { line: "./pull.sh", script: "git stash push -qu . && git stash drop -q", lost: all },
];

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  for (const [n, { line, script }] of ways.entries()) {
    mkdirSync(world.path(`way-${n}/src`), { recursive: true });
    world.write(`way-${n}/a.ts`, "a.ts\n");
    world.write(`way-${n}/old.ts`, "old.ts\n");
    execFileSync("tar", ["cf", "old.tar", "a.ts"], { cwd: world.path(`way-${n}`) });
    const [first = "", second] = line.split(" ");
    world.write(runs(second ?? first), scriptOf(first, `cd way-${n} && { ${script}; }`));
    if (second === undefined) chmodSync(world.path(first), 0o755);
  }
  git("add", "-f", ".");
  git("commit", "-qm", "first");
  await world.up();
  return () => world.dispose();
});

/** The file that a word of the line runs. */
function runs(word: string): string {
  return word === "clean" ? "Makefile" : word;
}

function scriptOf(program: string, text: string): string {
  switch (program) {
    case "make":
      return `clean:\n\t${text}\n`;
    case "node":
      return `require("node:child_process").execSync(${JSON.stringify(text)});\n`;
    default:
      return `#!/bin/sh\n${text}\n`;
  }
}

function git(...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
  const env = { PATH: process.env["PATH"], HOME: tmpdir(), GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", [...who, ...args], { cwd: world.repository, env, encoding: "utf8" });
}

const bash = (id: string, command: string): Turn => ({
  calls: [{ id, name: "Bash", input: { command, description: "go on" } }],
});

/** Each way has other lines: work that another file has as well is not lost. */
function textOf(n: number, file: Work): string {
  return work[file].replace("WAY", `${n}`);
}

/** A turn in which the session does the work of a way. */
function works(n: number): Turn {
  const path = (file: Work) => world.path(`way-${n}/${file}`);
  const write = (file: Work) => ({
    id: `toolu_${n}_${all.indexOf(file)}`,
    name: "Write",
    input: { file_path: path(file), content: textOf(n, file) },
  });
  return {
    calls: [{ id: `toolu_${n}_read`, name: "Read", input: { file_path: path("a.ts") } }, ...all.map(write)],
  };
}

/** What is in the files of a way; null: there is no such file. */
function bytesOf(n: number, files: readonly Work[]): readonly (Buffer | null)[] {
  return files.map(file => {
    const path = world.path(`way-${n}/${file}`);
    return existsSync(path) ? readFileSync(path) : null;
  });
}

/** The lines of what the session was told that name the way's work. A note stands in each request of the client from then on. */
function toldOf(session: ClaudeSession, n: number): readonly string[] {
  const lines = session.model.notes.flatMap(note => note.split("\n"));
  return [...new Set(lines)].filter(
    line => line.includes("kite rescue restore") && line.includes(`way-${n}/`),
  );
}

/** The first word of the line, as notes name it. */
function programOf(line: string): string {
  return /^(?:\.\/)?(\S+)/.exec(line)?.[1] ?? "";
}

/** The command at the end of such a line. */
function commandIn(line: string | undefined): string {
  return /: (kite rescue restore \S+)$/.exec(line ?? "")?.[1] ?? `no command in: ${line}`;
}

const empty = Buffer.alloc(0);

/** Resolves when Kite has noted so many wipes; throws if it asked often enough and has not. */
async function noted(count: number): Promise<void> {
  let known: readonly WipeRow[] = [];
  for (let tries = 0; tries < asksMax; tries += 1) {
    const said = await world.kite("rescue", "--all", "--json");
    known = (JSON.parse(said) as { readonly wipes: readonly WipeRow[] }).wipes;
    if (known.length >= count) return;
  }
  throw new Error(`${known.length} wipes are noted, not ${count}: ${JSON.stringify(known[0])}`);
}

const asksMax = 30;

test("in ten ways one session wipes the other's work, and the line that both read brings it back", {
  timeout: 400_000,
}, async () => {
  const acts = ways.map(way => ({
    ...way,
    begins: new Moment(),
    worked: new Moment(),
    wiped: new Moment(),
    heard: new Moment(),
  }));
  const bin = fileURLToPath(new URL("../../bin", import.meta.url));
  const more = {
    settings: { permissions: { allow: ["Bash"] } },
    env: { PATH: `${bin}${delimiter}${process.env["PATH"]}`, KITE_HOME: world.paths.home },
    limitMs: 300_000,
  };
  const told: string[] = [];
  // What a hook tells beside a call, the model reads with the call after it.
  const annDoes = acts.flatMap(({ begins, wiped, heard }, n) => [
    begins.before(works(n)),
    wiped.before(bash(`toolu_${n}_look`, "git status --short")),
    bash(`toolu_${n}_again`, "true"),
    heard.before(() => bash(`toolu_${n}_back`, told[n] ?? "false")),
  ]);
  const bobDoes = acts.map(({ worked, line }, n) => worked.before(bash(`toolu_${n}_way`, line)));
  const ann = await world.session("ann", [...annDoes, say("Done.")], more);
  const last = new Moment();
  const bobHears = [last.before(bash("toolu_hears", "true")), bash("toolu_again", "true"), say("Done.")];
  const bob = await world.session("bob", [...bobDoes, ...bobHears], more);
  for (const [n, { line, lost, begins, worked, wiped, heard }] of acts.entries()) {
    begins.reached();
    await ann.asked(4 * n + 2);
    const before = bytesOf(n, all);
    expect(before.map(String), line).toEqual(all.map(file => textOf(n, file)));
    worked.reached();
    await bob.asked(n + 2);
    await noted(n + 1);
    const left = bytesOf(n, all);
    expect(
      all.filter((_, i) => left[i]?.equals(before[i] ?? empty) !== true),
      line,
    ).toEqual(lost);
    wiped.reached();
    await ann.asked(4 * n + 4);
    const [toAnn, ...others] = toldOf(ann, n);
    expect(others).toEqual([]);
    expect(toAnn).toContain(`your uncommitted work was wiped while \`${programOf(line)}\` of`);
    told.push(commandIn(toAnn));
    heard.reached();
    await ann.asked(4 * n + 5);
    expect(bytesOf(n, all), `${toAnn}: ${ann.model.result(`toolu_${n}_back`).text}`).toEqual(before);
  }
  last.reached();
  expect([await ann.ended, await bob.ended]).toEqual([0, 0]);
  // Whose line it was reads the same command, once.
  expect(acts.map((_, n) => toldOf(bob, n).map(commandIn))).toEqual(told.map(command => [command]));
  for (const [n, { line }] of acts.entries())
    expect(toldOf(bob, n)[0]).toContain(`\`${programOf(line)}\`, which you ran, wiped uncommitted work of`);
});
