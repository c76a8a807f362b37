/** `kite repair` saves what can be read of a damaged journal. */

import { constants, lstatSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { Salvage } from "../../daemon/engine/salvage.ts";
import { acquireInstance } from "../../daemon/instance/instance.ts";
import { journalFiles, nodeDisk } from "../../daemon/journal/disk.ts";
import { inspectJournal, readRemains, replaceJournal, wholeUntil } from "../../daemon/journal/remains.ts";
import {
  beginEmpty,
  journalBefore,
  lostStore,
  lostStoreProblem,
  startWithout,
} from "../../daemon/journal/store-mark.ts";
import {
  type AskPerson,
  isYes,
  type RefuseOptions,
  refuseAgent,
  terminalQuestion,
} from "../context/person.ts";
import { type ProcessContext, print, printJson, type Run, screenOf } from "../context/process-context.ts";
import { exitCodes, fail, printDone } from "../context/with-daemon.ts";
import { counted, paragraphs, type Screen } from "../view/text.ts";
import { type OddFile, oddFile, oddFolder } from "./odd-files.ts";

// Finds what a reader of the journal would fail at: a file of it that is none, or that may not be read.

/** Returns the first odd file of the journal in `dir`, which is a folder; null if each can be read. */
export function oddJournalFile(dir: string): OddFile | null {
  const shut = oddFolder(dir);
  if (shut !== null) return shut;
  const { segments, snapshots, manifests } = journalFiles(nodeDisk, dir);
  for (const { name } of [...segments, ...snapshots, ...manifests]) {
    const odd = oddFile(join(dir, name));
    if (odd !== null) return odd;
  }
  return null;
}

/** Returns what keeps a daemon from writing the journal in `dir`, which it can read; null if nothing does. */
export function unwritableJournal(dir: string): OddFile | null {
  const shut = oddFolder(dir, constants.W_OK);
  if (shut !== null) return shut;
  const last = journalFiles(nodeDisk, dir).segments.at(-1);
  return last === undefined ? null : oddFile(join(dir, last.name), constants.W_OK);
}

// The output of `kite repair`.

/** What is saved, counted. */
interface Saved {
  readonly tasks: number;
  readonly context: number;
  readonly messages: number;
  readonly sessions: number;
  readonly locks: number;
}

function savedOf({ state }: Pick<Salvage, "state">): Saved {
  return {
    tasks: state?.tasks.all.size ?? 0,
    context: state?.context.items.size ?? 0,
    messages: state?.messages.all.size ?? 0,
    sessions: state?.sessions.live.size ?? 0,
    locks: state?.locks.holds.size ?? 0,
  };
}

/** By the beginning of a command's type: what people call it. */
const nouns: readonly (readonly [string, string])[] = [
  ["task", "change of tasks"],
  ["context", "change of the context"],
  ["message", "message or its delivery"],
  ["lock", "step of a lock"],
  ["session", "step of a session"],
];

/** Says what is damaged, what can be saved and what is lost. */
function repairLines(damage: string, saved: Salvage, copy: string, screen: Screen): string[] {
  const { tasks, context, messages, sessions, locks } = savedOf(saved);
  const can = [
    counted(tasks, "task"),
    counted(context, "context value"),
    counted(messages, "message"),
    counted(sessions, "session"),
    counted(locks, "lock"),
  ].join(", ");
  const text = [
    `${(damage.split(". ")[0] ?? damage).replace(/^the/, "The")}.`,
    saved.state === null ? "Nothing can be saved; Kite begins with an empty store." : `Can be saved: ${can}.`,
    ...(saved.isPartial ? ["These come from a damaged copy of the state: some of them may be missing."] : []),
    lostLine(saved),
    `The damaged files are kept in ${copy}`,
  ];
  return paragraphs(text.join("\n"), screen.width);
}

function lostLine({ lostEntries, readable }: Salvage): string {
  if (lostEntries === 0) return "No stored change is lost.";
  const lost = `Lost: at least ${counted(lostEntries, "stored change")}.`;
  const idle = [...readable.values()].reduce((sum, n) => sum + n, 0);
  if (idle === 0) return lost;
  const kinds = nouns.flatMap(([prefix, noun]) => {
    const count = [...readable].reduce((sum, [type, n]) => (type.startsWith(prefix) ? sum + n : sum), 0);
    return count === 0 ? [] : [`${count} × ${noun}`];
  });
  const among = kinds.length === 0 ? "" : ` (among them ${kinds.join(", ")})`;
  return `${lost} Of those behind them ${counted(idle, "change")}${among} had no effect: most build on what is lost.`;
}

// Saves what a damaged journal still holds.

interface RepairFlags {
  /** The last entry before the damage: who names it gives up what cannot be saved behind it. */
  readonly discardAfter?: number;
  readonly json?: boolean;
}

/** Returns the exit code. `ask` is null without a terminal. */
export async function repair(
  world: ProcessContext,
  flags: RepairFlags,
  ask: AskPerson | null,
  who: Pick<RefuseOptions, "isAgent"> = {},
): Promise<number> {
  const { paths } = world;
  const { json = false } = flags;
  const refused = (code: string, error: string) => fail(world, json, code, error);
  const stat = lstatSync(paths.journal, { throwIfNoEntry: false });
  const lost = lostStoreProblem(paths);
  if (lost !== null) return refused("journal_missing", lost);
  if (stat === undefined) return nothingToDo(world, json, "there is no journal yet");
  if (!stat.isDirectory())
    return refused(
      "not_a_journal",
      `${paths.journal} is not a folder; put it aside, then start Kite: ${startWithout(paths)}`,
    );
  const odd = oddJournalFile(paths.journal);
  if (odd !== null) {
    const error = `${odd.what}, so the journal cannot be read; ${odd.advice.todo}; then kite repair again`;
    return refused("not_a_journal", error);
  }
  const acquired = await acquireInstance(paths);
  if (acquired.is === "held") {
    const error = "the daemon runs and has everything in memory; to store it anew: kite down, then kite up";
    return refused("daemon_runs", error);
  }
  if (acquired.is === "refused") return refused(acquired.code, acquired.error);
  try {
    return await repairStopped(world, flags, ask, who);
  } finally {
    await acquired.instance.release();
  }
}

/** Repairs the journal while no daemon can start. */
async function repairStopped(
  world: ProcessContext,
  flags: RepairFlags,
  ask: AskPerson | null,
  who: Pick<RefuseOptions, "isAgent">,
): Promise<number> {
  const { paths } = world;
  const { json = false } = flags;
  const { damage } = inspectJournal(paths.journal);
  if (damage === null) return nothingToDo(world, json, "the journal is not damaged");
  // The daemon's own bundle has the state machine already.
  const { salvage } = await import("../daemon.ts");
  const remains = readRemains(paths.journal);
  const saved = salvage(remains);
  const copy = freeName(
    `${paths.journal}.damaged-${new Date(world.now()).toISOString().slice(0, 19).replaceAll(":", "-")}`,
  );
  const until = wholeUntil(remains);
  if (!json) print(world, repairLines(damage, saved, copy, screenOf(world)));
  const agents = await refuseAgent(world, json, "repair", { line: lineDiscarding(until), ...who });
  if (agents !== null) return agents;
  const unconfirmed = await confirmRepair(world, flags, ask, { until, saved, damage });
  if (unconfirmed !== null) return unconfirmed;
  const epoch = Math.max(remains.epoch, journalBefore(paths).epoch);
  await replaceJournal(paths.journal, copy, epoch, saved.snapshot);
  // Both may tell of entries that a person gave up; subscribers start anew without the events.
  for (const path of [paths.events, paths.storeMark]) rmSync(path, { force: true });
  return printDone(world, json, { ok: true, ...outcome(saved, copy, damage) }, () => [
    `Saved. The damaged journal is kept in ${copy}`,
    "Start Kite: kite up",
  ]);
}

/** Returns the command that repairs without a question. */
function lineDiscarding(until: number): string {
  return `kite repair --discard-after ${until}`;
}

/** What a person decides about. */
interface Repairable {
  /** The last entry before the damage. */
  readonly until: number;
  readonly saved: Salvage;
  readonly damage: string;
}

/** Asks the person unless --discard-after answers for them. Returns null if they agree, else the exit code. */
async function confirmRepair(
  world: ProcessContext,
  { discardAfter, json = false }: RepairFlags,
  ask: AskPerson | null,
  { until, saved, damage }: Repairable,
): Promise<number | null> {
  const line = lineDiscarding(until);
  if (discardAfter === until) return null;
  if (discardAfter !== undefined) {
    const error = `the journal is whole up to entry ${until}, not ${discardAfter}, so nothing was changed; to save what it holds: ${line}`;
    return fail(world, json, "not_confirmed", error);
  }
  if (!json && ask !== null && isYes(await ask("Save this? [y/N] "))) return null;
  const note = `Nothing was changed. To save this: ${line}`;
  if (json)
    printJson(world, { ok: false, code: "not_confirmed", error: note, ...outcome(saved, null, damage) });
  else print(world, [note]);
  return exitCodes.failed;
}

function nothingToDo(world: ProcessContext, json: boolean, why: string): number {
  return printDone(world, json, { ok: true, repaired: false, why }, () => [
    `${why.slice(0, 1).toUpperCase()}${why.slice(1)}: there is nothing to repair.`,
  ]);
}

/** `copy`: where the damaged journal was put aside; null: nothing was changed. */
function outcome(saved: Salvage, copy: string | null, damage: string): Record<string, unknown> {
  const { lostEntries, readable, isPartial } = saved;
  return {
    repaired: copy !== null,
    damage,
    saved: savedOf(saved),
    lost: { entries: lostEntries, readable: Object.fromEntries(readable) },
    partial: isPartial,
    copy,
  };
}

function freeName(path: string): string {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? path : `${path}-${n}`;
    if (lstatSync(name, { throwIfNoEntry: false }) === undefined) return name;
  }
}

const help = `
The daemon does not start with a damaged journal, so that nothing is dropped in silence. Repair shows what does not build
on the damaged part, asks, stores that as the new journal, and keeps the damaged files beside it. A task behind the
damage may get another number if nothing tells its own. Only a person gives up the rest. A script says so with the number
of the last entry before the damage, which repair prints.

--json: {"ok":true, "repaired":true, "damage", "saved":{"tasks", "context", "messages", "sessions", "locks"},
  "lost":{"entries", "readable":{TYPE:COUNT}}, "partial":true|false, "copy":DIRECTORY}

Exit codes: 0 saved, or nothing to repair; 1 not confirmed, or the daemon runs.

Example:
  $ kite repair`;

export function add(command: Command, run: Run): void {
  command
    .description("save what a damaged journal still holds, and keep the damaged files")
    .option(
      "--discard-after <entry>",
      "save it without a question; the journal is whole up to this entry",
      entryNumber,
    )
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: RepairFlags) => run(world => repair(world, flags, terminalQuestion())));
}

function entryNumber(typed: string): number {
  if (/^\d{1,15}$/.test(typed)) return Number(typed);
  throw new InvalidArgumentError("Give the number that kite repair prints.");
}

// Gives up a journal that is missing: `kite up --empty`.

/**
 * Makes an empty journal in place of a missing one, so that a daemon can start. Returns the exit code of a refusal, or
 * null. A journal that is there is not touched.
 */
export async function beginEmptyStore(world: ProcessContext, json: boolean): Promise<number | null> {
  const { paths } = world;
  const agents = await refuseAgent(world, json, "empty");
  if (agents !== null) return agents;
  const refused = (code: string, error: string) => fail(world, json, code, error);
  const acquired = await acquireInstance(paths);
  if (acquired.is === "held")
    return refused("daemon_runs", "the daemon runs, so nothing begins anew; to stop it: kite down");
  if (acquired.is === "refused") return refused(acquired.code, acquired.error);
  try {
    const lost = lostStore(paths);
    if (lost === null)
      return refused("not_missing", "no journal is missing, so nothing begins anew; start Kite: kite up");
    await beginEmpty(paths, lost);
    // The kept events tell of what is given up.
    rmSync(paths.events, { force: true });
    return null;
  } finally {
    await acquired.instance.release();
  }
}
