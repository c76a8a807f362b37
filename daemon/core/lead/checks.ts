/**
 * What changed in a worktree since a check ran, and whose work that is. Pure.
 *
 * Invariant: a change counts as the work of others only if the state knows another writer of the file since the run. If a
 * writer of the agent's own lineage is among them, the change does not count.
 */

import type { DirtyFile, Meta, Rules } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { type Commands, lasting } from "../tables/entries.ts";
import { actorRow, type Lineage, sameLineage } from "../tables/naming.ts";
import type { State } from "./state.ts";
import { addResult, type CheckResult, resultKey } from "./tables/roles.ts";

/** The state of a worktree, as far as two of them can be compared. */
export interface StateFiles {
  readonly commit: string | null;
  /** The files that differ from the commit, with mode and content. */
  readonly changed: ReadonlyMap<string, string>;
  /** A hash of what the working tree leaves out. */
  readonly absent: string;
}

/** By the path from the worktree's top: mode and content in each of two commits; `gone` if one has no such file. */
type CommitDiff = ReadonlyMap<string, readonly [string, string]>;

/** Returns the files that differ between two states, in order; null if they differ in what they leave out. */
export function differingFiles(then: StateFiles, now: StateFiles, between: CommitDiff): string[] | null {
  if (then.absent !== now.absent) return null;
  const files = new Set([...then.changed.keys(), ...now.changed.keys(), ...between.keys()]);
  const differs = (file: string) => {
    const [before, after] = between.get(file) ?? [committed, committed];
    return (then.changed.get(file) ?? before) !== (now.changed.get(file) ?? after);
  };
  return [...files].filter(differs).sort();
}

/** The content of a file as both commits have it. */
const committed = "as committed";

/** A changed file, and who wrote it last. */
export interface OthersFile {
  readonly file: string;
  readonly by: string;
}

/** Changed files by whose work they are: the agent's own, that of others, of nobody that the state knows. */
export interface Changes {
  readonly own: readonly string[];
  readonly others: readonly OthersFile[];
  readonly unknown: readonly string[];
}

/** Sorts changed files of a worktree by who wrote them after the entry `seq`. */
export function changesBy(
  { writes }: Pick<State, "writes">,
  worktree: string,
  me: Lineage,
  files: readonly string[],
  seq: number,
): Changes {
  const works = worksOf(writes, worktree);
  const [own, unknown, others]: [string[], string[], OthersFile[]] = [[], [], []];
  for (const file of files) {
    const since = (works.get(file)?.writers ?? []).filter(writer => writer.seq > seq);
    const last = since.at(-1);
    if (last === undefined) unknown.push(file);
    else if (since.some(writer => sameLineage(me, writer))) own.push(file);
    else others.push({ file, by: last.name });
  }
  return { own, others, unknown };
}

/** Returns the files of a worktree that the agent or its lineage wrote, committed or not. */
export function writtenBy({ writes }: Pick<State, "writes">, worktree: string, me: Lineage): string[] {
  const isOwn = ({ writers }: DirtyFile) => writers.some(writer => sameLineage(me, writer));
  return [...worksOf(writes, worktree)].filter(([, work]) => isOwn(work)).map(([file]) => file);
}

/** Files of the worktree that are dirty, or were: by their paths from its top. */
function worksOf(
  { files, byWorktree, settled, settledIn }: State["writes"],
  worktree: string,
): ReadonlyMap<string, DirtyFile> {
  const works = new Map<string, DirtyFile>();
  for (const [keys, at] of [
    [settledIn, settled],
    [byWorktree, files],
  ] as const)
    for (const key of keys.get(worktree) ?? []) {
      const work = at.get(key);
      if (work !== undefined) works.set(work.file, work);
    }
  return works;
}

// Whether a worktree's checks are green for its present state. Pure and without bounds of its own: it looks up one
// result for each wanted check.

/**
 * - `green`, `red`: the latest run was of this command, in this state of the worktree.
 * - `stale`: the latest run was of another command, or in another state.
 * - `never_run`: no result is kept.
 * - `unknown`: the present state could not be told.
 */
export type CheckStatus = "green" | "red" | "stale" | "never_run" | "unknown";

/** A check that has to be green: its name, and the hash of its command's text. */
interface WantedCheck {
  readonly name: string;
  readonly command: string;
}

/** The parts of the state, and of a result, that a status depends on. */
interface KnownResults {
  readonly checks: {
    readonly results: ReadonlyMap<string, Pick<CheckResult, "command" | "exit" | "commit" | "dirty">>;
  };
}

/** The present state of a worktree; `dirty` is null if it could not be told. */
interface PresentState {
  readonly commit: string | null;
  readonly dirty: string | null;
}

/** Returns the status of each wanted check by its name, in their order. */
export function checkStatuses(
  { checks }: KnownResults,
  { project, worktree }: { readonly project: string; readonly worktree: string },
  wanted: readonly WantedCheck[],
  present: PresentState,
): ReadonlyMap<string, CheckStatus> {
  return new Map(
    wanted.map(({ name, command }) => {
      const result = checks.results.get(resultKey({ project, worktree, name }));
      if (result === undefined) return [name, "never_run"];
      if (present.dirty === null) return [name, "unknown"];
      const isSame =
        result.command === command && result.commit === present.commit && result.dirty === present.dirty;
      if (!isSame) return [name, "stale"];
      return [name, result.exit === 0 ? "green" : "red"];
    }),
  );
}

// Records the result of a check. Invariant: a result replaces the one before, green or red.

function checkRecord(state: State, command: CommandOf<"check_record">, { seq }: Meta, step: Step): void {
  const { project, worktree, name, exit, ranMs, commit, dirty, files, actor, wallMs } = command;
  const by = actor === null ? null : actorRow(state, actor);
  const { command: text } = command;
  addResult(state.checks, {
    project,
    worktree,
    name,
    command: text,
    exit,
    ranMs,
    commit,
    dirty,
    files,
    by,
    at: wallMs,
    seq,
  });
  step.reply = { ok: true, green: exit === 0 };
  const event = { event: "check_recorded", project, worktree, check: name, exit, commit, by } as const;
  step.events.push({ event, about: actor === null ? [] : [actor.session], project });
}

export const checkRules: Rules<Pick<Commands, "check_record">, State> = {
  commands: { check_record: lasting(checkRecord) },
};
