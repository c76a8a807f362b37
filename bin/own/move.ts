/**
 * `kite move` takes the caller's uncommitted lines out of a shared checkout into a new worktree on a new branch.
 *
 * Invariant: each line is in one of the two at every moment. It is written into the new worktree before it leaves the shared
 * one. A process that is killed between leaves it in both, and the same command finishes.
 */

import { existsSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Command } from "commander";
import { shellArgument } from "../../protocol/text.ts";
import { isYes, terminalQuestion } from "../context/person.ts";
import { type ProcessContext, print, printFramed, printJson, type Run } from "../context/process-context.ts";
import { exitCodes, fail } from "../context/with-daemon.ts";
import { addWait, type WaitFlag, waitOf } from "../rescue/restore.ts";
import { Texts } from "../rescue/texts.ts";
import { type Asker, asAsker } from "../rescue/versions.ts";
import { clean } from "../view/text.ts";
import { CallerGit } from "./caller-git.ts";
import { type Caller, callerIn, ownerKey, partWithin } from "./own-caller.ts";
import {
  adoptNote,
  beginNote,
  isBroken,
  type NotedMove,
  notesOf,
  type OwnNote,
  saveNote,
} from "./own-notes.ts";
import { ownStates, ownTree, placeState } from "./own-tree.ts";
import { type OwnFile, type OwnPart, refused, settleOwn } from "./part.ts";
import {
  mixedText,
  restage,
  sweepBeside,
  type TakenFile,
  takeBack,
  takenIn,
  unseen,
  whyLeft,
} from "./take-back.ts";
import { openTries } from "./try-tree.ts";

interface MoveFlags extends WaitFlag {
  readonly branch?: string;
  readonly of?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** What one call works with. */
interface Moving {
  readonly world: ProcessContext;
  readonly asker: Asker;
  readonly texts: Texts;
  readonly caller: Caller;
  readonly git: CallerGit;
  readonly flags: MoveFlags;
  readonly waitMs: number;
  readonly part: () => Promise<OwnPart>;
}

/** Returns the exit code. */
function move(world: ProcessContext, flags: MoveFlags): Promise<number> {
  const json = flags.json === true;
  const waitMs = waitOf(flags);
  if (typeof waitMs === "string") return Promise.resolve(fail(world, json, "usage", waitMs));
  return asAsker(
    world,
    json,
    async asker => {
      const caller = await callerIn(world, asker, { of: flags.of }, "kite move");
      const texts = Texts.open(world);
      if (texts === null) throw refused("git is not installed, or not in the PATH");
      try {
        const git = new CallerGit(world.env, caller.worktree);
        const part = () => partWithin(asker, texts, caller, []);
        return await moved({ world, asker, texts, caller, git, flags, waitMs, part });
      } finally {
        texts.close();
      }
    },
    "own",
  );
}

/** Whether the file, or a part of it, moves. */
function isMoving({ own, rest, isSeen }: OwnFile): boolean {
  return own !== null && rest !== null && isSeen;
}

async function moved(moving: Moving): Promise<number> {
  const { world, caller, flags } = moving;
  const json = flags.json === true;
  const part = await moving.part();
  const before = notesOf(world.paths.undone, ownerKey(caller)).find(note => note.move !== null);
  const isSame = flags.branch === undefined || flags.branch === before?.move?.branch;
  const broken = before !== undefined && isBroken(before) && isSame ? before : null;
  const isThere = before?.move != null && existsSync(before.move.dir) && !before.isBack;
  if (broken === null && isThere && isSame && !part.files.some(isMoving))
    return reportMove(world, before, [], json);
  const may = await mayMove(moving);
  if (may !== null) return may === "" ? exitCodes.failed : fail(world, json, "usage", may);
  const note = broken === null ? await begun(moving, part) : adoptNote(broken);
  const files = await finished(moving, note, part);
  return reportMove(world, note, files, json);
}

/** Returns null if the caller may move the part; else why not, or "" if the person said no. */
async function mayMove({ world, asker, flags }: Moving): Promise<string | null> {
  const { yes = false, json = false, of = "" } = flags;
  if (yes || asker.acting !== null) return null;
  const question = json ? null : terminalQuestion();
  if (question === null)
    return `this moves lines of another (${of}); nothing was changed. To do it all the same: --yes`;
  if (isYes(await question(`Move all uncommitted lines of ${clean(of)} into a new worktree? [y/N] `)))
    return null;
  print(world, ["Nothing was changed."]);
  return "";
}

/** Notes the move and its place, which nobody has. */
async function begun({ world, caller, git, flags }: Moving, { head }: OwnPart): Promise<OwnNote> {
  const branch = flags.branch ?? (await freeBranch(git, caller.name));
  if (flags.branch !== undefined) {
    if ((await git.lineOrNull(["check-ref-format", "--branch", branch])) === null)
      throw refused(`${branch} is no name of a branch`);
    if (await isBranch(git, branch))
      throw refused(`there is a branch ${branch} already; choose another name`);
  }
  const { worktree } = caller;
  const dir = freeFolder(join(dirname(worktree), `${basename(worktree)}-${branch.replaceAll("/", "-")}`));
  const place: NotedMove = { dir, branch, commit: head ?? caller.head };
  const owner = ownerKey(caller);
  return beginNote(world.paths.undone, { at: world.now(), worktree, owner, after: null, move: place });
}

async function isBranch(git: CallerGit, branch: string): Promise<boolean> {
  return (await git.run(["show-ref", "--verify", "-q", `refs/heads/${branch}`])).code === 0;
}

async function freeBranch(git: CallerGit, name: string): Promise<string> {
  const word = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  // A branch called `kite` leaves no room for branches below that name.
  const first = `${(await isBranch(git, "kite")) ? "kite-" : "kite/"}${word || "move"}`;
  for (let n = 1; ; n += 1) {
    const branch = n === 1 ? first : `${first}-${n}`;
    if (!(await isBranch(git, branch))) return branch;
  }
}

function freeFolder(first: string): string {
  for (let n = 1; ; n += 1) {
    const folder = n === 1 ? first : `${first}-${n}`;
    if (!existsSync(folder)) return folder;
  }
}

/** Does what is left of the move that is noted. Throws `ProgramFailed` and `Refused`. */
async function finished(moving: Moving, note: OwnNote, part: OwnPart): Promise<readonly TakenFile[]> {
  const { world, asker, caller, git, waitMs } = moving;
  const { move } = note;
  if (move === null) throw new Error("a note of a move without its place");
  await makeWorktree(git, move);
  const dir = realpathSync(move.dir);
  if (note.files.length === 0) {
    const states = ownStates(part.files.filter(isMoving));
    const tree = await ownTree(git, `${openTries(world.paths, caller.owner)}.move`, move.commit, states);
    await fill(git, dir, move.commit, tree);
  }
  sweepBeside(note);
  await restage(git, caller.worktree, note.files);
  const beforeTaking = (one: OwnFile) => {
    // What was taken before the process was killed is there already, and may have gone on.
    for (const [file, state] of ownStates([one])) placeState(dir, file, state);
  };
  const files = await takeBack({ asker, git, part: moving.part, note, waitMs, beforeTaking });
  const { worktree, isOwn, owner } = caller;
  await settleOwn(asker, moving.texts, { worktree, isOwn, who: owner }, takenIn(files));
  saveNote({ isDone: true }, note);
  return files;
}

/** Hooks of the repository are not this command's. */
const quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

/** Makes the worktree with its branch, unless a call that was killed has made it. */
async function makeWorktree(git: CallerGit, { dir, branch, commit }: NotedMove): Promise<void> {
  const isMade =
    existsSync(join(dir, ".git")) && (await git.run(["rev-parse", "HEAD"], { cwd: dir })).code === 0;
  if (isMade) return;
  // A call that was killed may have made the folder, or the branch; nobody was told of them.
  if (existsSync(dir) && readdirSync(dir).every(name => name === ".git")) rmSync(dir, { recursive: true });
  const how = (await isBranch(git, branch)) ? [dir, branch] : ["-b", branch, dir, commit];
  await git.read([...quiet, "worktree", "add", "-f", "-f", "--no-checkout", ...how]);
}

/** Writes the files of the tree, as uncommitted changes of the commit. */
async function fill(git: CallerGit, dir: string, commit: string, tree: string): Promise<void> {
  const at = { cwd: dir };
  const index = await git.line(["rev-parse", "--path-format=absolute", "--git-path", "index"], at);
  rmSync(`${index}.lock`, { force: true });
  await git.read([...quiet, "read-tree", "--reset", "-u", tree], at);
  await git.read([...quiet, "read-tree", "--reset", commit], at);
  await git.run([...quiet, "update-index", "-q", "--refresh"], at);
}

function reportMove(
  world: ProcessContext,
  note: OwnNote,
  files: readonly TakenFile[],
  json: boolean,
): number {
  const { move, id } = note;
  if (move === null) throw new Error("a note of a move without its place");
  const { dir, branch } = move;
  const isFailed = files.some(
    ({ is, why }) => is === "left" && why !== null && why.startsWith("Kite cannot"),
  );
  const code = isFailed ? exitCodes.failed : exitCodes.done;
  const back = note.files.length === 0 ? null : `kite undo --all --back ${id}`;
  // A move takes no names.
  const shown = files.map(one => (one.why === unseen ? { ...one, why: "Kite saw nobody write it" } : one));
  const rows = shown.map(one => ({ ...one, is: one.is === "taken" ? "moved" : one.is }));
  if (json) {
    printJson(world, { ok: true, dir, branch, undo: id, back, files: rows });
    return code;
  }
  const taken = files.filter(({ is }) => is === "taken");
  const where = `${clean(dir)}, on the new branch ${clean(branch)}`;
  const names = taken.map(({ file }) => clean(file)).join(", ");
  const before =
    note.files.length === 0 ? "none of your lines was uncommitted" : "your lines moved there before";
  printFramed(world, [
    taken.length === 0
      ? `Your worktree is ${where}; ${before}.`
      : `Moved your own lines of ${names} to ${where}.`,
    ...taken.flatMap(({ file, mixed }) => (mixed.length === 0 ? [] : [mixedText(clean(file), mixed)])),
    ...shown.filter(({ is }) => is === "left").map(whyLeft),
    `Work there from now on: cd ${shellArgument(dir)}`,
    ...(back === null ? [] : [`To have the lines back here as well: ${back}`]),
  ]);
  return code;
}

const help = `
Move makes a worktree on a new branch that begins at the last commit, beside this checkout, and takes your own uncommitted lines
there: lines that others wrote stay here byte for byte. There you may switch, rebase, merge and pull as you like. Move prints the
directory. Your shell stays where it is: go on with cd.

A line that you and another changed stays here, and is named. So does what Kite cannot keep first. If the command is ended
halfway, some lines are in both, and the same command finishes. A person names the agent: --of alice.

--json: {"ok":true, "dir", "branch", "undo":"u-1", "back": the line that brings the lines back here|null, "files":[{"file",
"is":"moved"|"left", "why", "mixed":[{"who":[names], "lines"}]}]}

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite move
  $ kite move --branch fix/login`;

export function add(command: Command, run: Run): void {
  const moves = command
    .option("--branch <name>", "the name of the new branch, instead of one made of your own name")
    .option("--of <name>", "for a person: the lines of this agent")
    .option("-y, --yes", "do not ask");
  addWait(moves)
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: MoveFlags) => run(world => move(world, flags)));
}
