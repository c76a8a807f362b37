/** What was written: by a tool that told so, or by a shell command, as is seen when it has ended. */

import { dirname, relative } from "node:path";
import type { HookOutcome } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import { type Actor, sameActor } from "../core/actor.ts";
import type { WriteNote } from "../core/commands.ts";
import type { FileRef, Written } from "../core/file-ref.ts";
import { otherOwner, pathOfWork } from "../core/files/dirty-files.ts";
import { locksOf, rowsOfSession } from "../core/locks/by-actor.ts";
import { holdsOf } from "../core/locks/release.ts";
import { pathOf, type Spelled } from "../core/locks/replies.ts";
import type { Lineage } from "../core/sessions/kinship.ts";
import { refs } from "../facts/file-refs.ts";
import { isRefusal } from "../server/call.ts";
import { nameOf } from "../views/sessions-and-locks.ts";
import type { Suspicion } from "../worktree/suspicions.ts";
import { lookAt, worksIn } from "../worktree/uncommitted.ts";
import { noteConflict } from "../worktree/write-conflicts.ts";
import { type ActionOf, actorOfAction, ancestorsOf, isLive, propose, type Run, rulesFor } from "./action.ts";
import { letGo } from "./git-guard.ts";
import { tellTaken } from "./git-guard-taken.ts";
import type { HookServices } from "./hook-services.ts";

export async function flightEnd(run: Run, action: ActionOf<"flight_end">): Promise<HookOutcome> {
  const { services } = run;
  const { session, agent = null, toolUseId: flight, wrote, file, cwd, lines } = action;
  if (!isLive(run, session)) return { did: "flight_end", ok: true };
  const actor = actorOfAction(run, action);
  const found = file === null ? [] : await refs(services, cwd, [file]);
  const written: Written[] = [];
  // What cannot be looked at now is what was locked for this write.
  for (const one of isRefusal(found) ? inFlight(services, actor, flight) : found) {
    const rules = await rulesFor(services, session, one);
    if (rules.ignores(pathOf(one))) return { did: "flight_end", ok: true };
    // Before the flight ends: what was written in it is nobody else's doing. What another one writes by now is.
    if (!isWritten(services, actor, one.key)) await services.baselines.take(one);
    if (flight !== null) services.writers.ended(one.key, flight);
    if (!wrote) continue;
    const name = nameOf(services, actor);
    const before = services.writers.since(one.key, services.clock.now() - limits.conflictMs);
    services.writers.wrote(one.key, { session, agent, name, at: services.clock.now(), lines });
    await noteConflict(services, actor, one, before);
    const known = await writtenAt(services, one, session);
    if (known !== null) written.push(known);
  }
  const ended = { type: "flight_end" as const, actor, flight, wrote };
  if (written.length === 0) return propose(run, "flight_end", ended);
  const ancestors = await ancestorsOf(services, { ...action, parentFile: null });
  const noted: WriteNote = { files: written, by: "edit", ancestors, wallMs: services.clock.wall() };
  return propose(run, "flight_end", { ...ended, noted });
}

/** Whether somebody else is writing the file. */
function isWritten({ engine }: HookServices, actor: Actor, key: string): boolean {
  const hold = engine.state.locks.holds.get(key);
  return hold !== undefined && hold.flights.length > 0 && !sameActor(hold.actor, actor);
}

/** The files that an actor holds for one write. */
function inFlight(
  { engine: { state } }: HookServices,
  actor: Actor,
  flight: string | null,
): readonly FileRef[] {
  const row = locksOf(state.locks.actors, actor);
  if (row === undefined || flight === null) return [];
  return holdsOf(state, row).filter(hold => hold.flights.includes(flight));
}

export async function shellEnd(run: Run, action: ActionOf<"shell_end">): Promise<HookOutcome> {
  const { services } = run;
  const { toolUseId, ranMs } = action;
  services.toolUses.ended(toolUseId);
  if (!isLive(run, action.session)) return { did: "shell_end", ok: true };
  const actor = actorOfAction(run, action);
  const line = services.guarded.ended(toolUseId);
  const ancestors = await ancestorsOf(services, { ...action, parentFile: null });
  // While the index is still the line's: what the next one commits is not its doing.
  const byGit = await tellTaken(services, actor, ancestors, line);
  await letGo(services, actor, toolUseId);
  const since = ranMs === null ? 0 : services.clock.wall() - ranMs - limits.shellSlackMs;
  await judge(services, actor, since);
  const changed = (await changedWhile(services, actor, ranMs, since)).filter(({ key }) => !byGit.has(key));
  const files = changed.filter(one => !suspect(services, { actor, ancestors }, one));
  await noteShell(services, actor, ancestors, files);
  // A git command may have committed what was uncommitted.
  for (const place of line.places)
    await lookAt(
      services,
      place,
      worksIn(services, place.worktree).map(w => w.file),
    );
  return { did: "shell_end", ok: true };
}

async function noteShell(
  { engine, clock }: HookServices,
  actor: Actor,
  ancestors: readonly (string | null)[],
  files: readonly Written[],
): Promise<void> {
  if (files.length === 0) return;
  const noted: WriteNote = { files, by: "shell", ancestors, wallMs: clock.wall() };
  await engine.submitAndWait({ type: "writes_noted", actor, noted });
}

/** Whether it is left open whose change it is: the file is another one's who is at work, perhaps with a formatter. */
function suspect(services: HookServices, me: Lineage, { changedAt, ...file }: Changed): boolean {
  const owner = otherOwner(services.engine.state, me, file.key)?.actor;
  if (owner === undefined) return false;
  const { active, agents } = services.presence.of(owner.session);
  if (!(owner.agent === null ? active : agents.get(owner.agent)?.active)) return false;
  const at = Math.min(changedAt, services.clock.wall());
  const suspicion = { file, owner, by: me.actor, ancestors: me.ancestors, changedAt: at };
  return services.suspicions.add(suspicion, accuse(services));
}

function accuse(services: HookServices): (suspicion: Suspicion) => void {
  return ({ by, ancestors, file }) => void noteShell(services, by, ancestors, [file]);
}

/**
 * The owner is heard of. What changed since `since`, when a command of its own began that has ended, was that one's
 * doing; the rest was not.
 */
export async function judge(
  services: HookServices,
  owner: Actor,
  since = Number.POSITIVE_INFINITY,
): Promise<void> {
  for (const { changedAt, by, ancestors, file } of services.suspicions.take(owner)) {
    if (changedAt < since) await noteShell(services, by, ancestors, [file]);
  }
}

interface Changed extends Written {
  /** By the system's clock, in milliseconds. */
  readonly changedAt: number;
}

/** Files that are held or hold uncommitted work in the actor's project, and changed within the time the command ran. */
async function changedWhile(
  services: HookServices,
  actor: Actor,
  ranMs: number | null,
  since: number,
): Promise<Changed[]> {
  const { state } = services.engine;
  const changed: Changed[] = [];
  for (const key of watched(services, actor)) {
    // What its holder writes just now is its own doing; the end of that is told.
    if ((state.locks.holds.get(key)?.flights.length ?? 0) > 0) continue;
    const work = state.writes.files.get(key);
    const file =
      work === undefined ? (state.locks.holds.get(key) ?? { key }) : { key, path: pathOfWork(work) };
    const at = await services.baselines.changed(file);
    if (at === null || at < since || (state.locks.holds.get(key)?.flights.length ?? 0) > 0) continue;
    if (ranMs !== null && isAftermath(services, key, at, ranMs)) continue;
    const one = work ?? (await writtenAt(services, file, actor.session));
    if (one === null) continue;
    const { file: name, worktree, project } = one;
    changed.push({ key, file: name, worktree, project, changedAt: at });
  }
  return withoutIgnored(services, changed);
}

/** A file that a tool wrote while the command ran, and that changed soon after: its writer's formatter did that. */
function isAftermath(
  { clock, writers }: HookServices,
  key: string,
  changedAt: number,
  ranMs: number,
): boolean {
  const written = writers.since(key, clock.now() - ranMs + 1);
  if (written === null) return false;
  const writtenAt = clock.wall() - (clock.now() - written.at);
  return changedAt <= writtenAt + limits.aftermathMs;
}

/** Keys to look at: never a walk, and never more than `limits.shellFilesMax`. */
function watched({ engine }: HookServices, { session }: Actor): ReadonlySet<string> {
  const { sessions, locks, writes } = engine.state;
  const project = sessions.live.get(session)?.project;
  const keys = new Set<string>();
  const add = (key: string) => keys.size < limits.shellFilesMax && keys.add(key);
  for (const { id, project: its } of sessions.live.values()) {
    if (its !== project) continue;
    for (const row of rowsOfSession(locks.actors, id, null)) {
      for (const hold of holdsOf(engine.state, row)) if (!hold.dir && hold.yieldMs > 0) add(hold.key);
    }
  }
  for (const ofWorktree of writes.byWorktree.values()) {
    const [first] = ofWorktree;
    if (first === undefined || writes.files.get(first)?.project !== project) continue;
    for (const key of [...ofWorktree].reverse()) add(key);
  }
  return keys;
}

async function withoutIgnored(services: HookServices, files: readonly Changed[]): Promise<Changed[]> {
  const left: Changed[] = [];
  for (const worktree of new Set(files.map(f => f.worktree))) {
    const here = files.filter(f => f.worktree === worktree);
    const repository = await services.facts.repository(worktree);
    const gitDir = "unreachable" in repository ? null : repository.gitDir;
    const states =
      gitDir === null
        ? null
        : await services.facts.work(
            { worktree, gitDir },
            here.map(f => f.file),
          );
    // What git cannot be asked about is told rather than kept quiet.
    const isIgnored = (file: string) =>
      states !== null && !("unreachable" in states) && states.get(file)?.ignored === true;
    left.push(...here.filter(f => !isIgnored(f.file)));
  }
  return left;
}

/**
 * The file with its repository; null where it is in none. One that cannot be looked at now counts for the worktree of
 * the session that wrote it, where it lies there: work that nobody knows of would be anybody's to wipe.
 */
async function writtenAt(
  { facts, engine }: HookServices,
  written: Spelled,
  session: string,
): Promise<Written | null> {
  const { key } = written;
  const path = pathOf(written);
  const repository = await facts.repository(dirname(path));
  if ("unreachable" in repository) {
    const home = engine.state.sessions.live.get(session);
    if (home === undefined || !path.startsWith(`${home.worktree}/`)) return null;
    const { worktree, project } = home;
    return { key, file: relative(worktree, path), worktree, project };
  }
  if (repository.gitDir === null) return null;
  const { worktree, project } = repository;
  const isInside = path.startsWith(`${repository.gitDir}/`);
  return isInside ? null : { key, file: relative(worktree, path), worktree, project };
}
