/**
 * Which work of others the commands of a guarded line reach, and what of it the actor was not told yet.
 *
 * What could not be checked counts as reached. A line that was held back passes when the very same line is sent again
 * while the contents are unchanged. Only what a delivered answer said counts as told.
 */

import { resolve } from "node:path";
import {
  type ForeignFile,
  type GuardedCommand,
  type GuardFinding,
  type HeadFinding,
  headWords,
} from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Actor, actorKey } from "../../core/frame/actors.ts";
import { answererOf } from "../../core/tables/naming.ts";
import { latestOf } from "../../core/work/dirty-files.ts";
import type { Changed } from "../../facts/git/changes.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { FileState } from "../../facts/git/status.ts";
import type { Services } from "../../options.ts";
import { nameOf } from "../../views/sessions.ts";
import { goesBack, stateAfter } from "../../worktree/line-effects.ts";
import { isWithin, reaches, sparesWork, wouldChange } from "../../worktree/pathspec.ts";
import {
  type Asking,
  type Foreign,
  foreignIn,
  foreignKnown,
  lookAt,
  ownIn,
  partIn,
  type Seen,
} from "../../worktree/uncommitted.ts";
import { taskOf } from "../event.ts";
import type { Reached, Versions } from "./memory.ts";

/** A command with the repository it works on. */
export interface Placed {
  readonly n: number;
  readonly command: GuardedCommand;
  readonly place: GitPlace;
  /** Where its paths begin, relative to the worktree; null: in some folder of it. */
  readonly base: string | null;
  /** Where the command runs is not known; it may be here. */
  readonly isSupposed?: true;
  /** Why the place could not be checked; it is only supposed. */
  readonly blind?: string;
  /** Of others' files, the command reaches only these. */
  readonly changed?: Changed;
}

interface Look {
  readonly foreign: readonly Foreign[];
  readonly own: readonly string[];
  /** Files with lines that the actor itself wrote. */
  readonly part: readonly string[];
  readonly seen: Seen;
}

/** What was seen in each place, by `placeKey`. */
export type Looks = ReadonlyMap<string, Look>;

/** Checks each place once. */
export async function looksAt(services: Services, me: Asking, placed: readonly Placed[]): Promise<Looks> {
  const looks = new Map<string, Look>();
  for (const one of placed) {
    const key = placeKey(one);
    // Without a command that reaches files, git is not asked for their states.
    if (looks.has(key) || one.command.reach === "refs") continue;
    looks.set(
      key,
      one.blind === undefined ? await lookFor(services, me, one.place, placed) : blindLook(services, me, one),
    );
  }
  return looks;
}

export function placeKey({ place: { worktree, gitDir }, blind = "" }: Placed): string {
  return [worktree, gitDir, blind].join("\n");
}

async function lookFor(
  services: Services,
  me: Asking,
  place: GitPlace,
  placed: readonly Placed[],
): Promise<Look> {
  const foreign = wipedOnly(await foreignIn(services, me, place), placed, place);
  if (foreign.length === 0) return { foreign, own: [], part: [], seen: { states: new Map(), unseen: null } };
  const own = ownIn(services, me, place.worktree).slice(0, limits.guardFilesMax);
  const part = partIn(services, me, place.worktree);
  const files = foreign.filter(f => !f.dir).map(f => f.file);
  const asked = [...files, ...own, ...part.slice(0, limits.guardOwnFilesMax)];
  return { foreign, own, part, seen: await lookAt(services, place, [...new Set(asked)]) };
}

/** What is known of a place that could not be checked. */
export function blindLook(services: Services, me: Asking, one: Placed): Look {
  const foreign = wipedOnly(foreignKnown(services, me, one.place), [one], one.place);
  return { foreign, own: [], part: [], seen: { states: new Map(), unseen: one.blind ?? null } };
}

/** Drops work of ended sessions and of kin unless a command wipes it: any actor may commit such work, since nothing is lost then. */
function wipedOnly(foreign: readonly Foreign[], placed: readonly Placed[], place: GitPlace): Foreign[] {
  const isWiping = placed.some(
    one =>
      one.command.reach === "tree" &&
      one.place.worktree === place.worktree &&
      one.place.gitDir === place.gitDir,
  );
  return foreign.filter(({ left, isKin }) => (left === null && !isKin) || isWiping);
}

/** One command's finding, with the versions of what it reaches: sending the same line again confirms these. */
export interface Candidate {
  readonly finding: GuardFinding;
  readonly versions: () => Promise<Versions>;
  /** What it asks about only once, whatever the line: it passes once each of these was asked about. */
  readonly asks?: readonly string[] | undefined;
}

export interface Found {
  readonly all: readonly Candidate[];
  readonly unseen: string | null;
  /** Uncommitted work of others that the line takes when it runs. */
  readonly reached: readonly Reached[];
}

/** Finds what each command reaches, by what was seen. */
export function findingsOf(services: Services, placed: readonly Placed[], looks: Looks): Found {
  const all: Candidate[] = [];
  const reached: Reached[] = [];
  let unseen: string | null = null;
  for (const one of placed) {
    const look = one.command.reach === "refs" ? undefined : looks.get(placeKey(one));
    if (look === undefined || look.foreign.length === 0) continue;
    unseen ??= look.seen.unseen;
    const foreign = inReach(one, look, placed);
    if (foreign.length === 0) continue;
    const finding = findingOf(services, one, look, foreign);
    all.push({ finding, versions: () => versionsOf(services, one, foreign) });
    reached.push(...takable(services, one, look, foreign, committerOf(one, placed)));
  }
  return { all, unseen, reached };
}

/** The version of each file for this command of the line: whose it is, and which contents it has. */
async function versionsOf(
  { engine, facts }: Services,
  { n, command, place }: Placed,
  foreign: readonly Foreign[],
): Promise<Versions> {
  const { files } = engine.state.writes;
  const versions = foreign.map(async ({ key, file, actor, dir }) => {
    const work = files.get(key);
    const stamp = dir ? "" : (await facts.stamped(`${place.worktree}/${file}`))?.stamp;
    const version = [actorKey(actor), work === undefined ? 0 : latestOf(work).seq, stamp].join(" ");
    return [[n, command.name, key].join(" "), version] as const;
  });
  return new Map(await Promise.all(versions));
}

/** The command that commits what this one reaches: itself, or a later one if this one adds it to the index. */
function committerOf({ n, command, place }: Placed, placed: readonly Placed[]): GuardedCommand | null {
  if (command.reach === "tree") return null;
  const committing = placed.find(
    one =>
      one.n >= n && one.command.commits && one.command.reach !== "tree" && one.place.gitDir === place.gitDir,
  );
  return committing?.command ?? null;
}

/** The uncommitted work in reach that the line commits or may wipe. */
function takable(
  { engine }: Services,
  { command, place }: Placed,
  { seen }: Look,
  foreign: readonly Foreign[],
  committer: GuardedCommand | null,
): Reached[] {
  if (command.reach !== "tree" && committer === null) return [];
  return foreign.flatMap(({ key, file }) => {
    const state = seen.states.get(file);
    const work = engine.state.writes.files.get(key);
    if (work === undefined || state === undefined) return [];
    if (!(state.staged || state.changed || state.untracked)) return [];
    const name = committer?.name ?? command.name;
    return [{ place, key, file, seq: latestOf(work).seq, command: name, commits: committer !== null }];
  });
}

function inReach(one: Placed, { foreign, seen }: Look, placed: readonly Placed[]): Foreign[] {
  const { command, base } = one;
  return foreign.filter(known => {
    const { file, dir, left, isKin } = known;
    if ((left !== null || isKin) && command.reach !== "tree") return false;
    if (!isInPaths(one, file) && !(dir && command.paths?.some(path => isBelow(path, file, base))))
      return false;
    const state = dir ? null : seen.states.get(file);
    if (isReached(one, known, state, seen.unseen)) return true;
    if (command.reach !== "tree" || state == null) return false;
    // The commands before it may have changed the file's state, too.
    return isReached(one, known, stateBefore(one, file, state, placed), seen.unseen);
  });
}

/** The file's state when a command begins, after the commands before it on the line. */
function stateBefore(one: Placed, file: string, state: FileState, placed: readonly Placed[]): FileState {
  const { gitDir, worktree } = one.place;
  return placed.reduce((now, other) => {
    const isHere = other.place.gitDir === gitDir && other.place.worktree === worktree;
    if (other.n >= one.n || !isHere || !isInPaths(other, file)) return now;
    return other.command.commits && goesBack(one.command) ? now : stateAfter(other.command, now);
  }, state);
}

/** `state` null: a directory that is held; undefined: a file that was not checked. */
function isReached(
  one: Placed,
  { file, held }: Foreign,
  state: FileState | null | undefined,
  unseen: string | null,
): boolean {
  const { command, changed } = one;
  if (changed !== undefined && changed.loses !== "all")
    return wouldChange({ ...one, changed }, { file, held }, state);
  if (state != null && isOver(one, file))
    return state.untracked || state.ignored || reaches(command, state, held);
  // A file that was not checked may be in any state.
  if (state === undefined) return unseen !== null && !sparesWork(command);
  return reaches(command, state, held);
}

function isOver({ command: { over = [] }, place, base }: Placed, file: string): boolean {
  // If the folder is not known, a relative path may name any file.
  if (base === null) return over.length > 0;
  return over.some(path => resolve(place.worktree, base, path) === resolve(place.worktree, file));
}

function isInPaths({ command: { paths }, place, base }: Placed, file: string): boolean {
  return paths === null || isWithin(file, paths, base, place.worktree);
}

/** Whether a path that a command names lies in the directory that is held. */
function isBelow(path: string, dir: string, base: string | null): boolean {
  return dir === "" || base === null || resolve("/", base, path).startsWith(`/${dir}/`);
}

function findingOf(services: Services, one: Placed, look: Look, reached: readonly Foreign[]): GuardFinding {
  const { clock } = services;
  const { unseen, states } = look.seen;
  const isOnlyHeld = ({ file, held, dir }: Pick<Foreign, "file" | "held" | "dir">) =>
    held && (dir || isUnchanged(states.get(file)));
  const shown = reached
    .slice(0, limits.guardFilesMax)
    .map(({ file, actor, held, dir, left, yours, isKin }) => ({
      ...(isOnlyHeld({ file, held, dir }) ? ({ isOnlyHeld: true } as const) : {}),
      file: dir ? `${file}/` : file,
      ...(left === null ? ownerOf(services, actor) : { who: left.name }),
      // The files that it edits are named here already.
      doing: left === null ? taskOf(services, actor) : null,
      held,
      yours,
      ...(isKin ? ({ isKin } as const) : {}),
      leftMs: left === null ? null : Math.max(0, clock.wall() - left.wallMs),
    }));
  const mine = look.own.filter(file => {
    const state = states.get(file);
    return isInPaths(one, file) && state !== undefined && reaches(one.command, state, false);
  });
  const taken = look.part.filter(file => isInPaths(one, file) && isTaken(one.command, states.get(file)));
  const part = taken.slice(0, limits.guardOwnFilesMax);
  const isLiving = reached.some(({ left, isKin }) => left === null && !isKin);
  return {
    command: one.n,
    verdict: one.command.reach === "tree" && isLiving ? "deny" : "tell_first",
    foreign: shown,
    more: reached.length - shown.length,
    own: mine.filter(file => !reached.some(f => f.file === file)),
    ...(part.length === 0 ? {} : { part, partMore: taken.length - part.length }),
    worktree: one.place.worktree,
    ...(one.isSupposed ? { isSupposed: true } : {}),
    ...(unseen === null || reached.some(f => states.has(f.file)) ? {} : { unseen }),
  };
}

/** Whether the command would take what the actor has in the file. A file that was not looked at may have any state. */
function isTaken(command: GuardedCommand, state: FileState | undefined): boolean {
  return state === undefined || reaches(command, state, false);
}

/** Whether git has looked at the file and reports nothing in it that is not committed. */
export function isUnchanged(state: FileState | undefined): boolean {
  return state !== undefined && !(state.staged || state.changed || state.untracked || state.ignored);
}

/** The owner's name, and the name of who answers for it. */
export function ownerOf(services: Services, actor: Actor): Pick<ForeignFile, "who" | "answerer"> {
  const answerer = answererOf(services.engine.state, actor);
  const who = nameOf(services, actor);
  return answerer === actor ? { who } : { who, answerer: nameOf(services, answerer) };
}

/** The work of others that a command reaches, as a text for the trail. */
export function workOf({ foreign, more, stashes, sessions, commits, become, head }: GuardFinding): string {
  if (head !== undefined) return headOf(head);
  if (commits !== undefined) {
    const all = commits.map(
      ({ commit, who }) => `${commit.slice(0, limits.commitIdChars)} (${who.join(" or ")})`,
    );
    return `commits that would be ${become}: ${all.join(", ")}${more === 0 ? "" : ` and ${more} more`}`;
  }
  if (sessions !== undefined) {
    const open = sessions.map(({ who, worktree }) => `${worktree} (${who})`);
    return `worktrees of live sessions: ${open.join(", ")}${more === 0 ? "" : ` and ${more} more`}`;
  }
  if (stashes !== undefined) {
    const all = stashes.map(
      ({ commit, who, isLive }) =>
        `${commit} (${who ?? "maker not seen"}${isLive || who === null ? "" : ", ended"})`,
    );
    return `stash entries: ${all.join(", ")}${more === 0 ? "" : ` and ${more} more`}`;
  }
  const rest = more === 0 ? "" : ` and ${more} more`;
  return `${workIn(foreign.map(({ file, leftMs, ...one }) => ({ ...one, file, hasEnded: leftMs !== null })))}${rest}`;
}

function headOf(head: HeadFinding): string {
  if (head.is === "interferes") return `a ${head.kind} in progress (${head.who ?? "not seen to begin"})`;
  if (head.is === "moved") return `HEAD, now ${headWords(head.to)}, last known ${headWords(head.from)}`;
  const others = head.others.map(({ who }) => who).join(", ");
  return `HEAD, now ${headWords(head.at)}, where others are at work: ${others}${head.more === 0 ? "" : ` and ${head.more} more`}`;
}

/** Files with uncommitted work, and those that others only hold, as a text for the trail. */
export function workIn(
  files: readonly (Pick<ForeignFile, "file" | "who" | "isOnlyHeld"> & { readonly hasEnded: boolean })[],
): string {
  const named = (of: typeof files) =>
    of.map(({ file, who, hasEnded }) => `${file} (${who}${hasEnded ? ", ended" : ""})`).join(", ");
  const held = files.filter(({ isOnlyHeld }) => isOnlyHeld);
  const work = files.filter(({ isOnlyHeld }) => !isOnlyHeld);
  return [
    ...(work.length === 0 ? [] : [`uncommitted work: ${named(work)}`]),
    ...(held.length === 0 ? [] : [`files that others hold: ${named(held)}`]),
  ].join("; ");
}
