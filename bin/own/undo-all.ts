/** `kite undo --all` takes the caller's own lines since the last commit back, in all files or some, and brings them back. */

import { join } from "node:path";
import type { Command } from "commander";
import { plain } from "../../protocol/text.ts";
import { isTerminalSession } from "../context/actor.ts";
import { isYes, terminalQuestion } from "../context/person.ts";
import {
  type ProcessContext,
  print,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { exitCodes, fail, rowsOf } from "../context/with-daemon.ts";
import { addWait, failureOf, modeOf, waitOf } from "../rescue/restore.ts";
import { diffLines } from "../rescue/shown.ts";
import { bytesOf, changed, Texts } from "../rescue/texts.ts";
import { addUndo, type UndoFlags, undo } from "../rescue/undo.ts";
import { type Asker, asAsker, contentOf, onDisk, replaceFile, versionsOf } from "../rescue/versions.ts";
import { clean } from "../view/text.ts";
import { CallerGit } from "./caller-git.ts";
import { type Caller, callerIn, isNamed, ownerKey, partWithin } from "./own-caller.ts";
import {
  beginNote,
  dropNote,
  isBroken,
  type NotedFile,
  noteNamed,
  notesOf,
  type OwnNote,
  saveNote,
} from "./own-notes.ts";
import { hasState } from "./own-tree.ts";
import { type FileState, type OwnPart, settleOwn } from "./part.ts";
import {
  editAlone,
  isSameEntry,
  mixedText,
  put,
  restage,
  stage,
  stagedOf,
  stampOf,
  stateAt,
  sweepBeside,
  type TakenFile,
  takeBack,
  takenIn,
  unseen,
  whyLeft,
} from "./take-back.ts";

interface AllFlags extends UndoFlags {
  readonly all?: boolean;
  readonly of?: string;
  readonly back?: string;
}

/** Returns the exit code. */
function undoAll(world: ProcessContext, specs: readonly string[], flags: AllFlags): Promise<number> {
  const json = flags.json === true;
  const waitMs = waitOf(flags);
  const wrong = typeof waitMs === "string" ? waitMs : misuse(specs, flags);
  if (wrong !== null || typeof waitMs === "string")
    return Promise.resolve(fail(world, json, "usage", wrong ?? ""));
  return asAsker(
    world,
    json,
    async asker => {
      const texts = Texts.open(world);
      if (texts === null)
        return fail(world, json, "not_available", "git is not installed, or not in the PATH");
      try {
        if (flags.back !== undefined)
          return await bringBack(world, asker, texts, flags.back, { json, waitMs });
        return await takeAll(world, asker, texts, specs, flags, waitMs);
      } finally {
        texts.close();
      }
    },
    "own",
  );
}

function misuse(
  specs: readonly string[],
  { to, before, whole, conflicts, back, dryRun }: AllFlags,
): string | null {
  if (to !== undefined || before !== undefined || whole === true || conflicts === true)
    return "--all takes no --to, --before, --whole or --conflicts";
  if (back !== undefined && (specs.length > 0 || dryRun === true))
    return "--back takes all of that call back, without files and without --dry-run";
  return specs.includes("") ? "the name of a file is empty; name a file, or none for all" : null;
}

async function takeAll(
  world: ProcessContext,
  asker: Asker,
  texts: Texts,
  specs: readonly string[],
  flags: AllFlags,
  waitMs: number,
): Promise<number> {
  const json = flags.json === true;
  const caller = await callerIn(world, asker, { of: flags.of }, "kite undo --all");
  const part = () => partWithin(asker, texts, caller, specs);
  if (flags.dryRun === true) return await shown(world, texts, await part(), json);
  const may = await mayTake(world, asker, flags);
  if (may !== null) return may === "" ? exitCodes.failed : fail(world, json, "usage", may);
  const before = notesOf(world.paths.undone, ownerKey(caller)).find(
    note => note.move === null && !note.isBack,
  );
  const after = before !== undefined && isBroken(before) ? before.id : null;
  const git = new CallerGit(world.env, caller.worktree);
  if (before !== undefined && after !== null) {
    sweepBeside(before);
    await restage(git, caller.worktree, before.files);
  }
  const { worktree } = caller;
  const owner = ownerKey(caller);
  const note = beginNote(world.paths.undone, { at: world.now(), worktree, owner, after });
  const files = await takeBack({ asker, git, part, note, waitMs });
  await settleOwn(asker, texts, { worktree, isOwn: caller.isOwn, who: caller.owner }, takenIn(files));
  if (note.files.length === 0 && after === null) {
    dropNote(note);
    const isSaid = before?.files.some(({ file }) => isNamed(file, caller, specs)) === true;
    return nothingTaken(world, caller, files, isSaid ? before : undefined, json);
  }
  saveNote({ isDone: true }, note);
  return reportTaken(world, files, note, json);
}

/** Returns null if the caller may take the part back; else why not, or "" if the person said no. */
async function mayTake(
  world: ProcessContext,
  { acting }: Asker,
  { yes = false, json = false, of = "" }: AllFlags,
): Promise<string | null> {
  if (yes || acting !== null) return null;
  const question = json ? null : terminalQuestion();
  if (question === null)
    return `this takes back lines of another (${of}); nothing was changed. To do it all the same: --yes`;
  if (isYes(await question(`Take back all uncommitted lines of ${clean(of)}? [y/N] `))) return null;
  print(world, ["Nothing was changed."]);
  return "";
}

function backLine({ id }: OwnNote): string {
  return `kite undo --all --back ${id}`;
}

function isFailed({ is, why }: TakenFile): boolean {
  return is === "left" && why !== null && why !== unseen;
}

function reportTaken(
  world: ProcessContext,
  files: readonly TakenFile[],
  note: OwnNote,
  json: boolean,
): number {
  const code = files.some(isFailed) ? exitCodes.failed : exitCodes.done;
  if (json) {
    printJson(world, { ok: true, undo: note.id, back: backLine(note), files });
    return code;
  }
  const taken = files.filter(({ is }) => is === "taken");
  const names = taken.map(({ file }) => clean(file)).join(", ");
  printFramed(world, [
    taken.length === 0
      ? "An earlier call took your lines back, and was ended before it said so."
      : `Took your own lines back in ${taken.length === 1 ? "1 file" : `${taken.length} files`}: ${names}.`,
    ...taken.flatMap(({ file, mixed }) => (mixed.length === 0 ? [] : [mixedText(clean(file), mixed)])),
    ...files.filter(({ is }) => is === "left").map(whyLeft),
    `To have them back: ${backLine(note)}`,
  ]);
  return code;
}

function nothingTaken(
  world: ProcessContext,
  { name }: Caller,
  files: readonly TakenFile[],
  before: OwnNote | undefined,
  json: boolean,
): number {
  if (before === undefined && files.length === 0)
    return fail(
      world,
      json,
      "nothing_to_undo",
      `no uncommitted lines of ${clean(name)} are there; kite whose shows who has some`,
    );
  const code = files.some(isFailed) ? exitCodes.failed : exitCodes.done;
  if (json) {
    const back = before === undefined ? null : backLine(before);
    printJson(world, { ok: true, undo: before?.id ?? null, back, files });
    return code;
  }
  const lines = [`No uncommitted lines of ${clean(name)} were taken back.`, ...files.map(whyLeft)];
  if (before !== undefined)
    lines.push(
      `The call before took ${before.files.length} files back; to have them back: ${backLine(before)}`,
    );
  printFramed(world, lines);
  return code;
}

/** Lines of the diff that one file shows. */
const diffLinesMax = 200;

async function shown(world: ProcessContext, texts: Texts, part: OwnPart, json: boolean): Promise<number> {
  const files = part.files.filter(({ rest, isSeen }) => rest !== null && isSeen);
  const left = part.files.filter(one => !files.includes(one) && (one.mixed.length > 0 || !one.isSeen));
  const why = (isSeen: boolean) => (isSeen ? null : unseen);
  const rows = [
    ...files.map(({ file, mixed }) => ({ file, is: "taken" as const, why: null, mixed })),
    ...left.map(({ file, mixed, isSeen }) => ({ file, is: "left" as const, why: why(isSeen), mixed })),
  ];
  if (json) {
    printJson(world, { ok: true, undo: null, back: null, dryRun: true, files: rows });
    return exitCodes.done;
  }
  const lines: string[] = [];
  for (const { file, now, rest } of files) {
    lines.push(`In ${clean(file)} this takes back:`);
    const [a, b] = [now.content ?? Buffer.alloc(0), rest?.content ?? Buffer.alloc(0)];
    lines.push(...diffLines(await texts.unified(a, b), screenOf(world), diffLinesMax));
  }
  printFramed(world, [...lines, ...rows.filter(({ is }) => is === "left").map(whyLeft)]);
  print(world, ["Nothing was changed: --dry-run."]);
  return exitCodes.done;
}

// `--back`: what a call took comes back.

interface BackHow {
  readonly json: boolean;
  readonly waitMs: number;
}

interface BackFile {
  readonly file: string;
  /** `same`: the file has it already. */
  readonly is: "back" | "merged" | "same" | "left";
  readonly why: string | null;
}

async function bringBack(
  world: ProcessContext,
  asker: Asker,
  texts: Texts,
  id: string,
  { json, waitMs }: BackHow,
): Promise<number> {
  const chain: OwnNote[] = [];
  for (let at: string | null = id; at !== null; at = chain.at(-1)?.after ?? null) {
    const note = noteNamed(world.paths.undone, at);
    if (note === null) break;
    chain.push(note);
  }
  const [first] = chain;
  if (first === undefined)
    return fail(world, json, "unknown_version", `Kite has no note ${id} of a kite undo --all`);
  const other = await liveOwner(world, asker, first);
  if (other !== null)
    return fail(
      world,
      json,
      "usage",
      `${id} has lines of ${clean(other)}; nothing was changed. Only ${clean(other)} or a person brings them back`,
    );
  const files: BackFile[] = [];
  for (const note of chain) {
    const git = new CallerGit(world.env, note.worktree);
    for (const noted of note.files.toReversed())
      files.push(await broughtBack(asker, texts, git, note, noted, waitMs));
  }
  const isAll = files.every(({ is }) => is !== "left");
  if (isAll) for (const note of chain) saveNote({ isBack: true, isDone: true }, note);
  const code = isAll ? exitCodes.done : exitCodes.failed;
  if (json) {
    printJson(world, { ok: true, undo: id, files });
    return code;
  }
  const back = files.filter(({ is }) => is === "back" || is === "merged");
  printFramed(world, [
    back.length === 0
      ? `Nothing came back: the files have what ${id} took already.`
      : `Brought back: ${back.map(({ file }) => clean(file)).join(", ")}.`,
    ...files.flatMap(({ file, is, why }) =>
      is === "left" ? [`${plain(file)} stays as it is: ${why}.`] : [],
    ),
  ]);
  return code;
}

/** Returns the name of the other live session whose lines an agent would bring back: they would count as the agent's. */
async function liveOwner(
  world: Pick<ProcessContext, "env">,
  { client, acting }: Asker,
  { owner }: OwnNote,
): Promise<string | null> {
  if (acting === null || isTerminalSession(world.env, acting.id)) return null;
  const [session]: readonly unknown[] = JSON.parse(owner);
  if (session === acting.id) return null;
  return (await rowsOf(client, "sessions")).find(({ id }) => id === session)?.name ?? null;
}

async function broughtBack(
  asker: Asker,
  texts: Texts,
  git: CallerGit,
  note: OwnNote,
  noted: NotedFile,
  waitMs: number,
): Promise<BackFile> {
  const { file, staged } = noted;
  const path = join(note.worktree, file);
  const left = (why: string): BackFile => ({ file, is: "left", why });
  const was = await stateBefore(asker, path, noted);
  if (was === null) return left(`the content of ${noted.version} is no longer on the disk`);
  let done: BackFile = { file, is: "same", why: null };
  if (!hasState(path, was)) {
    const outcome = await placedBack(asker, texts, note, noted, was, waitMs);
    if (outcome.is === "left") return outcome;
    done = outcome;
  }
  if (staged !== null) {
    const now = (await stagedOf(git, [file])).get(file);
    if (now !== "unmerged" && isSameEntry(now ?? { path: file, mode: null, blob: "" }, staged.to))
      await stage(git, [staged.from]);
  }
  return done;
}

/** What the file was before it was taken back; null: nobody has it any more. */
async function stateBefore(asker: Asker, path: string, noted: NotedFile): Promise<FileState | null> {
  const { version, link, mode } = noted;
  if (link !== null) return { content: Buffer.from(link, "latin1"), mode: "120000" };
  if (version === null) return { content: null, mode: null };
  const row = (await versionsOf(asker, path)).find(one => one.version === version);
  const content = row === undefined ? null : await contentOf(row);
  return content === null ? null : { content, mode: ((mode ?? 0) & 0o100) === 0 ? "100644" : "100755" };
}

/** Puts back what was taken: whole where the file did not go on, else by a merge. */
async function placedBack(
  asker: Asker,
  texts: Texts,
  { worktree, id }: OwnNote,
  { file, wrote }: NotedFile,
  was: FileState,
  waitMs: number,
): Promise<BackFile> {
  const path = join(worktree, file);
  const disk = onDisk(path);
  const now = stateAt(path);
  const left = (why: string): BackFile => ({ file, is: "left", why });
  if (stampOf(now) === wrote) {
    const write = () => put(worktree, path, now, was, id);
    const isLink = was.mode === "120000" || now.mode === "120000";
    const why = isLink ? failureOf(write) : await editAlone(asker, path, write, waitMs);
    return why === null ? { file, is: "back", why } : left(why);
  }
  const bytes = bytesOf(disk);
  if (bytes === null || disk.is !== "file" || was.content === null || was.mode === "120000")
    return left("it is something else now");
  const rows = await versionsOf(asker, path);
  const after = rows.find(({ hash }) => wrote?.endsWith(hash) === true);
  const base = after === undefined ? null : await contentOf(after);
  if (base === null) return left("the file went on, and nobody has what was written then");
  const labels = { now: file, other: "before" };
  const outcome = await changed(texts, bytes, [{ before: base, after: was.content }], labels);
  if (outcome.is === "same") return { file, is: "same", why: null };
  if (outcome.is !== "merged" && outcome.is !== "whole") return left("others changed the same lines since");
  const write = () => replaceFile(path, disk, outcome.content, modeOf(disk));
  const why = await editAlone(asker, path, write, waitMs);
  return why === null ? { file, is: "merged", why } : left(why);
}

export function add(command: Command, run: Run): void {
  const undoes = addUndo(command, "[file...]")
    .option("--all", "take all of your own uncommitted lines back, in these files or in all")
    .option("--of <name>", "with --all, for a person: the lines of this agent")
    .option("--back <undo>", "with --all: bring back what a call took, as it said");
  addWait(undoes)
    .option("--json", "print one JSON object")
    .action((files: string[], flags: AllFlags) =>
      run(world => {
        if (flags.all === true) return undoAll(world, files, flags);
        const json = flags.json === true;
        if (flags.of !== undefined || flags.back !== undefined)
          return Promise.resolve(fail(world, json, "usage", "--of and --back go with --all"));
        if (files.length > 1)
          return Promise.resolve(
            fail(world, json, "usage", "name one file, or take all of your lines back: --all"),
          );
        return undo(world, files[0], flags);
      }),
    );
}
