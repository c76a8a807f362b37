/**
 * Files that branches of two nodes' sessions changed, and whose contents differ. The file is the same, but nobody knows
 * whether the changes conflict: no machine has both contents.
 *
 * Invariants: both sides get a notice of such a file once. They lose it again if the difference ends before the notice
 * reaches them. A step gives notice of at most `limits.sameFilesToldMax` files, and looks at no more than
 * `limits.sameFilesLookedAtMax` files of others. It has events of at most `limits.sameFilePairsMax` pairs of branches: one
 * for the beginnings, one for the ends. Sessions of one node have no such files, since they share one repository.
 */

import { limits } from "../../../protocol/limits.ts";
import type { SameFileSide } from "../../../protocol/work.ts";
import { nodeOf } from "../nodes/shared-ids.ts";
import { isShared } from "../nodes/table.ts";
import type { BaseState } from "../tables/base-state.ts";
import type { Step } from "../tables/entries.ts";
import type { Whose } from "../tables/messages.ts";
import { actorRow } from "../tables/naming.ts";
import { correct, takeBack, tellLater } from "../tables/notices.ts";
import { type BranchFile, type BranchRow, branchFileKey, branchRecords, uncommitted } from "./table.ts";

/** A file that a branch of another node changed, too. */
export interface SameFile {
  readonly path: string;
  readonly other: BranchRow;
  /** The file's content on each side: see `BranchFile`. */
  readonly blobs: readonly [mine: string | null, theirs: string | null];
}

/** Gives the session's branch these files in the place of those before; null: it has none. Tells both sides of new same files. */
export function setFiles(
  state: BaseState,
  session: string,
  files: readonly BranchFile[] | null,
  step: Step,
): void {
  const { branches, sessions } = state;
  const before = branches.bySession.get(session);
  const { project = "", branch = null } = sessions.live.get(session) ?? {};
  const next = files === null || files.length === 0 ? null : { session, project, branch, files };
  // The row of another project went with the session's change.
  tellChanges(state, next ?? before, [before?.files ?? [], next?.files ?? []], step);
  if (next !== null) branchRecords.put(branches, next);
  else if (before !== undefined) branchRecords.drop(branches, before);
}

/** Yields the files of the branch that branches of other nodes changed otherwise. */
export function* sameFilesOf(state: BaseState, row: BranchRow): Generator<SameFile, void> {
  for (const [path, blob, other, theirs] of othersAt(state, row, row.files))
    if (differ(blob, theirs)) yield { path, other, blobs: [blob, theirs] };
}

/** What became of the files of two branches. */
interface PairNews {
  readonly began: string[];
  readonly ended: string[];
}

/** Tells the sides of what is the same file now and was not before, and takes back what is no more. */
function tellChanges(
  state: BaseState,
  mine: BranchRow | undefined,
  [before, after]: readonly [readonly BranchFile[], readonly BranchFile[]],
  step: Step,
): void {
  if (mine === undefined || !isShared(state)) return;
  const [were, are] = [new Map(before), new Map(after)];
  const changed = [...new Map([...before, ...after])].filter(([path]) => were.get(path) !== are.get(path));
  let left: number = limits.sameFilesToldMax;
  const pairs = new Map<BranchRow, PairNews>();
  for (const [path, , other, theirs] of othersAt(state, mine, changed)) {
    const differed = were.has(path) && differ(were.get(path), theirs);
    const blob = are.get(path);
    const differs = are.has(path) && differ(blob, theirs);
    const isOpen = blob === uncommitted;
    if (differed && differs && isOpen !== (were.get(path) === uncommitted))
      restate(state, other, mine, path, isOpen);
    if (differed === differs) continue;
    const news = pairs.get(other) ?? { began: [], ended: [] };
    pairs.set(other, news);
    (differs ? news.began : news.ended).push(path);
    if (!differs) forget(state, mine, other, path);
    if (!differs || left === 0) continue;
    left -= 1;
    tell(state, mine, other, path, theirs);
    tell(state, other, mine, path, blob);
  }
  for (const [other, news] of [...pairs].slice(0, limits.sameFilePairsMax))
    pushEvents(state, mine, other, news, step);
}

function pushEvents(
  state: BaseState,
  mine: BranchRow,
  other: BranchRow,
  { began, ended }: PairNews,
  step: Step,
): void {
  const { project } = mine;
  const sides = [sideOf(state, mine), sideOf(state, other)] as const;
  const about = [mine.session, other.session];
  for (const [event, all] of [
    ["same_file_ended", ended],
    ["same_file_began", began],
  ] as const) {
    if (all.length === 0) continue;
    const files = all.slice(0, limits.sameFilesToldMax);
    const more = all.length - files.length;
    const rest = more === 0 ? {} : { more };
    step.events.push({ event: { event, project, files, ...rest, sides }, about, project });
  }
}

/** Returns a side as rows and events have it. `blob`: what it has of the file that a row is about. */
export function sideOf(
  state: BaseState,
  { session, branch }: BranchRow,
  blob: string | null = null,
): SameFileSide {
  const side = { id: session, name: nameOf(state, session), branch };
  return blob === uncommitted ? { ...side, uncommitted: true } : side;
}

/** `blob`: what the other side has of the file. */
function tell(
  state: BaseState,
  to: BranchRow,
  { session, branch }: BranchRow,
  file: string,
  blob: string | null | undefined,
): void {
  const other = nameOf(state, session);
  const how = blob === uncommitted ? ({ uncommitted: true } as const) : {};
  tellLater(state, whoseOf(to), { what: "same_file", file, other, session, branch, ...how });
}

/** Whether two branches changed a file otherwise, as far as that is known. */
function differ(blob: string | null | undefined, theirs: string | null): boolean {
  return blob !== theirs || theirs === uncommitted;
}

function forget(state: BaseState, one: BranchRow, two: BranchRow, file: string): void {
  for (const [to, { session }] of [
    [one, two],
    [two, one],
  ] as const)
    takeBack(
      state,
      whoseOf(to),
      note => note.what === "same_file" && note.file === file && note.session === session,
    );
}

/** Changes a notice that did not reach `to` yet, since the other side committed the file, or changed it again. */
function restate(
  state: BaseState,
  to: BranchRow,
  { session }: BranchRow,
  file: string,
  isOpen: boolean,
): void {
  correct(state, whoseOf(to), note => {
    if (note.what !== "same_file" || note.file !== file || note.session !== session) return note;
    const { uncommitted: _was, ...rest } = note;
    return isOpen ? { ...rest, uncommitted: true } : rest;
  });
}

/** The session of the row goes on under the id `to`: notices of others name it so from now on. */
export function moveSameFiles(state: BaseState, row: BranchRow, to: string): void {
  const others = new Map([...othersAt(state, row, row.files)].map(([, , other]) => [other.session, other]));
  const { session: from } = row;
  for (const other of others.values())
    correct(state, whoseOf(other), note =>
      note.what === "same_file" && note.session === from ? { ...note, session: to } : note,
    );
}

function whoseOf({ session }: BranchRow): Whose {
  return { session, agent: null };
}

function nameOf(state: BaseState, session: string): string {
  return actorRow(state, { session, agent: null, incarnation: 0 }).name;
}

/** Yields these files with each branch of another node that changed them, and with what that one has there. */
function* othersAt(
  { branches }: BaseState,
  { session, project }: BranchRow,
  files: readonly BranchFile[],
): Generator<readonly [path: string, blob: string | null, other: BranchRow, theirs: string | null], void> {
  const contents = new Map<string, ReadonlyMap<string, string | null>>();
  let left: number = limits.sameFilesLookedAtMax;
  for (const [path, blob] of files)
    for (const id of branches.byFile.get(branchFileKey(project, path)) ?? []) {
      if (left === 0) return;
      left -= 1;
      const other = branches.bySession.get(id);
      if (other === undefined || nodeOf(id) === nodeOf(session)) continue;
      const known = contents.get(id) ?? new Map(other.files);
      contents.set(id, known);
      yield [path, blob, other, known.get(path) ?? null];
    }
}
