/** `kite undo` takes changes of a file back, and keeps what others wrote since. */

import type { Command } from "commander";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import { shellArgument } from "../../protocol/text.ts";
import { agentElsewhere } from "../context/caller.ts";
import { isYes, terminalQuestion } from "../context/person.ts";
import { type ProcessContext, print, printFramed, printJson, screenOf } from "../context/process-context.ts";
import { scopeProject } from "../context/project.ts";
import { exitCodes, fail, Refused, rowsOf } from "../context/with-daemon.ts";
import { clean, paint, type Screen } from "../view/text.ts";
import { conflictText, modeOf, type WaitFlag, waitOf, writeBack } from "./restore.ts";
import { authorOf, diffLines, fileWord, versionRows } from "./shown.ts";
import { bytesOf, type Change, changed, type Outcome, Texts } from "./texts.ts";
import {
  type Asker,
  asAsker,
  Commits,
  keptFile,
  neededContent,
  type OnDisk,
  onDisk,
  readerOf,
  uncommittedOf,
  versionsOf,
} from "./versions.ts";

// Which changes of a file are taken back. Pure.

/** Takes back what lies between two versions; `to` null: what the commit had on which `from` was based. */
interface Step {
  readonly from: VersionRow;
  readonly to: VersionRow | null;
  /** What is taken back, the latest first. */
  readonly takes: readonly VersionRow[];
}

type Choice =
  | { readonly is: "last" }
  | { readonly is: "to" | "one"; readonly version: string }
  | { readonly is: "before"; readonly name: string };

/** Whether the version is by the one that a person means: by name or id. */
function isBy({ by }: Pick<VersionRow, "by">, name: string): boolean {
  return by !== null && (by.name === name || by.id === name || by.agent === name);
}

/**
 * Returns the steps, the latest change first, or a sentence that says why there are none. `rows` are the versions of a file,
 * the latest first; `uncommitted` says how many of them no commit contains.
 */
export function stepsOf(
  rows: readonly VersionRow[],
  uncommitted: number,
  choice: Choice,
): readonly Step[] | string {
  switch (choice.is) {
    case "last": {
      const at = rows.findIndex(({ kind }, i) => kind === "write" && i < uncommitted);
      return at === -1
        ? "Kite keeps no write of it since it was last as committed"
        : [step(rows, at, at + 1)];
    }
    case "to": {
      const at = rows.findIndex(({ version }) => version === choice.version);
      if (at === -1) return `Kite keeps no version ${choice.version} of it`;
      return [step(rows, 0, at)];
    }
    case "one": {
      const at = rows.findIndex(({ version }) => version === choice.version);
      return at === -1 ? `Kite keeps no version ${choice.version} of it` : [step(rows, at, at + 1)];
    }
    case "before": {
      const steps: Step[] = [];
      for (let at = 0; at < uncommitted; ) {
        let end = at;
        while (end < uncommitted && isTaken(rows[end], choice.name)) end += 1;
        if (end > at) steps.push(step(rows, at, end));
        at = end + 1;
      }
      return steps.length === 0
        ? `Kite keeps no write of ${choice.name} in it since it was last as committed`
        : steps;
    }
  }
}

function isTaken(row: VersionRow | undefined, name: string): boolean {
  return row !== undefined && isBy(row, name);
}

/** The step that takes back the versions from `start` on, before `end`. */
function step(rows: readonly VersionRow[], start: number, end: number): Step {
  const from = rows[start];
  if (from === undefined) throw new Error("a step without versions");
  return { from, to: rows[end] ?? null, takes: rows.slice(start, end) };
}

// `kite undo`: takes changes of a file back, and keeps what others wrote since where nothing overlaps.

export interface UndoFlags extends WaitFlag {
  readonly to?: string;
  readonly before?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly whole?: boolean;
  readonly conflicts?: boolean;
  readonly json?: boolean;
}

/** Lines of the diff that a person is asked about. */
const diffLinesMax = 200;

/** What an undo would do. */
interface Plan {
  readonly file: string;
  readonly path: string;
  readonly takes: readonly VersionRow[];
  /** The version that the file gets as a whole, if it does. */
  readonly version: string | null;
  /** A version that has a part in it. */
  readonly source: VersionRow;
  readonly was: OnDisk;
  readonly now: Buffer;
  readonly outcome: Outcome;
  readonly mode: number;
}

/** Returns the exit code. */
export function undo(world: ProcessContext, file: string | undefined, flags: UndoFlags): Promise<number> {
  const json = flags.json === true;
  const waitMs = waitOf(flags);
  const wrong = typeof waitMs === "string" ? waitMs : misuse(file, flags);
  if (wrong !== null || typeof waitMs === "string")
    return Promise.resolve(fail(world, json, "usage", wrong ?? ""));
  return asAsker(world, json, async asker => {
    const texts = Texts.open(world);
    try {
      return await undoOf(world, asker, texts, file, flags, waitMs);
    } finally {
      texts?.close();
    }
  });
}

function misuse(file: string | undefined, { to, before }: UndoFlags): string | null {
  if (to !== undefined && before !== undefined) return "give --to or --before, not both";
  if (file === undefined && before === undefined)
    return "say what to undo: kite undo FILE, or kite undo --before NAME for the last write of an agent";
  if (file === undefined && to !== undefined) return "--to needs a file: kite undo FILE --to v-1";
  return null;
}

async function undoOf(
  world: ProcessContext,
  asker: Asker,
  texts: Texts | null,
  file: string | undefined,
  flags: UndoFlags,
  waitMs: number,
): Promise<number> {
  const json = flags.json === true;
  const plan = await planOf(world, asker, texts, file, flags);
  if (typeof plan === "string") return fail(world, json, "nothing_to_undo", plan);
  const { outcome } = plan;
  const isDry = flags.dryRun === true;
  if (!json) printFramed(world, await planLines(plan, texts, screenOf(world)));
  if (outcome.is === "same") return done(world, json, plan, { result: "same" });
  if (outcome.is === "unmerged") return refused(world, json, plan, outcome.why, 0);
  if (outcome.is === "conflict" && flags.conflicts !== true)
    return refused(world, json, plan, conflictText(outcome.conflicts), outcome.conflicts);
  if (isDry) return done(world, json, plan, { result: "none" });
  const may = await mayWrite(world, asker, plan, flags);
  if (may !== null) return may === "" ? exitCodes.failed : fail(world, json, "usage", may);
  const content = outcome.is === "conflict" ? outcome.marked : outcome.content;
  const { path, was, mode, source } = plan;
  const placed = await writeBack(asker, { path, was, content, mode, version: source }, waitMs);
  if (placed.error !== null) return fail(world, json, "not_written", placed.error);
  const result = outcome.is === "conflict" ? "marked" : outcome.is;
  return done(world, json, plan, { result, before: placed.before, version: placed.version });
}

/** Returns what is to be done, or a sentence that says why there is nothing. Throws `Refused`. */
async function planOf(
  world: ProcessContext,
  asker: Asker,
  texts: Texts | null,
  file: string | undefined,
  { to, before, whole = false }: UndoFlags,
): Promise<Plan | string> {
  const last = file === undefined ? await lastBy(world, asker, before ?? "") : null;
  const { path, rows } =
    last === null
      ? await keptFile(asker, file ?? "")
      : { path: last.path, rows: await versionsOf(asker, last.path) };
  const [latest] = rows;
  if (latest === undefined)
    return `Kite keeps no version of ${file ?? path}; kite history ${fileWord(file ?? path)} says more`;
  const commits = new Commits(world);
  const { versions } = await uncommittedOf(commits, latest, rows);
  const was = onDisk(path);
  const choice: Choice =
    last !== null
      ? { is: "one", version: last.version }
      : to !== undefined
        ? { is: "to", version: to }
        : before !== undefined
          ? { is: "before", name: before }
          : // What made the file go was the last change.
            was.is === "absent"
            ? { is: "to", version: latest.version }
            : { is: "last" };
  const steps = stepsOf(rows, versions.length, choice);
  if (typeof steps === "string")
    return `${steps}: ${file ?? path}; kite history --all ${fileWord(file ?? path)} lists all that it keeps`;
  const now = bytesOf(was);
  if (now === null || was.is === "odd")
    return `${path} is ${was.is === "odd" ? was.what : "no file"} now: move it away first`;
  const changes: Change[] = [];
  for (const step of steps) changes.push(await changeOf(commits, step, file ?? path));
  const target = steps.length === 1 ? (steps[0]?.to ?? null) : null;
  const end = changes.at(-1)?.after;
  const labels = { now: latest.file, other: target?.version ?? "before" };
  const outcome: Outcome =
    (whole || was.is === "absent") && end !== undefined && steps.length === 1
      ? now.equals(end) && was.is === "file"
        ? { is: "same" }
        : { is: "whole", content: end }
      : outsideAlone(choice, end, now, await changed(texts, now, changes, labels));
  const mode = outcome.is === "whole" && target !== null ? target.mode : modeOf(was);
  const takes = steps.flatMap(step => step.takes);
  return {
    file: latest.file,
    path,
    takes,
    version: target?.version ?? null,
    source: target ?? steps[0]?.from ?? latest,
    was,
    now,
    outcome,
    mode,
  };
}

/** A file that went on outside of Kite alone does not become an earlier version by taking back what Kite knows. */
function outsideAlone(choice: Choice, end: Buffer | undefined, now: Buffer, outcome: Outcome): Outcome {
  if (choice.is !== "to" || outcome.is !== "same" || end === undefined || end.equals(now)) return outcome;
  const why = `all that changed since ${choice.version} changed outside of Kite; --whole puts ${choice.version} in its place`;
  return { is: "unmerged", why };
}

/** The last write of an agent in the project. Throws `Refused`. */
async function lastBy(world: ProcessContext, asker: Asker, name: string): Promise<VersionRow> {
  const project = asker.acting === null ? await scopeProject(world, undefined, {}) : null;
  const rows = await rowsOf(asker.client, "versions", {
    ...(project === null ? {} : { project }),
    ...readerOf(asker),
  });
  const found = rows.find(row => row.kind === "write" && isBy(row, name));
  if (found !== undefined) return found;
  const there = await agentElsewhere(asker.client, name, project ?? undefined);
  if (there !== null) throw there;
  const error = `Kite keeps no write of ${name} in this project; kite rescue and kite history FILE show what it keeps`;
  throw new Refused({ ok: false, code: "unknown_version", error });
}

async function changeOf(commits: Commits, { from, to }: Step, file: string): Promise<Change> {
  const before = await neededContent(from);
  const after = to === null ? await commits.content(from.base, from) : await neededContent(to);
  if (after !== null) return { before, after };
  throw new Refused({
    ok: false,
    code: "unknown_version",
    error: `Kite keeps nothing of ${file} before ${from.version}, and no commit has it: if it was not there before, remove it; ${from.version} stays kept`,
  });
}

/** Returns null if the change may be made; else why not, or "" if the person said no. */
async function mayWrite(
  world: ProcessContext,
  { acting }: Asker,
  { file, takes, version }: Plan,
  { yes = false, json = false }: UndoFlags,
): Promise<string | null> {
  if (yes) return null;
  const isOwn = acting !== null && takes.every(({ by }) => by?.id === acting.id);
  const question = json ? null : terminalQuestion();
  if (question !== null) {
    if (isYes(await question(`Change ${clean(file)}? [y/N] `))) return null;
    print(world, ["Nothing was changed."]);
    return "";
  }
  if (isOwn) return null;
  const others = takes.filter(({ by }) => acting === null || by?.id !== acting.id);
  const what =
    others.length === 0
      ? `this puts ${version ?? "an earlier version"} into ${clean(file)}`
      : `this takes back changes of others (${[...new Set(others.map(authorOf))].join(", ")})`;
  return `${what}; nothing was changed. To do it all the same: --yes`;
}

function refused(
  world: ProcessContext,
  json: boolean,
  { file, path }: Plan,
  why: string,
  conflicts: number,
): number {
  const error = `${file} stays as it is: ${why}`;
  if (json) printJson(world, { ok: false, code: "conflict", error, file, path, conflicts });
  else fail(world, false, "conflict", error);
  return exitCodes.failed;
}

interface Result {
  /** `none`: nothing was written, since nothing was to be. */
  readonly result: "same" | "whole" | "merged" | "marked" | "none";
  /** The version that has what the file had before. */
  readonly before?: string | null;
  readonly version?: string | null;
}

function done(world: ProcessContext, json: boolean, plan: Plan, result: Result): number {
  const { file, path, takes, outcome } = plan;
  if (json) {
    const wouldBe = outcome.is;
    printJson(world, {
      ok: true,
      file,
      path,
      takes: takes.map(({ version }) => version),
      wouldBe,
      ...result,
    });
    return exitCodes.done;
  }
  print(world, doneLines(clean(file), shellArgument(clean(path)), result));
  return exitCodes.done;
}

function doneLines(file: string, path: string, { result, before = null }: Result): string[] {
  if (result === "none") return ["Nothing was changed: --dry-run."];
  if (result === "same") return [`Nothing of these changes is in ${file}: it stays as it is.`];
  const what =
    result === "marked"
      ? `Marks of conflicts are in ${file} now: choose a side at each.`
      : `Changed ${file}.`;
  return [what, ...(before === null ? [] : [`What it had is ${before}: kite undo ${path} --to ${before}`])];
}

async function planLines(
  { file, takes, version, now, outcome }: Plan,
  texts: Texts | null,
  screen: Screen,
): Promise<string[]> {
  const name = paint(screen, "bold", clean(file));
  const to = version === null ? "" : `, back to ${version}`;
  const head =
    takes.length === 0
      ? [`This puts ${version ?? "an earlier version"} into ${name}`]
      : [`In ${name} this takes back${to}:`];
  const after = outcome.is === "whole" || outcome.is === "merged" ? outcome.content : null;
  const hunks = after === null || texts === null ? null : await texts.unified(now, after);
  return [
    ...head,
    ...versionRows(takes, false, screen),
    ...(hunks === null ? [] : diffLines(hunks, screen, diffLinesMax)),
  ];
}

const help = `
Undo takes the last write of a file back, whoever wrote it; --to takes back all writes since a version, --before those of
one agent. A file that is gone gets back what it had. What others wrote since stays where nothing overlaps. Undo shows what it will do, and asks on a terminal;
elsewhere --yes says yes, which an agent needs to take back the work of others. What the file had before is kept: undo
says how to have it again.

With --all, undo takes back all of your own lines since the last commit, in the files (paths as git takes them) or in all of this
worktree. Lines of others stay byte for byte. New files of yours alone go, deleted ones come back; what you staged of it goes
with it. A line that you and another changed stays, and is named. What Kite cannot keep first stays as well. The answer has the
one line that brings all back: --all --back u-1. A person names the agent: --of alice.

An undo is an edit: it waits for the file's lock, and freezes and gates hold it back. Where lines overlap, it says so and
leaves the file alone.

--json: {"ok":true, "file", "path", "takes":["v-3"], "wouldBe", "result":"whole"|"merged"|"marked"|"same"|"none",
"before":"v-4", "version":"v-5"}; a conflict is {"ok":false, "code":"conflict", "error", "file", "path", "conflicts"}
--all --json: {"ok":true, "undo":"u-1"|null, "back": the line that brings all back|null, "files":[{"file", "is":"taken"|"left", "why",
"mixed":[{"who":[names], "lines"}]}]}; --back: {"ok":true, "undo", "files":[{"file", "is":"back"|"merged"|"same"|"left", "why"}]}

Exit codes: 0 done, 1 refused, in conflict or failed, 3 no daemon runs.

Examples:
  $ kite undo src/auth.ts
  $ kite undo src/auth.ts --to v-12
  $ kite undo --before alice                   # the last write of alice
  $ kite undo src/auth.ts --before alice       # all that alice wrote in it since the last commit
  $ kite undo --all src                        # all of your own lines below src`;

/** Adds what the command takes to undo changes of one file. */
export function addUndo(command: Command, files: string): Command {
  return command
    .argument(files, "the file; without it the last write of the agent that --before names")
    .option("--to <version>", "back to this version (kite history lists them)")
    .option("--before <name>", "take back what this agent wrote")
    .option("-n, --dry-run", "show what would be done, and do nothing")
    .option("-y, --yes", "do not ask")
    .option("--whole", "put the earlier version in the place of all that the file has now")
    .option("--conflicts", "where lines overlap, write both with git's marks")
    .addHelpText("after", help);
}
