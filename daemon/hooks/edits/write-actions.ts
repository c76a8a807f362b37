/** Records writes: reported by a tool, or detected after a shell command. */

import { dirname, relative } from "node:path";
import type { HookOutcome } from "../../../hooks/seam/slices.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Actor, type FileRef, sameActor, type Written } from "../../core/frame/actors.ts";
import { holdsOf } from "../../core/locks/release.ts";
import type { State } from "../../core/state.ts";
import { rowsOfActor } from "../../core/tables/locks.ts";
import { pathOf, type Spelled } from "../../core/tables/naming.ts";
import type { WriteNote } from "../../core/tables/uncommitted.ts";
import { pathOfWork } from "../../core/work/dirty-files.ts";
import { refs } from "../../facts/facts.ts";
import type { Services } from "../../options.ts";
import { isRefusal } from "../../server/call.ts";
import { noteWrite } from "../../trail/decisions.ts";
import { nameOf } from "../../views/sessions.ts";
import { lookAt, worksIn } from "../../worktree/uncommitted.ts";
import { noteConflict } from "../../worktree/writers.ts";
import {
  type ActionOf,
  actorOfAction,
  ancestorsOf,
  type EndEvent,
  type HookEvent,
  isLive,
  propose,
  rulesFor,
  toolOf,
} from "../event.ts";
import { noteCommits } from "../guard/commit-lines.ts";
import { releaseIndexes } from "../guard/guard.ts";
import { headLineEnds } from "../guard/heads.ts";
import { lineFlight, noteStashes } from "../guard/memory.ts";
import { endLineEdits } from "../guard/plain-files.ts";
import { noteReturned, tellTaken } from "../guard/taken-work.ts";
import type { EditMemory, Needs } from "../parts.ts";

// Which files a shell command may have written, as far as it matters: those that the project's sessions lock or changed.

/** Returns the keys of the files to check, at most `limits.shellFilesMax`. Never walks a directory. */
export function watchedKeys(state: State, session: string): ReadonlySet<string> {
  const project = state.sessions.live.get(session)?.project;
  const keys = new Set<string>();
  for (const files of [lockedFiles(state, project), dirtyFiles(state, project)]) {
    for (const key of files) {
      if (keys.size === limits.shellFilesMax) return keys;
      keys.add(key);
    }
  }
  return keys;
}

function* lockedFiles({ sessions, locks }: State, project: string | undefined): Generator<string, void> {
  for (const [session, { rows }] of locks.actors.bySession) {
    if (sessions.live.get(session)?.project !== project) continue;
    for (const row of rows)
      for (const key of row.holds) {
        const hold = locks.holds.get(key);
        if (hold !== undefined && !hold.dir && hold.yieldMs > 0) yield key;
      }
  }
}

/** Those of each worktree with the latest written first. */
function* dirtyFiles({ writes }: State, project: string | undefined): Generator<string, void> {
  for (const ofWorktree of writes.byWorktree.values()) {
    const [first] = ofWorktree;
    if (first !== undefined && writes.files.get(first)?.project === project) yield* [...ofWorktree].reverse();
  }
}

/** What the end of a write needs. */
type WriteParts = "edits" | "config" | "points";

export async function flightEnd(
  event: EndEvent,
  action: ActionOf<"flight_end">,
  parts: Needs<WriteParts>,
): Promise<HookOutcome> {
  const { plan, clock } = event;
  const { baselines, writers } = parts.edits;
  const { session, agent = null, toolUseId: flight, wrote, file, cwd, lines, sent: text = null } = action;
  const actor = actorOfAction(event, action);
  const found = file === null ? null : await refs(event, cwd, [file]);
  const wallMs = clock.wall();
  const write = { actor, tool: plan.tool, text, wallMs };
  const isNamed = found !== null && !isRefusal(found);
  // If the event names no file, or its path cannot be resolved now, the files locked for this write count.
  const ended = isNamed ? found : found === null && !wrote ? [] : inFlight(event, actor, flight);
  if (wrote)
    for (const part of parts.points) for (const one of ended) part.written?.({ ...write, file: one });
  if (!isLive(event, session)) return { did: "flight_end", ok: true };
  const written: Written[] = [];
  for (const one of ended) {
    const rules = await rulesFor(event, parts, session, one);
    if (rules.ignores(pathOf(one))) return { did: "flight_end", ok: true };
    // Before the write ends: until then no other actor changed the file. If another actor writes it by now, it did.
    if (!isWritten(event, actor, one.key)) await baselines.take(one);
    if (flight !== null) writers.ended(one.key, flight);
    if (!wrote) continue;
    const name = nameOf(event, actor);
    const before = writers.since(one.key, clock.now() - limits.conflictMs);
    writers.wrote(one.key, { session, agent, name, at: clock.now(), lines });
    noteWrite(event, plan.event, toolOf(plan), actor, pathOf(one));
    await noteConflict(event, actor, one, before, lines);
    const known = await writtenAt(event, one, session);
    if (known !== null) written.push(known);
  }
  const end = { type: "flight_end" as const, actor, flight, wrote };
  if (written.length === 0) return propose(event, "flight_end", end);
  const ancestors = await ancestorsOf(event, { ...action, parentFile: null });
  const noted: WriteNote = { files: written, by: "edit", ancestors, wallMs };
  return propose(event, "flight_end", { ...end, noted });
}

/** Whether another actor is writing the file. */
function isWritten({ engine }: Services, actor: Actor, key: string): boolean {
  const hold = engine.state.locks.holds.get(key);
  return hold !== undefined && hold.flights.length > 0 && !sameActor(hold.actor, actor);
}

/** The files that an actor locked for one write. */
function inFlight({ engine: { state } }: Services, actor: Actor, flight: string | null): readonly FileRef[] {
  if (flight === null) return [];
  const holds = rowsOfActor(state.locks.actors, actor).flatMap(row => holdsOf(state, row));
  return holds.filter(hold => hold.flights.includes(flight));
}

type LineEndParts = WriteParts | "calls" | "guard";

export async function shellEnd(
  event: HookEvent,
  action: ActionOf<"shell_end">,
  parts: Needs<LineEndParts>,
): Promise<HookOutcome | null> {
  const { toolUseId, ranMs, program = null } = action;
  const { clock } = event;
  const { points, guard, edits } = parts;
  parts.calls.uses.ended(toolUseId);
  const actor = event.actor(action);
  if (!isLive(event, action.session)) {
    for (const part of points)
      part.lineEnded?.({ actor, toolUseId, program, changed: [], wallMs: clock.wall() });
    return { did: "shell_end", ok: true };
  }
  const line = guard.gitCommands.ended(toolUseId);
  const ancestors = await ancestorsOf(event, { ...action, parentFile: null });
  // The line still holds the index here, so the next line's commit does not count as its own.
  const byGit = await tellTaken(event, edits, actor, ancestors, line);
  await noteStashes(event, guard.stashLines, toolUseId);
  const isGuarded = parts.config.settings.values.treeGuard !== "off";
  const back = isGuarded ? await noteCommits(event, guard.commitLines, actor, action) : undefined;
  await headLineEnds(event, guard.heads, actor, action);
  await releaseIndexes(event, actor, toolUseId);
  await lineEditsEnd(event, action, parts);
  const since = ranMs === null ? 0 : clock.wall() - ranMs - limits.shellSlackMs;
  const changed = (await changedWhile(event, edits, actor, ranMs, since)).filter(
    ({ key }) => !byGit.has(key),
  );
  await noteShell(event, actor, ancestors, changed);
  const returned = await noteReturned(event, actor, ancestors, line.settled, back);
  const wallMs = clock.wall();
  const ended = { actor, toolUseId, program, changed: [...changed, ...returned], wallMs };
  for (const part of points) part.lineEnded?.(ended);
  // A git command may have committed what was uncommitted.
  for (const place of line.places)
    await lookAt(
      event,
      place,
      worksIn(event, place.worktree).map(w => w.file),
    );
  return { did: "shell_end", ok: true };
}

/** The files that the line changed in place count as its actor's edits. */
async function lineEditsEnd(
  event: HookEvent,
  action: ActionOf<"shell_end">,
  parts: Needs<WriteParts | "guard">,
): Promise<void> {
  const actor = event.actor(action);
  const { toolUseId, cwd } = action;
  const edited = parts.guard.lineEdits.ended(toolUseId);
  for (const { file, isMoved } of edited) {
    // What was moved is looked at with all that the line may have changed.
    const isEdit = !file.dir && !isMoved;
    if (!isEdit || (await parts.edits.baselines.changed(file)) === null) continue;
    const write = { toolUseId: lineFlight(toolUseId), wrote: true, file: pathOf(file), cwd, lines: null };
    await flightEnd(event, { ...action, do: "flight_end", ...write }, parts);
  }
  await endLineEdits(event, parts, actor, toolUseId, edited);
}

async function noteShell(
  { engine, clock }: Services,
  actor: Actor,
  ancestors: readonly (string | null)[],
  files: readonly Written[],
): Promise<void> {
  if (files.length === 0) return;
  const noted: WriteNote = { files, by: "shell", ancestors, wallMs: clock.wall() };
  await engine.submitAndWait({ type: "writes_noted", actor, noted });
}

/** Files in the actor's project that are held or have uncommitted work, and that changed while the command ran. */
async function changedWhile(
  services: Services,
  edits: EditMemory,
  actor: Actor,
  ranMs: number | null,
  since: number,
): Promise<Written[]> {
  const { engine } = services;
  const changed: Written[] = [];
  for (const key of watchedKeys(engine.state, actor.session)) {
    const { state } = engine;
    // The holder is writing this file: the end of that write reports it.
    if ((state.locks.holds.get(key)?.flights.length ?? 0) > 0) continue;
    const work = state.writes.files.get(key);
    const file =
      work === undefined ? (state.locks.holds.get(key) ?? { key }) : { key, path: pathOfWork(work) };
    const at = await edits.baselines.changed(file);
    if (at === null || at < since || (engine.state.locks.holds.get(key)?.flights.length ?? 0) > 0) continue;
    if (ranMs !== null && isAftermath(services, edits, key, at, ranMs)) continue;
    const one = work ?? (await writtenAt(services, file, actor.session));
    if (one === null) continue;
    const { file: name, worktree, project } = one;
    changed.push({ key, file: name, worktree, project });
  }
  return withoutIgnored(services, changed);
}

/** Whether a tool wrote the file while the command ran, and it changed soon after: its writer's formatter did that. */
function isAftermath(
  { clock }: Services,
  { writers }: EditMemory,
  key: string,
  changedAt: number,
  ranMs: number,
): boolean {
  const written = writers.since(key, clock.now() - ranMs + 1);
  if (written === null) return false;
  const writtenAt = clock.wall() - (clock.now() - written.at);
  return changedAt <= writtenAt + limits.aftermathMs;
}

async function withoutIgnored(services: Services, files: readonly Written[]): Promise<Written[]> {
  const left: Written[] = [];
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
    // If git cannot be asked, the file is reported.
    const isIgnored = (file: string) =>
      states !== null && !("unreachable" in states) && states.get(file)?.ignored === true;
    left.push(...here.filter(f => !isIgnored(f.file)));
  }
  return left;
}

/**
 * Returns the file with its repository; null if it is in none. A file in its session's worktree that cannot be checked now
 * counts for that worktree. Any session could wipe work that the daemon does not know.
 */
export async function writtenAt(
  { facts, engine }: Services,
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
