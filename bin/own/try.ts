/**
 * `kite try` runs a command on the last commit with the caller's own lines alone, in a tree of its own: nobody else's lines are in
 * its way, and nothing of the shared checkout is put away for it.
 */

import { spawn } from "node:child_process";
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { isSystemError } from "../../protocol/errors.ts";
import { isTerminalSession } from "../context/actor.ts";
import { takeFile } from "../context/held-file.ts";
import { type ProcessContext, printJson, type Run } from "../context/process-context.ts";
import { Signals, signalCode } from "../context/programs.ts";
import { fail, rowsOf } from "../context/with-daemon.ts";
import { Texts } from "../rescue/texts.ts";
import { type Asker, asAsker } from "../rescue/versions.ts";
import { clean, listed } from "../view/text.ts";
import { CallerGit } from "./caller-git.ts";
import { furnish } from "./dependencies.ts";
import { callerIn, partWithin } from "./own-caller.ts";
import { hasState, ownStates, ownTree, placeState } from "./own-tree.ts";
import { type FileState, refused } from "./part.ts";
import { openTries, pruneTries, type TreeOwner, tryTree } from "./try-tree.ts";

interface TryFlags {
  readonly with?: readonly string[];
  readonly json?: boolean;
}

/** Exit codes of a shell for a command that cannot run, and for one that is not there. */
const cannotRun = 126;
const notFound = 127;

/** Hooks of the repository are not the command's. */
const quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

/** Commands of one actor that run at once, each in a tree of its own. */
const treesMax = 8;

/** A tree that is ready for a command. */
interface Ready {
  /** The top of the tree. */
  readonly tree: string;
  /** The folder of the tree in which the command was typed. */
  readonly folder: string;
  readonly git: CallerGit;
  readonly commit: string;
  /** The tree of git that it has. */
  readonly made: string;
  readonly states: ReadonlyMap<string, FileState | null>;
  readonly release: () => void;
}

/** Returns the exit code. */
async function tryIt(world: ProcessContext, words: readonly string[], flags: TryFlags): Promise<number> {
  const json = flags.json === true;
  const at = world.argv.indexOf("--");
  const command = at === -1 ? [] : world.argv.slice(at + 1);
  if (command.length === 0 || command.length !== words.length)
    return fail(world, json, "usage", "give the command behind --: kite try -- npm test");
  let ready: Ready | null = null;
  const code = await asAsker(
    world,
    json,
    async asker => {
      ready = await opened(world, asker, flags.with ?? []);
      return 0;
    },
    "own",
  );
  return ready === null ? code : run(world, ready, command, json);
}

/** Makes the tree as the caller's part is now. Throws `Refused` and `ProgramFailed`. */
async function opened(world: ProcessContext, asker: Asker, names: readonly string[]): Promise<Ready> {
  const isPerson = asker.acting === null || isTerminalSession(world.env, asker.acting.id);
  const [of, ...rest] = isPerson ? names : [undefined, ...names];
  if (isPerson && of === undefined)
    throw refused("say whose lines you mean: kite try --with NAME -- COMMAND");
  const others = rest.filter(name => name !== undefined);
  const caller = await callerIn(world, asker, { of, others }, "kite try");
  const { worktree, head, below } = caller;
  const texts = Texts.open(world);
  if (texts === null) throw refused("git is not installed, or not in the PATH");
  try {
    const states = ownStates((await partWithin(asker, texts, caller, [])).files);
    const { owner, release } = await freeTree(world, caller.owner);
    try {
      const git = new CallerGit(world.env, worktree);
      const own = openTries(world.paths, owner);
      const made = await ownTree(git, `${own}.index`, head, states);
      const folder = realpathSync(
        (await tryTree(git, world.paths, owner, { commit: head, tree: made })).folder,
      );
      // A filter need not give back what it took.
      for (const [file, state] of states) placeState(folder, file, state);
      await furnish({ git, worktree, tree: folder, own });
      const place = join(folder, below);
      mkdirSync(place, { recursive: true });
      await pruneTries(world.env, world.paths, await rowsOf(asker.client, "sessions"));
      return { tree: folder, folder: place, git, commit: head, made, states, release };
    } catch (error) {
      release();
      throw error;
    }
  } finally {
    texts.close();
  }
}

/** Takes the first tree of the owner that no process uses. Throws `Refused`. */
async function freeTree(
  { paths }: ProcessContext,
  owner: TreeOwner,
): Promise<{ readonly owner: TreeOwner; readonly release: () => void }> {
  for (let n = 1; n <= treesMax; n += 1) {
    const numbered = { ...owner, n };
    const release = await takeFile(paths, `${openTries(paths, numbered)}.busy`, 0);
    if (release !== null) return { owner: numbered, release };
  }
  throw refused(`${treesMax} commands of yours run in trees of their own; wait until one has ended`);
}

async function run(
  world: ProcessContext,
  ready: Ready,
  command: readonly string[],
  json: boolean,
): Promise<number> {
  const { tree, release } = ready;
  try {
    const { code, signal } = await ended(world, ready, command);
    const { files, commit } = await written(ready);
    if (json) printJson(world, { ok: true, exit: code, signal, tree, wrote: files, commit });
    else for (const line of wroteLines(ready, files, commit)) world.stderr.write(`kite: ${line}\n`);
    release();
    // Whoever runs this sees the end of the command itself.
    if (signal !== null) process.kill(process.pid, signal);
    return code;
  } finally {
    release();
  }
}

interface Ended {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
}

function ended(
  world: ProcessContext,
  { folder, git }: Ready,
  [program = "", ...args]: readonly string[],
): Promise<Ended> {
  const env = { ...git.env, PWD: folder };
  const child = spawn(program, args, { cwd: folder, env, stdio: "inherit" });
  const signals = new Signals(() => undefined);
  signals.passTo(signal => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once("error", error => {
      signals.close();
      if (!isSystemError(error)) return reject(error);
      const isAbsent = "code" in error && error.code === "ENOENT";
      world.stderr.write(`kite: ${clean(program)}: ${isAbsent ? "no such command" : error.message}\n`);
      resolve({ code: isAbsent ? notFound : cannotRun, signal: null });
    });
    child.once("exit", (code, signal) => {
      signals.close();
      resolve({ code: code ?? signalCode(signal), signal });
    });
  });
}

/** Returns which files that git has the command changed in the tree, and the commit that it made and no branch has. */
async function written({ tree, git, commit, made, states }: Ready) {
  const at = { cwd: tree };
  await git.run([...quiet, "update-index", "-q", "--refresh"], at);
  const words = ["diff-index", "--name-only", "-z", "--ignore-submodules=all", made];
  const out = await git.run([...quiet, ...words], at);
  const listed = out.out
    .toString()
    .split("\0")
    .filter(file => file !== "");
  const files = listed.filter(file => {
    const state = states.get(file);
    return state === undefined || !hasState(join(tree, file), state);
  });
  const now = await git.lineOrNull(["rev-parse", "--verify", "-q", "HEAD^{commit}"], at);
  const isNew = now !== null && now !== commit;
  const isKept =
    isNew && (await git.lineOrNull(["for-each-ref", "--count=1", `--contains=${now}`], at)) !== "";
  // A branch that is checked out here could be neither deleted nor checked out elsewhere.
  await git.run([...quiet, "update-ref", "--no-deref", "HEAD", commit], at);
  return { files: files.sort(), commit: isNew && !isKept ? now : null };
}

/** Files that are named. */
const namedMax = 10;

function wroteLines({ tree }: Ready, files: readonly string[], commit: string | null): readonly string[] {
  const names = listed(files.slice(0, namedMax).map(clean), files.length - namedMax);
  return [
    ...(files.length === 0
      ? []
      : [`the command changed ${names} in its own tree alone, not in your checkout: ${clean(tree)}`]),
    ...(commit === null
      ? []
      : [`the command made a commit that no branch has; to keep it: git branch NAME ${commit}`]),
  ];
}

const help = `
Try runs the command in a tree that has the last commit and your own uncommitted lines, nobody else's. The tree is a worktree below
Kite's directory. The next try uses it again and writes only what differs, so that builds in it go on. The command runs in the
folder in which you typed it. Its output, exit code and signals are its own. What it writes stays in that tree; of files that git
has, try says so at the end.

Folders that git ignores (node_modules, .venv, vendor, target) are copied where the file system shares the blocks of a copy, else
linked. A command that writes through a link writes into your checkout's folder.

A person says whose lines count: --with NAME.

--json: one JSON object after the command's own output: {"ok":true, "exit", "signal": its name or null, "tree", "wrote":[files],
"commit": one that the command made and no branch has, or null}

Exit codes: the command's; 126 if it cannot run, 127 if there is none, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite try -- npm test
  $ kite try --with alice -- cargo build
  $ kite try -- sh -c 'make && make test'`;

export function add(command: Command, run: Run): void {
  command
    .argument("[command...]", "behind --, the command and its words")
    .option("--with <name...>", "the lines of these agents as well")
    .option("--json", "print one JSON object after the command's output")
    .addHelpText("after", help)
    .action((words: string[], flags: TryFlags) => run(world => tryIt(world, words, flags)));
}
