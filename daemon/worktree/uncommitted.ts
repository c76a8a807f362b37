/** Tells whose uncommitted work is in a worktree, as git sees it now. */

import { dirname, relative } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { type Actor, type FileRef, sameActor } from "../core/frame/actors.ts";
import type { DirtyFile, Hold, Writer } from "../core/tables/base-state.ts";
import { isAlive, type Lineage, pathOf, sameLineage } from "../core/tables/naming.ts";
import { latestOf } from "../core/work/dirty-files.ts";
import type { GitPlace } from "../facts/git/process.ts";
import type { FileState } from "../facts/git/status.ts";
import type { Allowance } from "../facts/work-clock.ts";
import type { Services } from "../options.ts";

/** A file that others hold or have work in. */
export interface Foreign {
  readonly key: string;
  /** Relative to the worktree. */
  readonly file: string;
  /** Its holder, else its last writer. */
  readonly actor: Actor;
  /** Its last writer if that one's session has ended and no live session wrote the file since; else null. */
  readonly left: Writer | null;
  /** The asking actor has work in it, too. */
  readonly yours: boolean;
  /** It is work of the main agent, or of the lead, for whom the asking actor works: only what wipes it reaches it. */
  readonly isLead: boolean;
  readonly held: boolean;
  /** A directory is held with everything in it: git is not run for it. */
  readonly dir: boolean;
}

/** Returns the files of this worktree that others hold or have work in: live sessions first, the latest first. */
export async function foreignIn(services: Services, me: Asking, place: GitPlace): Promise<Foreign[]> {
  const found = new Map<string, Foreign>();
  for (const hold of await foreignHolds(services, me, place)) {
    const path = pathOf(hold);
    const repository = await services.facts.repository(hold.dir ? path : dirname(path));
    // Commands of this worktree do not touch another worktree, a submodule or a repository below it. A directory that
    // cannot be checked counts as part of this worktree.
    const isAbove = hold.dir && place.worktree.startsWith(`${path}/`);
    const isElsewhere = !("unreachable" in repository) && repository.worktree !== place.worktree;
    if (!isAbove && isElsewhere) continue;
    found.set(hold.key, heldIn(services, me, hold, isAbove ? "" : relative(place.worktree, path)));
  }
  const left = addWork(services, me, place.worktree, found);
  return [...found.values(), ...left];
}

/** The same from what the daemon remembers, without I/O: folders of other repositories count, too. */
export function foreignKnown(services: Services, me: Asking, place: GitPlace): Foreign[] {
  const found = new Map<string, Foreign>();
  const [below, git] = [keyFor(services, place.worktree), keyFor(services, place.gitDir)];
  for (const hold of holdsBelow(services, me, below, git)) {
    const path = pathOf(hold);
    const isAbove = hold.dir && place.worktree.startsWith(`${path}/`);
    found.set(hold.key, heldIn(services, me, hold, isAbove ? "" : relative(place.worktree, path)));
  }
  const left = addWork(services, me, place.worktree, found);
  return [...found.values(), ...left];
}

function heldIn(services: Services, me: Asking, { key, actor, dir }: Hold, file: string): Foreign {
  const yours = hasPart(services, me, services.engine.state.writes.files.get(key));
  return { key, file, actor, held: true, dir, left: null, yours, isLead: false };
}

/** Adds the work of live sessions to `found`, and returns that of ended ones. */
function addWork(services: Services, me: Asking, worktree: string, found: Map<string, Foreign>): Foreign[] {
  const left: Foreign[] = [];
  for (const work of worksIn(services, worktree)) {
    const { key, file } = work;
    if (found.has(key)) continue;
    const rest = { key, file, held: false, dir: false, yours: hasPart(services, me, work) };
    const writer = work.writers.findLast(w => isForeign(services, me, w));
    const lead = writer === undefined ? work.writers.findLast(w => leads(services, me, w)) : undefined;
    const owner = writer ?? lead;
    const ended = owner === undefined ? endedWriter(services, me, work) : null;
    if (owner !== undefined)
      found.set(key, { ...rest, actor: owner.actor, left: null, isLead: writer === undefined });
    else if (ended !== null) left.push({ ...rest, actor: ended.actor, left: ended, isLead: false });
  }
  return left;
}

/**
 * Returns the last writer of another session that has ended, even if others wrote the file since. The writer's work is in
 * the file until that is committed. Null: there is none.
 */
function endedWriter({ engine }: Services, me: Asking, work: DirtyFile): Writer | null {
  const isLeft = ({ actor }: Writer) => actor.session !== me.actor.session && !isAlive(engine.state, actor);
  return work.writers.findLast(isLeft) ?? null;
}

async function foreignHolds(services: Services, me: Asking, place: GitPlace): Promise<Hold[]> {
  const below = await keyOf(services, place.worktree);
  return holdsBelow(services, me, below, await keyOf(services, place.gitDir));
}

function holdsBelow(services: Services, me: Asking, below: string, gitDir: string): Hold[] {
  const { locks } = services.engine.state;
  return [...locks.heldPaths.overlapping(below, true)].flatMap(key => {
    const hold = locks.holds.get(key);
    const isGits = key.startsWith(`${gitDir}/`);
    return hold === undefined || isGits || !isForeign(services, me, hold) ? [] : [hold];
  });
}

/** The key of a directory; its path as a key if the directory cannot be resolved now. */
async function keyOf(services: Services, directory: string): Promise<string> {
  const { facts } = services;
  const fact = facts.pathNow("/", directory) ?? (await facts.path("/", directory));
  return keyFor(services, "unreachable" in fact ? directory : fact.key);
}

function keyFor({ node }: Services, key: string): string {
  return `${node}:${key === "/" ? "" : key}`;
}

/** Files of the worktree with uncommitted work, the latest first. */
export function worksIn({ engine }: Services, worktree: string): DirtyFile[] {
  const { files, byWorktree } = engine.state.writes;
  const works = [...(byWorktree.get(worktree) ?? [])].flatMap(key => files.get(key) ?? []);
  return works.sort((a, b) => latestOf(b).seq - latestOf(a).seq);
}

/** Who asks, and the lead of whose team it is a member; null: it is in none. */
export interface Asking extends Lineage {
  readonly lead?: Pick<Actor, "session" | "agent"> | null;
}

/**
 * Whether the work belongs to another live actor. Work of the asking actor's own agents is its own, unless the agent is
 * at work now. Work of those that the actor works for is its lead's.
 */
function isForeign(
  { engine, presence }: Services,
  me: Asking,
  other: Pick<Writer, "actor" | "ancestors">,
): boolean {
  if (!isAlive(engine.state, other.actor) || isTeamLead(me, other.actor)) return false;
  if (!sameLineage(me, other)) return true;
  const { agent, session } = other.actor;
  if (agent === null || agent === me.actor.agent || me.ancestors.includes(agent)) return false;
  return presence.of(session).agents.get(agent)?.active ?? false;
}

/** Whether the work belongs to one for whom the actor works: its main agent, an agent in between, or its team's lead. */
function leads({ engine }: Services, me: Asking, { actor }: Pick<Writer, "actor">): boolean {
  if (!isAlive(engine.state, actor)) return false;
  const isAncestor =
    actor.session === me.actor.session &&
    actor.incarnation === me.actor.incarnation &&
    me.ancestors.includes(actor.agent);
  return isAncestor || isTeamLead(me, actor);
}

function isTeamLead({ actor, lead }: Asking, other: Actor): boolean {
  return (
    lead != null && !sameActor(actor, other) && lead.session === other.session && lead.agent === other.agent
  );
}

/** Whether the work is the actor's own, or that of an agent of its own that has ended. */
function isPart({ presence }: Services, { actor: me }: Asking, { actor, ancestors }: Writer): boolean {
  if (sameActor(me, actor)) return true;
  if (actor.session !== me.session || actor.incarnation !== me.incarnation) return false;
  if (actor.agent === null || !ancestors.includes(me.agent)) return false;
  return presence.of(actor.session).agents.get(actor.agent)?.active !== true;
}

/** Files of the worktree with work of the actor itself; the latest first. */
export function partIn(services: Services, me: Asking, worktree: string): string[] {
  return worksIn(services, worktree)
    .filter(work => hasPart(services, me, work))
    .map(work => work.file);
}

function hasPart(services: Services, me: Asking, work: DirtyFile | undefined): boolean {
  return work?.writers.some(writer => isPart(services, me, writer)) ?? false;
}

/** Files of the worktree with work of the actor, its ancestors or its own agents; the latest first. */
export function ownIn(services: Services, me: Lineage, worktree: string): string[] {
  return worksIn(services, worktree)
    .filter(work => isOwn(me, work))
    .map(work => work.file);
}

function isOwn(me: Lineage, work: DirtyFile): boolean {
  return work.writers.some(w => sameLineage(me, w));
}

/** Git's status of some files; `unseen` says why some could not be checked. */
export interface Seen {
  readonly states: ReadonlyMap<string, FileState>;
  readonly unseen: string | null;
}

/** Asks git about the files. Work in those that git reports as committed is forgotten. */
export async function lookAt(
  services: Services,
  place: GitPlace,
  files: readonly string[],
  allowance?: Allowance,
): Promise<Seen> {
  const paths = bounded(files);
  if (paths.length === 0) return { states: new Map(), unseen: null };
  const before = new Map(worksIn(services, place.worktree).map(work => [work.file, work]));
  const states = await services.facts.work(place, paths, allowance);
  if ("unreachable" in states) return { states: new Map(), unseen: states.unreachable };
  const settled = [...states].flatMap(([file, { staged, changed, untracked, ignored }]) => {
    const work = before.get(file);
    if (staged || changed || untracked || work === undefined) return [];
    // Git never commits an ignored file: the work in it lasts as long as its writer lives.
    if (ignored && work.writers.some(({ actor }) => isAlive(services.engine.state, actor))) return [];
    return [{ key: work.key, seq: latestOf(work).seq }];
  });
  if (settled.length > 0) await services.engine.submitAndWait({ type: "writes_settled", settled });
  const left = files.length - paths.length;
  return { states, unseen: left === 0 ? null : `${left} more files were not looked at` };
}

/** The first files, as many as fit into a command line. */
export function bounded(files: readonly string[]): string[] {
  const fitting: string[] = [];
  let bytes = 0;
  for (const file of files.slice(0, limits.guardPathsMax)) {
    bytes += Buffer.byteLength(file) + 1;
    if (bytes > limits.guardPathsBytes) break;
    fitting.push(file);
  }
  return fitting;
}

/** The index of a repository as a file to lock. */
export function indexOf({ node }: Services, { gitDir, worktree }: GitPlace): FileRef {
  const path = `${gitDir}/index`;
  const near = relative(worktree, path);
  return { file: near.startsWith("..") ? path : near, lexical: path, key: `${node}:${path}`, dir: false };
}
