/**
 * Judges what guarded lines take from stash lists: by whose entries they are, and by nothing else.
 *
 * An entry belongs to the session that made it, whichever of its agents did. One whose maker Kite did not see is the
 * person's. If a list cannot be read, each entry of the project that Kite knows may be taken.
 */
import { posix } from "node:path";
import type { ForeignStash, GuardedCommand, GuardFinding } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Actor, actorKey } from "../../core/frame/actors.ts";
import { knownWorktrees } from "../../core/sessions/room.ts";
import type { Lineage } from "../../core/tables/naming.ts";
import { type StashEntry, stashesOf, stashKey } from "../../core/tables/uncommitted.ts";
import { isOwnStash } from "../../core/work/losses.ts";
import type { Unreachable } from "../../facts/filesystem.ts";
import type { ListedStash, StashList } from "../../facts/git/commits.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../options.ts";
import { nameOf } from "../../views/sessions.ts";
import { entriesTaken, stateAfter } from "../../worktree/line-effects.ts";
import { isWithin } from "../../worktree/pathspec.ts";
import { bounded, worksIn } from "../../worktree/uncommitted.ts";
import type { ActionOf } from "../event.ts";
import type { Candidate, Placed } from "./findings.ts";
import type { StashBefore } from "./memory.ts";

type Guard = ActionOf<"guard">;

/** A stash list that a line may use, with the line's commands that do. */
export interface StashUsers {
  readonly list: StashList;
  /** Why the list could not be read; `list` then has the entries that Kite knows. null: it was read. */
  readonly unseen: string | null;
  readonly place: GitPlace;
  readonly users: readonly Placed[];
}

/** The stash lists that the commands of a line may use, each once, as they are now. */
export async function stashUsers(
  services: Services,
  action: Guard,
  commands: readonly GuardedCommand[],
  placed: readonly Placed[],
): Promise<readonly StashUsers[]> {
  const found = new Map<string, StashUsers>();
  for (const one of [...placed, ...(await nearBy(services, action, commands))]) {
    if (one.command.stash === undefined && !mayMake(one.command)) continue;
    const known = [...found.values()].find(({ place }) => place.gitDir === one.place.gitDir);
    const read = known ?? (await readFor(services, action, one));
    const { project } = read.list;
    const before = found.get(project) ?? { ...read, users: [] };
    const isKnown = before.users.some(({ n }) => n === one.n);
    found.set(project, { ...before, users: isKnown ? before.users : [...before.users, one] });
  }
  return [...found.values()].map(one => ({ ...one, users: one.users.toSorted((a, b) => a.n - b.n) }));
}

/** The same without I/O, of commands that could not be placed in time. */
export function supposedStashUsers(
  services: Services,
  action: Guard,
  placed: readonly Placed[],
): readonly StashUsers[] {
  const using = placed.filter(({ command }) => command.stash !== undefined);
  return using.map(one => knownFor(services, action, one, { unseen: one.blind ?? "", project: null }));
}

/** Commands whose folder only the shell knows, and what could not be read of the line: they may work where it begins. */
async function nearBy(
  { facts }: Services,
  { cwd, unread }: Guard,
  commands: readonly GuardedCommand[],
): Promise<readonly Placed[]> {
  const open = [...commands.entries()].filter(([, { dir, isBelow }]) => dir === null || isBelow);
  if (open.length === 0 && unread === null) return [];
  const around = await facts.repository(cwd);
  if ("unreachable" in around || around.gitDir === null) return [];
  const place = { worktree: around.worktree, gitDir: around.gitDir };
  const rest = { place, base: null, isSupposed: true } as const;
  const unknown = unread === null ? [] : [{ n: -1, command: unreadPart, ...rest }];
  return [...open.map(([n, command]) => ({ n, command, ...rest })), ...unknown];
}

/** Stands for the part of a line that could not be read: it may make entries, and what it takes is not seen. */
const unreadPart: GuardedCommand = {
  name: "git",
  dir: null,
  gitDir: null,
  workTree: null,
  reach: "index",
  commits: false,
  paths: null,
  untracked: false,
  stash: { does: "make" },
};

/** Whether git may put an entry on the list although the command does not ask for that: an autostash that fits no more. */
function mayMake({ name }: GuardedCommand): boolean {
  return /^git (?:merge|pull|rebase)$/.test(name);
}

async function readFor(services: Services, action: Guard, one: Placed): Promise<StashUsers> {
  const { facts } = services;
  const list: StashList | Unreachable =
    one.blind === undefined ? await facts.stashes(one.place) : { unreachable: one.blind };
  if (!("unreachable" in list)) return { list, unseen: null, place: one.place, users: [] };
  const around = await facts.repository(one.place.worktree);
  const project = "unreachable" in around ? null : around.project;
  return knownFor(services, action, one, { unseen: list.unreachable, project });
}

/** What Kite knows of a list that could not be read. `project` null: that of a worktree that Kite knows, or of the session. */
function knownFor(
  { engine }: Services,
  { session }: Guard,
  one: Placed,
  { unseen, project }: { readonly unseen: string; readonly project: string | null },
): StashUsers {
  const { state } = engine;
  const { worktree } = one.place;
  const own = state.sessions.live.get(session)?.project;
  const at = project ?? knownWorktrees(state).get(worktree) ?? own ?? worktree;
  const entries = stashesOf(state.stashes, at).map(({ commit, wallMs }) => ({ commit, wallMs }));
  return { list: { project: at, entries }, unseen, place: one.place, users: [one] };
}

/** What the commands take that is not the actor's own. */
export async function stashCandidates(
  services: Services,
  me: Lineage,
  all: readonly StashUsers[],
  placed: readonly Placed[],
): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  for (const one of all) {
    const isMade = new Map<Placed, boolean>();
    if (candidatesIn(services, me, one, isMade).length === 0) continue;
    for (const user of one.users) isMade.set(user, await surelyPutsAway(services, user, placed));
    found.push(...candidatesIn(services, me, one, isMade));
  }
  return found;
}

/** The same of lists that could not be read. */
export function blindStashCandidates(
  services: Services,
  me: Lineage,
  all: readonly StashUsers[],
): readonly Candidate[] {
  return all.flatMap(one => candidatesIn(services, me, one, new Map()));
}

function candidatesIn(
  services: Services,
  me: Lineage,
  { list, unseen, users, place }: StashUsers,
  isMade: ReadonlyMap<Placed, boolean>,
): readonly Candidate[] {
  const commits = list.entries.map(({ commit }) => commit);
  const using = users.flatMap(user =>
    user.command.stash === undefined ? [] : [{ user, use: user.command.stash }],
  );
  // Of a list that could not be read no position is known.
  const steps = using.map(({ user, use }) => ({
    use: unseen === null || use.does === "make" ? use : ({ does: "take_all" } as const),
    isMade: isMade.get(user) ?? false,
  }));
  const taken = entriesTaken(commits, steps);
  return using.flatMap(({ user }, i) => {
    const foreign = list.entries
      .map((entry, position) => ({ ...entry, position, known: knownAs(services, list, entry) }))
      .filter(({ commit, known }) => taken[i]?.has(commit) && !isOwn(services, me.actor, known));
    if (foreign.length === 0) return [];
    const shown = foreign
      .map(({ commit, wallMs, position, known }) => ({
        commit,
        position: unseen === null ? position : null,
        madeMs: Math.max(0, services.clock.wall() - wallMs),
        ...makerOf(services, known),
      }))
      .sort((a, b) => Number(b.isLive) - Number(a.isLive));
    const own = list.entries.flatMap((entry, position) =>
      unseen === null && isOwn(services, me.actor, knownAs(services, list, entry)) ? [position] : [],
    );
    const versions = foreign.map(({ commit, known }) => {
      const maker = known === undefined ? "" : actorKey(known.actor);
      return [[user.n, user.command.name, commit].join(" "), maker] as const;
    });
    const finding: GuardFinding = {
      command: user.n,
      verdict: shown.some(({ isLive }) => isLive) ? "deny" : "tell_first",
      foreign: [],
      own: [],
      stashes: shown.slice(0, limits.stashesShownMax),
      ownStashes: own.slice(0, limits.stashesShownMax),
      more: Math.max(0, shown.length - limits.stashesShownMax),
      worktree: place.worktree,
      ...(user.isSupposed ? { isSupposed: true } : {}),
      ...(unseen === null ? {} : { unseen }),
    };
    return [{ finding, versions: async () => new Map(versions) }];
  });
}

function knownAs(
  { engine }: Services,
  { project }: StashList,
  { commit }: ListedStash,
): StashEntry | undefined {
  return engine.state.stashes.entries.get(stashKey({ project, commit }));
}

function isOwn({ engine }: Services, actor: Actor, known: StashEntry | undefined): boolean {
  return known !== undefined && isOwnStash(engine.state, actor, known);
}

function makerOf(services: Services, known: StashEntry | undefined): Pick<ForeignStash, "who" | "isLive"> {
  if (known === undefined) return { who: null, isLive: false };
  const { actor, name } = known;
  const isLive = services.engine.state.sessions.live.has(actor.session);
  return { who: isLive ? nameOf(services, { ...actor, agent: null }) : name, isLive };
}

/**
 * Whether a `git stash push` finds work to put away. In each path that it names, a file has some now, and no command before
 * it in the line may take that away.
 */
async function surelyPutsAway(services: Services, one: Placed, placed: readonly Placed[]): Promise<boolean> {
  const { command, place, base } = one;
  const { stash, paths, reach } = command;
  const isPush = stash?.does === "make" && !stash.isPart && reach === "tree";
  if (!isPush || base === null || one.isSupposed || one.blind !== undefined) return false;
  const isIn = (file: string, of: Placed) =>
    of.command.paths === null || isWithin(file, of.command.paths, of.base, place.worktree);
  const before = placed.filter(({ n, place: at }) => n < one.n && at.worktree === place.worktree);
  const wiping = before.filter(other => other.command.reach === "tree");
  const files = [
    ...worksIn(services, place.worktree).map(({ file }) => file),
    ...(await namedFiles(services, one)),
  ];
  const open = files.filter(file => isIn(file, one) && !wiping.some(other => isIn(file, other)));
  if (open.length === 0) return false;
  const states = await services.facts.work(place, bounded([...new Set(open)]));
  if ("unreachable" in states) return false;
  const dirty = [...states].flatMap(([file, found]) => {
    const others = before.filter(other => isIn(file, other));
    const state = others.reduce((now, other) => stateAfter(other.command, now), found);
    return state.staged || state.changed || (state.untracked && command.untracked) ? [file] : [];
  });
  if (paths === null) return dirty.length > 0;
  return paths.every(path => dirty.some(file => isWithin(file, [path], base, place.worktree)));
}

/** The files that a command names, relative to the worktree; a folder is left out. */
async function namedFiles({ facts }: Services, { command, place, base }: Placed): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of (command.paths ?? []).slice(0, limits.guardFilesMax)) {
    const file = posix.join(base ?? "", path);
    if (posix.isAbsolute(path) || /^\.\.(?:\/|$)|[*?[\\]/.test(file)) continue;
    const fact = await facts.path(place.worktree, file);
    if (!("unreachable" in fact) && !fact.dir) found.push(file);
  }
  return found;
}

/** Why a list could not be read from which a command takes something; null: all were read. */
export function unseenStashes(all: readonly StashUsers[]): string | null {
  const isTaking = ({ command: { stash } }: Placed) => stash !== undefined && stash.does !== "make";
  return all.find(({ unseen, users }) => unseen !== null && users.some(isTaking))?.unseen ?? null;
}

/** The lists before the line runs, each with the first command that takes entries. */
export function stashesBefore(all: readonly StashUsers[]): readonly StashBefore[] {
  return all.flatMap(({ list, unseen, place, users }) => {
    if (unseen !== null) return [];
    const taker = users.find(
      ({ command: { stash } }) => stash?.does === "take" || stash?.does === "take_all",
    );
    const before = new Set(list.entries.map(({ commit }) => commit));
    return [{ project: list.project, place, before, takes: taker?.command.name ?? null }];
  });
}
