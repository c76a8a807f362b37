/** `kite commit` commits the caller's own lines of a shared checkout, and nobody else's. */

import { lstatSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Command } from "commander";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument } from "../../protocol/text.ts";
import type { WriteRow } from "../../protocol/work.ts";
import { sweepFiles, takeFile } from "../context/held-file.ts";
import { type ProcessContext, print, printJson, type Run } from "../context/process-context.ts";
import { fileTyped } from "../context/project.ts";
import { exitCodes, fail, Refused, rowsOf } from "../context/with-daemon.ts";
import { repositoryAt } from "../diff/changes.ts";
import { agentNamed } from "../diff/committed.ts";
import { Texts } from "../rescue/texts.ts";
import { type Asker, asAsker, Commits, onDisk, replaceFile } from "../rescue/versions.ts";
import { clean, counted, listed } from "../view/text.ts";
import { CallerGit } from "./caller-git.ts";
import { CommitHooks, hooksOf } from "./commit-hooks.ts";
import { isDependencyLink } from "./dependencies.ts";
import {
  type Checkout,
  checkoutOf,
  differences,
  type Entry,
  entryOf,
  operationIn,
  publish,
  treeWith,
} from "./index-commit.ts";
import { type OwnCaller, type OwnFile, ownCaller, ownOf, ownPart, pathsIn, settleOwn } from "./part.ts";
import { openTries, pruneTries, type TreeOwner } from "./try-tree.ts";

interface CommitFlags {
  readonly message?: readonly string[];
  readonly file?: string;
  readonly dryRun?: boolean;
  readonly verify?: boolean;
  readonly with?: readonly string[];
  readonly of?: string;
  readonly json?: boolean;
}

/** A file with an edit in flight is waited for this long, in milliseconds, as an edit waits for it. */
const flightMs = limits.hookWaitMs;
/** Looks at the flights are so far apart, in milliseconds: no event says that one has ended. */
const flightLookMs = 100;
/** Another command of the same actor, which may run long hooks, is waited for so long, in milliseconds. */
const busyMs = 10 * 60_000;
/** So long a command waits in the line of commits of one worktree, in milliseconds; then it goes without. */
const queueMs = 60_000;
/** Others' commits that come first, before this command gives up. */
const triesMax = 60;
/** So long a commit counts as the one that the same line sent again means, in milliseconds. */
const againMs = 10 * 60_000;

/** All that one run knows. */
interface Committing {
  readonly world: ProcessContext;
  readonly asker: Asker;
  readonly texts: Texts;
  readonly git: CallerGit;
  readonly worktree: string;
  readonly who: OwnCaller;
  /** The agents that `--with` names. */
  readonly others: readonly OwnCaller["name"][];
  readonly isOwn: OwnCaller["isOwn"];
  /** As typed; null: all files. */
  readonly paths: readonly string[] | null;
  /** The beginning of this actor's own files below Kite's directory. */
  readonly own: string;
  readonly owner: TreeOwner;
  readonly flags: CommitFlags;
  readonly message: string;
}

/** What is chosen of the uncommitted files. */
interface Chosen {
  readonly head: string | null;
  readonly files: readonly OwnFile[];
  readonly left: readonly OwnFile[];
}

/** Returns the exit code. */
function commit(world: ProcessContext, files: readonly string[], flags: CommitFlags): Promise<number> {
  const json = flags.json === true;
  if (flags.message !== undefined && flags.file !== undefined)
    return Promise.resolve(fail(world, json, "usage", "give the message by -m or by -F, not both"));
  if (flags.message === undefined && flags.file === undefined && flags.dryRun !== true)
    return Promise.resolve(fail(world, json, "usage", 'give a message: kite commit -m "..."'));
  return asAsker(
    world,
    json,
    async asker => {
      const texts = Texts.open(world);
      if (texts === null)
        return fail(world, json, "not_available", "git is not installed, or not in the PATH");
      try {
        return await committed(world, asker, texts, files, flags);
      } finally {
        texts.close();
      }
    },
    "own",
  );
}

async function committed(
  world: ProcessContext,
  asker: Asker,
  texts: Texts,
  files: readonly string[],
  flags: CommitFlags,
): Promise<number> {
  sweepFiles(world.paths);
  const who = await ownCaller(world, asker, flags.of, "kite commit");
  const { worktree } = await repositoryAt(join(world.cwd, "."));
  const git = new CallerGit(world.env, worktree);
  const checkout = await checkoutOf(git);
  const operation = operationIn(checkout.gitDir);
  if (operation !== null)
    throw refused(
      `a ${operation} is in progress in ${worktree}: whoever began it ends it with git; nothing was committed`,
    );
  const named = await Promise.all((flags.with ?? []).map(name => agentNamed(world, asker, name)));
  const withs = named.map(one => ownOf(one, who.sessions));
  const owner = { id: who.id, agent: who.agent, worktree };
  const all: Committing = {
    ...{ world, asker, texts, git, worktree, who, flags, owner },
    others: named.map(({ name }) => name),
    isOwn: by => who.isOwn(by) || withs.some(isOwn => isOwn(by)),
    paths: files.length === 0 ? null : await pathsIn(world.cwd, worktree, files.map(fileTyped)),
    own: openTries(world.paths, owner),
    message: await messageOf(git, world, flags),
  };
  const release = await takeFile(world.paths, `${all.own}.busy`, busyMs);
  if (release === null) throw refused("another kite commit of yours is still running; nothing was committed");
  try {
    await pruneTries(world.env, world.paths, who.sessions);
    return await chosenCommit(all, checkout);
  } finally {
    release();
  }
}

async function chosenCommit(all: Committing, checkout: Checkout): Promise<number> {
  const { flags } = all;
  await refuseUnknown(all, checkout);
  const chosen = await quiet(all);
  if (flags.dryRun === true) return dryRun(all, chosen);
  if (chosen.files.length === 0) return nothing(all, chosen, checkout);
  if (all.message.trim() === "") throw refused("the message is empty; nothing was committed");
  askOnce(all, chosen);
  return made(all, chosen);
}

/** Throws `Refused` for a named file that is not there and that no commit has, as git does. */
async function refuseUnknown({ git, paths, worktree }: Committing, { head }: Checkout): Promise<void> {
  for (const path of paths ?? []) {
    if (lstatSync(join(worktree, path), { throwIfNoEntry: false }) !== undefined) continue;
    const { code } = await git.run(["cat-file", "-e", `${head ?? "HEAD"}:${path}`]);
    if (code !== 0)
      throw refused(`no file ${path} is here, and the last commit has none; nothing was committed`);
  }
}

/** Returns the message as git would clean it. */
async function messageOf(
  git: CallerGit,
  { cwd }: ProcessContext,
  { message, file }: CommitFlags,
): Promise<string> {
  if (message !== undefined) return cleaned(git, message.join("\n\n"));
  if (file === undefined) return "";
  return cleaned(git, readFileSync(file === "-" ? 0 : join(file.startsWith("/") ? "/" : cwd, file), "utf8"));
}

async function cleaned(git: CallerGit, text: string): Promise<string> {
  const how = await git.lineOrNull(["config", "commit.cleanup"]);
  if (how === "verbatim") return text;
  return (await git.read(["stripspace", ...(how === "strip" ? ["-s"] : [])], { input: text })).toString();
}

/**
 * Chooses the files, and does so again until no edit of one of them is in flight, and none ended while they were read. Throws
 * `Refused`.
 */
async function quiet(all: Committing): Promise<Chosen> {
  const until = performance.now() + flightMs;
  const { client } = all.asker;
  for (let before = await rowsOf(client, "writes"); ; ) {
    const chosen = await choose(all);
    const paths = new Set(chosen.files.map(({ path }) => path));
    const locks = await rowsOf(client, "locks");
    const after = await rowsOf(client, "writes");
    const flying = locks.find(({ path, use }) => use === "writes" && paths.has(path));
    if (flying === undefined && signature(before, paths) === signature(after, paths)) return chosen;
    if (performance.now() >= until) {
      const what = `${flying?.holder?.name ?? "somebody"} is writing ${flying?.file ?? "in these files"}`;
      throw refused(`${what}; nothing was committed: run the line again, or name other files`);
    }
    before = after;
    if (flying !== undefined) await pause(flightLookMs);
  }
}

/** Who wrote these files, and when at last. */
function signature(rows: readonly WriteRow[], paths: ReadonlySet<string>): string {
  const own = rows.filter(({ path }) => paths.has(path));
  return JSON.stringify(
    own.map(({ path, writers }) => [path, writers.map(one => [one.id, one.agent, one.at])]).sort(),
  );
}

async function choose({ asker, texts, worktree, isOwn, paths, world }: Committing): Promise<Chosen> {
  const tools = { commits: new Commits(world), texts };
  const { head, files } = await ownPart(asker, tools, { worktree, isOwn, paths });
  const isTaken = ({ own, isSeen, file }: OwnFile) =>
    own !== null && (isSeen || paths?.includes(file) === true);
  return {
    head,
    files: files.filter(isTaken),
    left: files.filter(one => !isTaken(one) || one.mixed.length > 0),
  };
}

/** Refuses once what takes others' lines along: the same line names the same agents and files again. */
function askOnce({ own, others, who, flags }: Committing, { files }: Chosen): void {
  if (others.length === 0) return;
  const note = `${own}.with`;
  const taken = JSON.stringify([others, files.map(({ file }) => file)]);
  const before = textIn(note);
  if (before === taken) {
    rmSync(note, { force: true });
    return;
  }
  writeFileSync(note, taken, { mode: 0o600 });
  const line = `kite commit ${others.map(name => `--with ${shellArgument(name)}`).join(" ")}`;
  throw refused(
    `${line} commits ${listed(files.map(({ file }) => file))} with whatever lines ${listed(others)} has there, too; nothing was committed. ` +
      `To do so, run the same line again: ${listed(others)} will be told${flags.of === undefined ? "" : ` beside ${who.name}`}`,
  );
}

async function dryRun(all: Committing, chosen: Chosen): Promise<number> {
  const { git, world, own } = all;
  const entries = await entriesOf(git, chosen.files);
  const tree = await treeWith(git, `${own}.index`, chosen.head, entries);
  const from = chosen.head ?? (await git.line(["hash-object", "-t", "tree", "-w", "--stdin"], { input: "" }));
  const patch = await git.read([
    "diff-tree",
    "-p",
    "-r",
    "-M",
    "--binary",
    "--no-ext-diff",
    "--no-textconv",
    from,
    tree,
  ]);
  if (all.flags.json === true)
    printJson(world, {
      ok: true,
      dryRun: true,
      files: shown(chosen.files),
      left: leftRows(chosen),
      patch: patch.toString(),
    });
  else {
    world.stdout.write(patch.toString());
    const lines = leftLines(chosen);
    if (lines.length > 0) world.stderr.write(`${lines.join("\n")}\n`);
  }
  return exitCodes.done;
}

async function entriesOf(git: CallerGit, files: readonly OwnFile[]): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (const { file, was, own } of files) {
    if (own === null) continue;
    if (was !== null) entries.push({ path: was, mode: null, blob: "" });
    entries.push(await entryOf(git, file, own));
  }
  return entries;
}

/** A commit that is ready for a branch. */
interface Built {
  readonly chosen: Chosen;
  readonly entries: readonly Entry[];
  /** The same as the hooks left them. */
  readonly hooked: readonly Entry[];
  readonly message: string;
}

/** Makes the commit, anew while others' commits come first. Returns the exit code. */
async function made(all: Committing, first: Chosen): Promise<number> {
  const { git, world, flags, worktree, owner } = all;
  const hooks = await hooksOf(git, worktree, flags.verify !== false);
  const running = new CommitHooks(git, world.paths, owner, hooks);
  const checkout = { ...(await checkoutOf(git)), head: first.head };
  // Commands that need no long time stand in a line, or each would undo the work of the others.
  const queue = join(checkout.gitDir, "kite-commit.lock");
  const leave = hooks.size > 0 ? null : await takeFile(world.paths, queue, queueMs);
  try {
    // Those before have moved the branch.
    const chosen = leave === null ? first : await quiet(all);
    if (chosen.files.length === 0) return await nothing(all, chosen, checkout);
    return await onBranch(all, running, { ...(await checkoutOf(git)), head: chosen.head }, chosen);
  } finally {
    leave?.();
  }
}

async function onBranch(
  all: Committing,
  hooks: CommitHooks,
  begun: Checkout,
  first: Chosen,
): Promise<number> {
  const { git, world, own } = all;
  let checkout = begun;
  let built = await build(all, hooks, checkout, first);
  for (let n = 1; n <= triesMax; n += 1) {
    const tree = await treeWith(git, `${own}.index`, checkout.head, built.hooked);
    const base = checkout.head;
    if (base !== null && tree === (await git.line(["rev-parse", `${base}^{tree}`])))
      throw refused(
        "nothing differs from the last commit, also by what hooks changed; nothing was committed",
      );
    const commit = await objectOf(git, tree, base, built.message);
    note(all, built, commit);
    const reason = `commit${base === null ? " (initial)" : ""}: ${built.message.split("\n", 1)[0] ?? ""}`;
    if ((await publish(git, world.paths, { checkout, commit, entries: built.hooked, reason })) === "done") {
      const output = await hooks.after(checkout, commit, tree);
      await hooks.end(commit);
      const kept = await rewrite(all, built);
      await settleOwn(
        all.asker,
        all.texts,
        all,
        built.chosen.files.map(({ file }) => file),
      );
      await tell(all, built.chosen.files, commit);
      return report(all, built, { commit, checkout, kept, output });
    }
    const next = await checkoutOf(git);
    if (await isApart(git, base, next.head, built)) {
      checkout = next;
      continue;
    }
    const chosen = await quiet(all);
    if (chosen.files.length === 0) return nothing(all, chosen, next);
    checkout = { ...next, head: chosen.head };
    built = await build(all, hooks, checkout, chosen);
  }
  throw refused(`${triesMax} other commits came first; nothing was committed: run the line again`);
}

async function build(
  all: Committing,
  hooks: CommitHooks,
  checkout: Checkout,
  chosen: Chosen,
): Promise<Built> {
  const { git, own, message } = all;
  const entries = await entriesOf(git, chosen.files);
  const tree = await treeWith(git, `${own}.index`, chosen.head, entries);
  const after = await hooks.before(checkout, `${own}.index`, tree, message);
  all.world.stderr.write(after.output);
  await hooks.end(chosen.head);
  const differing = tree === after.tree ? [] : await differences(git, tree, after.tree);
  const changed = differing.filter(entry => !isDependencyLink(entry));
  const other = new Set(changed.map(({ path }) => path));
  const text = after.message === message ? message : await cleaned(git, after.message);
  if (text.trim() === "") throw refused("a hook left no message; nothing was committed");
  return {
    chosen,
    entries,
    hooked: [...entries.filter(({ path }) => !other.has(path)), ...changed],
    message: text,
  };
}

/** Whether the commits between change none of the files of this one. */
async function isApart(
  git: CallerGit,
  from: string | null,
  to: string | null,
  { hooked }: Built,
): Promise<boolean> {
  if (from === null || to === null) return false;
  const changed = await differences(git, from, to);
  const own = new Set(hooked.map(({ path }) => path));
  return changed.every(({ path }) => !own.has(path));
}

async function objectOf(
  git: CallerGit,
  tree: string,
  parent: string | null,
  message: string,
): Promise<string> {
  const isSigned = (await git.lineOrNull(["config", "--type=bool", "commit.gpgSign"])) === "true";
  const words = [
    "commit-tree",
    ...(isSigned ? ["-S"] : []),
    ...(parent === null ? [] : ["-p", parent]),
    tree,
  ];
  return git.line([...words, "-F", "-"], { input: message });
}

// What a hook changed goes into the shared file where that still has just what was committed.

/** Writes what a hook changed into the shared files. Returns those that stay as they are. */
async function rewrite(
  { git, worktree }: Committing,
  { chosen, entries, hooked }: Built,
): Promise<readonly string[]> {
  const kept: string[] = [];
  for (const { path, mode, blob } of hooked) {
    const before = entries.find(one => one.path === path);
    if (before?.blob === blob && before.mode === mode) continue;
    const file = chosen.files.find(one => one.file === path);
    const disk = onDisk(join(worktree, path));
    const isSame = disk.is === "file" && file?.own?.content != null && disk.content.equals(file.own.content);
    if (!isSame || mode === null || mode === "120000") {
      kept.push(path);
      continue;
    }
    const content = await git.read(["cat-file", "--filters", `--path=${path}`, blob]);
    replaceFile(join(worktree, path), disk, content, mode === "100755" ? disk.mode | 0o111 : disk.mode);
  }
  return kept;
}

// What was done is noted before the branch moves, so that the same line sent again says it, and never commits twice.

interface Done {
  readonly commit: string;
  readonly message: string;
  readonly paths: readonly string[] | null;
  readonly at: number;
  readonly files: readonly string[];
}

function note({ own, world, message, paths }: Committing, { chosen }: Built, commit: string): void {
  const files = chosen.files.map(({ file }) => file);
  const done: Done = { commit, message, paths, at: world.now(), files };
  writeFileSync(`${own}.done`, JSON.stringify(done), { mode: 0o600 });
}

/** There is nothing to commit: says what the same line has done a moment ago, or refuses. */
async function nothing(all: Committing, chosen: Chosen, { head }: Checkout): Promise<number> {
  const { own, world, message, paths, git, flags } = all;
  const done = doneIn(`${own}.done`);
  const isSame =
    done !== null && done.message === message && JSON.stringify(done.paths) === JSON.stringify(paths);
  if (isSame && head !== null && world.now() - done.at < againMs) {
    const { code } = await git.run(["merge-base", "--is-ancestor", done.commit, head]);
    if (code === 0) {
      await settleOwn(all.asker, all.texts, all, done.files);
      if (flags.json === true)
        printJson(world, {
          ok: true,
          commit: done.commit,
          again: true,
          files: done.files,
          left: leftRows(chosen),
        });
      else
        print(world, [
          `${done.commit.slice(0, 10)} has it already: nothing of yours is left to commit.`,
          ...leftLines(chosen),
        ]);
      return exitCodes.done;
    }
  }
  const lines = leftLines(chosen);
  const why = lines.length === 0 ? "" : `\n${lines.join("\n")}`;
  if (flags.json === true)
    printJson(world, {
      ok: false,
      code: "nothing_to_commit",
      error: "nothing of yours is uncommitted",
      left: leftRows(chosen),
    });
  else
    world.stderr.write(
      `kite: nothing of ${all.who.name} is uncommitted${paths === null ? "" : " in these files"}; nothing was committed${why}\n`,
    );
  return exitCodes.failed;
}

function doneIn(file: string): Done | null {
  const text = textIn(file);
  if (text === null) return null;
  try {
    return JSON.parse(text) as Done;
  } catch {
    return null; // Cut off by a kill.
  }
}

function textIn(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (isSystemError(error)) return null;
    throw error;
  }
}

/** Tells the agents whose lines were taken along. */
async function tell(
  { asker, others, who }: Committing,
  files: readonly OwnFile[],
  commit: string,
): Promise<void> {
  const names = listed(files.map(({ file }) => file));
  for (const to of others) {
    const text = `${who.name} committed ${names} with whatever lines you had there, too, in ${commit.slice(0, 10)} (kite commit --with).`;
    const agent = who.agent === null ? {} : { agent: who.agent };
    // An agent that has ended has no inbox.
    await asker.client.request("message_send", { id: who.id, ...agent, to, text: text.slice(0, 2_000) });
  }
}

interface Outcome {
  readonly commit: string;
  readonly checkout: Checkout;
  readonly kept: readonly string[];
  readonly output: string;
}

async function report(
  all: Committing,
  { chosen, message }: Built,
  { commit, checkout, kept, output }: Outcome,
): Promise<number> {
  const { world, git, flags } = all;
  world.stderr.write(output);
  const branch = checkout.ref?.replace(/^refs\/heads\//, "") ?? null;
  if (flags.json === true) {
    printJson(world, { ok: true, commit, branch, files: shown(chosen.files), left: leftRows(chosen), kept });
    return exitCodes.done;
  }
  const stat = await git.line(["show", "--format=", "--shortstat", commit]);
  const subject = message.split("\n", 1)[0] ?? "";
  print(world, [
    `[${clean(branch ?? "detached HEAD")} ${commit.slice(0, 10)}] ${clean(subject)}`,
    ...(stat === "" ? [] : [stat]),
    ...kept.map(
      file =>
        `A hook changed ${clean(file)} in the commit; the file here stays as it is, with what is not committed.`,
    ),
    ...leftLines(chosen),
  ]);
  return exitCodes.done;
}

function shown(files: readonly OwnFile[]): readonly object[] {
  return files.map(({ file, path, was, kind, isWhole }) => ({ file, path, was, kind, isWhole }));
}

interface LeftRow {
  readonly file: string;
  readonly path: string;
  readonly why: "mixed" | "others" | "unseen";
  readonly who: readonly string[];
  readonly lines: number | null;
}

function leftRows({ left }: Chosen): readonly LeftRow[] {
  return left.flatMap(({ file, path, mixed, others, isSeen }): readonly LeftRow[] => {
    if (mixed.length > 0) return mixed.map(({ who, lines }) => ({ file, path, why: "mixed", who, lines }));
    return [{ file, path, why: isSeen ? "others" : "unseen", who: others, lines: null }];
  });
}

/** Files that a list names. */
const namedMax = 10;

function leftLines(chosen: Chosen): readonly string[] {
  const rows = leftRows(chosen);
  const lines = rows
    .filter(({ why }) => why === "mixed")
    .slice(0, namedMax)
    .map(({ file, who, lines: count }) => {
      const what = count === null ? "it is one piece" : counted(count, "line");
      return `Not committed in ${clean(file)}: ${what} that you and ${clean(listed(who))} both changed.`;
    });
  const unseen = rows.filter(({ why }) => why === "unseen").map(({ file }) => clean(file));
  if (unseen.length === 0) return lines;
  const more = unseen.length > namedMax ? ` and ${unseen.length - namedMax} more` : "";
  return [
    ...lines,
    `Left out, since Kite saw nobody write it: ${unseen.slice(0, namedMax).join(", ")}${more}. To commit such a file, name it.`,
  ];
}

function refused(error: string): Refused {
  return new Refused({ ok: false, code: "not_available", error });
}

const help = `
Commit commits your own uncommitted lines of this checkout, and nobody else's; with files, only those in them. A main agent's
lines are also those of its agents that have ended. A file in which no other agent wrote goes whole. A file that Kite saw
nobody write goes only if you name it. Lines that you and another both changed stay, and are named. What others staged stays
staged. Hooks, filters, signing and your identity are git's; hooks run in a worktree that has just what is committed.

Sent again with nothing left, it says what it did.

--json: {"ok":true, "commit", "branch", "files":[{"file", "path", "was", "kind", "isWhole"}], "left":[{"file", "path",
"why":"mixed"|"others"|"unseen", "who", "lines"}], "kept"}; "again":true if it was done before

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite commit -m "Fix the login"
  $ kite commit -m "Fix the login" src/login.ts
  $ kite commit --dry-run                       # the patch
  $ kite commit --of alice -m "Fix the login"   # a person, for an agent`;

export function add(command: Command, run: Run): void {
  const collect = (value: string, before: readonly string[] = []) => [...before, value];
  command
    .argument("[file...]", "only your lines in these files, and in files below these directories")
    .option("-m, --message <text>", "the message; several are paragraphs", collect)
    .option("-F, --file <file>", "read the message from a file; - is standard input")
    .option("--dry-run", "print the patch, and commit nothing")
    .option("--no-verify", "run no hook that may refuse the commit")
    .option("--with <name>", "take the lines of this agent along; it is told", collect)
    .option("--of <name>", "a person: commit the lines of this agent")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((files: readonly string[], flags: CommitFlags) => run(world => commit(world, files, flags)));
}
