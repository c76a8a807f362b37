/**
 * Keeps what a shell line or an edit is about to replace, and notices what was wiped, by a line or outside of Kite. A hook
 * waits for the first part alone.
 */

import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { errorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import type { DirtyFile } from "../core/tables/base-state.ts";
import { actorRow, type Lineage, pathOf } from "../core/tables/naming.ts";
import type { WipedWork } from "../core/tables/uncommitted.ts";
import { latestOf, pathOfWork } from "../core/work/dirty-files.ts";
import type { Listener } from "../engine/log-view.ts";
import type { Stamped } from "../facts/paths.ts";
import { Allowance } from "../facts/work-clock.ts";
import { settleGrants } from "../hooks/edits/edit-lock.ts";
import { type ActionHandler, type ActionOf, ancestorsOf, type HookEvent } from "../hooks/event.ts";
import { releaseIndexes } from "../hooks/guard/guard.ts";
import { lineKey } from "../hooks/guard/memory.ts";
import { aliasedBy, placesOf } from "../hooks/guard/places.ts";
import { releaseLineEdits, worksAt } from "../hooks/guard/plain-files.ts";
import type { EndedLine, HookPart, SparedWork } from "../hooks/points.ts";
import { stops } from "../hooks/verdict.ts";
import type { Services } from "../options.ts";
import { actorOf } from "../sessions/proposals.ts";
import { decidedBy } from "../trail/decisions.ts";
import type { Recorder } from "../trail/trail.ts";
import { isWithin } from "../worktree/pathspec.ts";
import { worksIn } from "../worktree/uncommitted.ts";
import type { FileToKeep } from "./keep.ts";
import { type Candidate, candidateOf, runsLine } from "./losses.ts";
import {
  type LastingServices,
  type OpenFlight,
  type Rescue,
  type RescueParts,
  withinMs,
} from "./services.ts";
import { type Author, type Version, type Wipe, type WipedFile, wipeName } from "./versions.ts";

// Tells of a wipe: to whose work it was, and to who did it.

/**
 * Tells of the files that a version brings back. `isNamed`: whether the line named the file, so that its agent knows what
 * became of its own work. A file that somebody outside of Kite deleted is only listed: whoever deletes a file sees that.
 */
async function tellWipe(services: Services, wipe: Wipe, isNamed: (path: string) => boolean): Promise<void> {
  const { project, by, command, files, more } = wipe;
  const isTold = ({ path, version, writers, how }: WipedFile): boolean => {
    if (version === null) return false;
    if (by === null) return how !== "gone";
    const isOwn = writers.every(({ session, agent }) => session === by.session && agent === by.agent);
    // What a script deletes of its agent's own files is most often what the agent made it for.
    return !isOwn || (how === "reverted" && !isNamed(path));
  };
  const filesToReport = files.filter(isTold);
  if (filesToReport.length === 0) return;
  const isUnaware = filesToReport.some(({ path, how }) => how === "reverted" && !isNamed(path));
  const works = filesToReport.map(
    ({ path, file, lines, writers }): WipedWork => ({
      path,
      file,
      lines,
      writers: writers.map(author => inFamily(services, author)),
    }),
  );
  await services.engine.submitAndWait({
    type: "work_wiped",
    wipe: wipeName(wipe),
    project,
    doer: by === null ? null : { ...inFamily(services, by), name: by.name, isUnaware },
    command,
    files: works,
    others: files.length - filesToReport.length + more,
  });
}

function inFamily(services: Services, { session, agent }: Author): WipedWork["writers"][number] {
  const ancestors = services.presence.ancestors(session, agent);
  return { actor: actorOf(services, session, agent, null), ancestors: [...ancestors] };
}

// A shell line has ended: what it changed is kept, and what it wiped is noted.

/** Looks at it later, when all that was written before is kept. Until then the files of its worktree, and of those that it reached, are its own to explain. */
export function lineEnds(services: LastingServices, rescue: Rescue, line: EndedLine): void {
  const { ends } = rescue.compared;
  const own = services.engine.state.sessions.live.get(line.actor.session)?.worktree ?? "";
  const reached = [...rescue.lines.worktreesOf(line.toolUseId), ...line.changed.map(one => one.worktree)];
  const worktrees = new Set([own, ...reached]);
  for (const worktree of worktrees) ends.set(worktree, (ends.get(worktree) ?? 0) + 1);
  void rescue.later(async () => {
    try {
      await lineEnded(services, rescue, line);
    } finally {
      for (const worktree of worktrees) {
        const left = (ends.get(worktree) ?? 1) - 1;
        if (left === 0) ends.delete(worktree);
        else ends.set(worktree, left);
      }
    }
  });
}

/** Returns when all of it is kept and noted. Nobody waits for that. */
async function lineEnded(
  services: LastingServices,
  rescue: Rescue,
  { actor, toolUseId, program, changed, wallMs: atMs }: EndedLine,
): Promise<void> {
  const { engine } = services;
  const { archive, keeper, losses, lines } = rescue;
  const { id: session, agent, name } = actorRow(engine.state, actor);
  const by: Author = { session, agent, name };
  await archive.ready;
  const line = lines.ended(toolUseId);
  const candidates = new Map<string, Candidate>();
  for (const one of line?.candidates ?? []) candidates.set(one.path, one);
  // Looked up before anything new is kept: the latest version is what was there.
  for (const written of changed) {
    const path = pathOfWork(written);
    const work = engine.state.writes.files.get(written.key);
    const known = candidates.get(path) ?? candidateOf({ ...written, writers: work?.writers ?? [] });
    known.version ??= archive.versions.latestOf(path);
    candidates.set(path, known);
  }
  const lost: Loss[] = [];
  for (const candidate of candidates.values()) {
    if (isNotedGone(rescue, candidate.path)) continue;
    const loss = await losses.of(candidate, by);
    // An agent that changes its own lines loses none.
    const isOwnChange =
      loss?.how === "changed" && line === null && candidate.version?.by?.session === session;
    if (loss !== null && !isOwnChange) lost.push({ candidate, loss });
  }
  for (const written of changed) {
    const what = { path: pathOfWork(written), key: written.key, by, tool: program, kind: "write" } as const;
    await keeper.keep({ ...what, isEdit: false, session, text: null, atMs }, () => false);
  }
  const isNamed = (path: string) => line?.candidates.some(one => one.path === path) === true;
  const command = line?.command || program || "a shell line";
  await noteWipes(services, rescue, { by, command, atMs, isNamed }, lost);
}

/** What a file lost, with where it is. */
interface Loss {
  readonly candidate: Pick<Candidate, "project" | "worktree">;
  readonly loss: WipedFile;
}

/** How files were wiped. */
interface Wiping {
  /** Null: no tool use explains it. */
  readonly by: Author | null;
  readonly command: string;
  readonly atMs: number;
  /** Whether the line named the file. */
  readonly isNamed: (path: string) => boolean;
}

/**
 * Whether the file is gone since its content was seen last, and that was noted: by a comparison, or by another line. A file
 * that takes its place is no further loss.
 */
function isNotedGone({ keeper, compared }: Pick<Rescue, "keeper" | "compared">, path: string): boolean {
  return compared.gone.get(path) === (keeper.seen(path)?.stamp ?? "");
}

/** Notes what was wiped at once, a wipe for each worktree, and tells of it. */
async function noteWipes(
  services: Services,
  { archive, keeper, compared }: Pick<Rescue, "archive" | "keeper" | "compared">,
  { isNamed, ...how }: Wiping,
  lost: readonly Loss[],
): Promise<void> {
  for (const { loss } of lost)
    if (loss.how === "gone") compared.gone.set(loss.path, keeper.seen(loss.path)?.stamp ?? "");
  for (const worktree of new Set(lost.map(({ candidate }) => candidate.worktree))) {
    const here = lost.filter(({ candidate }) => candidate.worktree === worktree);
    const [first] = here;
    if (first === undefined) continue;
    const files = here.map(({ loss }) => loss);
    const wipe = await archive.noteWipe({
      ...how,
      project: first.candidate.project,
      worktree,
      files,
      more: 0,
    });
    if (wipe !== null) await tellWipe(services, wipe, isNamed);
  }
}

// Compares files with uncommitted work with what is kept of them: an editor, `make` or a person's own git command gives no
// event. It keeps what differs, and notes what was lost as a wipe of nobody's. A change that an agent's shell command
// explains waits for the command's end.

/** The command of a wipe that no tool use explains. */
const outsideKite = "changed outside Kite";

/**
 * An event of a session waits for its answer: compares the session's worktree, and the event does not wait for that. `isSoon`
 * false: only if `limits.rescueCompareMs` went by since the last time. Without kept work of the worktree nothing is looked at.
 */
function compareAtEvent(services: LastingServices, rescue: Rescue, session: string, isSoon: boolean): void {
  const { engine, clock } = services;
  const worktree = engine.state.sessions.live.get(session)?.worktree;
  const { byWorktree, settledIn } = engine.state.writes;
  if (worktree === undefined || !(byWorktree.has(worktree) || settledIn.has(worktree))) return;
  const { worktrees } = rescue.compared;
  const before = worktrees.get(worktree);
  // A comparison that waits sees what changed until now.
  if (before === Number.POSITIVE_INFINITY) return;
  if (!isSoon && before !== undefined && clock.now() - before < limits.rescueCompareMs) return;
  worktrees.set(worktree, Number.POSITIVE_INFINITY);
  void rescue.later(() => {
    worktrees.set(worktree, clock.now());
    return compare(services, rescue, worktree, false);
  });
}

/**
 * Compares the files of a worktree; null: of all. `isStart`: the daemon has just started, and may not have kept the last
 * writes before it ended. Then a file that merely has other lines is no loss. A file that did not change since the last look
 * costs a stat. Resolves when what was found is kept and noted.
 */
export function compareWithKept(
  services: LastingServices,
  rescue: Rescue,
  worktree: string | null,
  isStart = false,
): Promise<void> {
  // Before the first edit is granted, and before an end that nobody heard is taken.
  if (isStart) noteFlights(services, rescue);
  return rescue.later(() => compare(services, rescue, worktree, isStart));
}

async function compare(
  services: LastingServices,
  rescue: Rescue,
  worktree: string | null,
  isStart: boolean,
): Promise<void> {
  await rescue.archive.ready;
  if (isStart)
    for (const flight of rescue.compared.flights.values()) await keepFlight(services, rescue, flight);
  const { files, settled, settledIn } = services.engine.state.writes;
  // The latest first.
  const dirty = worktree === null ? [...files.values()].reverse() : worksIn(services, worktree);
  const clean =
    worktree === null
      ? [...settled.values()].reverse()
      : [...(settledIn.get(worktree) ?? [])].flatMap(key => settled.get(key) ?? []).reverse();
  const skipped = new Map<string, boolean>();
  const lost: Loss[] = [];
  for (const [works, look] of [
    [dirty, compareDirty],
    [clean, compareSettled],
  ] as const) {
    for (const work of works.slice(0, limits.shellFilesMax)) {
      const isSkipped =
        skipped.get(work.worktree) ??
        ((!isStart && runsLine(services, rescue, work.worktree)) || (await isOff(services, work)));
      skipped.set(work.worktree, isSkipped);
      if (isSkipped) continue;
      const loss = await look(services, rescue, work, isStart);
      if (loss !== null) lost.push(loss);
    }
  }
  const how = { by: null, command: outsideKite, atMs: services.clock.wall(), isNamed: () => false };
  await noteWipes(services, rescue, how, lost);
}

/** Whether the project switches the setting off: then nothing of it is looked at, whatever was kept before. */
async function isOff({ config }: LastingServices, { project, worktree }: DirtyFile): Promise<boolean> {
  return (await config.rules.at({ project, worktree })).rescue === "off";
}

async function compareDirty(
  services: LastingServices,
  rescue: Rescue,
  work: DirtyFile,
  isStart: boolean,
): Promise<Loss | null> {
  const { engine, facts } = services;
  const { archive, keeper, losses, unkept, compared, queue } = rescue;
  // A look before this one may have settled it.
  if (engine.state.writes.files.get(work.key) !== work) return null;
  const path = pathOfWork(work);
  const { actor, seq } = latestOf(work);
  // Its writer is at it, or has just been: that write is kept as its own. So is what a line does that began meanwhile.
  const isExplained = () => {
    const { locks, writes } = engine.state;
    const current = writes.files.get(work.key);
    const isSame = current !== undefined && latestOf(current).seq === seq;
    if (!isSame || queue.has(path)) return true;
    // A start cannot know whether a write of before will still happen: what is there now is kept all the same.
    if (isStart) return false;
    return (locks.holds.get(work.key)?.flights.length ?? 0) > 0 || runsLine(services, rescue, work.worktree);
  };
  const [seen, now] = [keeper.seen(path), await facts.stamped(path)];
  const latest = archive.versions.latestOf(path);
  if (now === null || isExplained()) return null;
  if (seen !== undefined && seen.stamp === now.stamp && latest !== null) {
    // Somebody may have put it back as it was.
    compared.gone.delete(path);
    return null;
  }
  // It is known why Kite keeps nothing of it.
  if (latest === null && unkept.has(path)) return null;
  const candidate = { ...candidateOf(work), version: latest };
  const loss = isNotedGone(rescue, path) ? null : await losses.of(candidate, null);
  if (isExplained()) return null;
  if (isStart && loss?.how === "gone" && latest !== null && archive.wipes.names(latest.n)) {
    // It was noted before this start.
    compared.gone.set(path, "");
    return null;
  }
  const whose = whoseNow(services, rescue, path, work, now.changedAt);
  const what = { path, key: work.key, tool: null, isEdit: true, session: actor.session, text: null };
  const outcome = await keeper.keep({ ...what, ...whose }, () => false, isExplained);
  if (outcome.is === "nothing") return null;
  return loss === null || (isStart && loss.how === "changed") ? null : { candidate, loss };
}

/** Returns whose content a file with uncommitted work has if no version of it is kept. The file changed at `changedAt`. */
function whoseNow(
  { clock }: LastingServices,
  { archive, keeper }: Pick<Rescue, "archive" | "keeper">,
  path: string,
  work: DirtyFile,
  changedAt: number,
): Pick<FileToKeep, "by" | "kind" | "atMs"> {
  const latest = archive.versions.latestOf(path);
  const { actor, name, wallMs } = latestOf(work);
  // A version of a write has the time of its note: without one, the latest write was not kept, as the daemon ended just then.
  const isUnkept = keeper.seen(path) === undefined && (latest === null || latest.atMs < wallMs);
  // A file's stamp and the daemon's clock do not tick together.
  return isUnkept && changedAt <= wallMs + limits.rescueStampSlackMs
    ? { by: { session: actor.session, agent: actor.agent, name }, kind: "write", atMs: wallMs }
    : { by: null, kind: "outside", atMs: clock.wall() };
}

/** Writes that were granted before this start may run at any moment. */
function noteFlights({ engine, clock }: LastingServices, { compared }: Rescue): void {
  for (const hold of engine.state.locks.holds.values()) {
    if (hold.flights.length === 0 || hold.dir) continue;
    const { id: session, agent, name } = actorRow(engine.state, hold.actor);
    const sinceMs = hold.touched + clock.wall() - engine.now - limits.rescueStampSlackMs;
    compared.flights.set(hold.key, { file: hold, by: { session, agent, name }, sinceMs });
  }
}

/** Looks again at the files of writes that were granted before this start, when they end. */
export function endedFlights(services: LastingServices, rescue: Rescue): Listener {
  const { flights } = rescue.compared;
  const ended = new WeakSet<OpenFlight>();
  const stepped = () => {
    for (const [key, flight] of flights) {
      if (ended.has(flight) || (services.engine.state.locks.holds.get(key)?.flights.length ?? 0) > 0)
        continue;
      ended.add(flight);
      // Until then it is known, so the next edit of the file waits for it.
      void rescue.later(async () => {
        await keepFlight(services, rescue, flight);
        flights.delete(key);
      });
    }
  };
  return { commands: ["flight_end", "turn_end", "session_end"], stepped };
}

/**
 * Keeps what a write has left; a file that did not change since the write was granted has nothing of it. `isOver`: the next
 * write may have begun. If the write is from before this start, an edit has taken it over.
 */
async function keepFlight(
  { facts, clock }: LastingServices,
  { keeper, compared }: Rescue,
  flight: OpenFlight,
  isOver: () => boolean = () => compared.flights.get(flight.file.key) !== flight,
): Promise<void> {
  const { file, by, sinceMs, isPast = false } = flight;
  const path = pathOf(file);
  const now = await facts.stamped(path);
  if (now === null || now.stamp === null || now.stamp === keeper.seen(path)?.stamp) return;
  if (now.changedAt < sinceMs) return;
  const whose = isPast ? ({ by: null, kind: "outside" } as const) : ({ by, kind: "write" } as const);
  const what = { path, key: file.key, ...whose, tool: null, isEdit: true };
  await keeper.keep({ ...what, session: by.session, text: null, atMs: clock.wall() }, () => false, isOver);
}

/** A file that git reported clean: a commit has the work, or something put the file back before Kite looked. */
async function compareSettled(
  services: LastingServices,
  rescue: Rescue,
  work: DirtyFile,
): Promise<Loss | null> {
  const { engine, facts } = services;
  const { archive, keeper, losses, compared } = rescue;
  if (engine.state.writes.settled.get(work.key) !== work) return null;
  const path = pathOfWork(work);
  const latest = archive.versions.latestOf(path);
  if (latest === null || archive.wipes.names(latest.n)) return null;
  const now = await facts.stamped(path);
  const seen = compared.settled.get(path) ?? keeper.seen(path)?.stamp;
  if (now === null || now.stamp === seen) return null;
  const candidate = { ...candidateOf(work), version: latest };
  const loss = await losses.of(candidate, null);
  if (runsLine(services, rescue, work.worktree)) return null;
  compared.settled.set(path, now.stamp);
  return loss === null ? null : { candidate, loss };
}

type KeepWork = ActionOf<"keep_work">;

/** A file that the line may wipe, with the command that does. */
interface Coming {
  readonly command: string;
  readonly work: DirtyFile;
}

/** Null: all of it is kept, or cannot be. */
async function keepWork(
  event: HookEvent,
  action: ActionOf<"keep_work">,
  parts: RescueParts,
): Promise<HookOutcome | null> {
  const { observes, clock, delivery } = event;
  const { rescue, config } = parts;
  const { confirmations } = parts.guard;
  const { treeGuard } = config.settings.values;
  // Without known work nothing can be lost that Kite could keep.
  if (rescue == null || event.engine.state.writes.files.size === 0) return null;
  const actor = event.actor(action);
  const coming = await comingWipes(event, { actor, ancestors: await ancestorsOf(event, action) }, action);
  if (coming.length === 0) return null;
  const candidates = coming.map(({ work }) => candidateOf(work));
  rescue.lines.began(action.toolUseId, {
    session: action.session,
    command: coming[0]?.command ?? "",
    candidates,
  });
  const late = new Map(coming.map(({ work, ...one }, i) => [candidates[i]?.path ?? "", { ...one, work }]));
  const keeping = keepAll(event, rescue, coming, candidates, path => void late.delete(path));
  // Where Kite holds nobody up, the line and the copies run side by side.
  if (observes || treeGuard === "off") return null;
  const leftMs = event.answerByMs - limits.firstByteMs - clock.now();
  await withinMs(keeping, Math.max(0, Math.min(limits.rescueWipeWaitMs, leftMs)));
  if (late.size === 0) return null;
  const line = lineKey(actor, action.cwd, `keep ${action.typed}`);
  const versions = new Map([...late.keys()].map(path => [path, "not kept"]));
  if (confirmations.isConfirmed(line, versions, action.toolUseId, clock.now())) return null;
  delivery.whenTold(isDelivered => {
    if (isDelivered) confirmations.told(line, versions, action.toolUseId, clock.now());
  });
  const files = [...late.keys()].slice(0, limits.rescueNamedMax);
  const verdict = treeGuard === "deny" ? "deny" : "allow_with_note";
  if (stops(event, verdict)) await stopLine(event, parts, action, actor, late);
  return { did: "keep_work", ok: true, verdict, files, more: late.size - files.length };
}

/** The line will not run: it gives back what it was granted, and the trail has its denial. */
async function stopLine(
  event: HookEvent,
  parts: RescueParts,
  action: KeepWork,
  actor: Actor,
  late: ReadonlyMap<string, Coming>,
): Promise<void> {
  const [[file, { command: type }] = [null, { command: "a command" }]] = late;
  const line = { ...decidedBy(event, actor), event: event.plan.event, type, file, rule: "rescue" };
  const others = late.size === 1 ? "" : ` and in ${late.size - 1} more`;
  const why = `wipes uncommitted work in it${others}, and Kite has no copy yet`;
  settleGrants(event.grants, false);
  if (parts.calls.decisions.isFirst(action, "rescue deny"))
    event.recorder.note({ ...line, decision: "deny", why });
  await releaseLineEdits(event, parts, actor, action.toolUseId);
  await releaseIndexes(event, actor, action.toolUseId);
}

/** The files with uncommitted work in reach of the line, whose ever it is; at most `limits.rescueWipeFilesMax`. */
async function comingWipes(services: Services, me: Lineage, action: KeepWork): Promise<readonly Coming[]> {
  const found = new Map<string, Coming>();
  for (const one of await worksAt(services, action.wiped)) found.set(one.work.key, one);
  const guarded = { ...action, do: "guard", unread: null, line: "" } as const;
  const commands = [...action.commands, ...(await aliasedBy(services, guarded))];
  const { placed } = await placesOf(
    services,
    me,
    guarded,
    commands.filter(({ reach }) => reach === "tree"),
  );
  for (const { command, place, base } of placed) {
    const { paths, name } = command;
    for (const work of worksIn(services, place.worktree)) {
      const isReached = paths === null || isWithin(work.file, paths, base, place.worktree);
      if (isReached && !found.has(work.key)) found.set(work.key, { command: name, work });
    }
  }
  return [...found.values()].slice(0, limits.rescueWipeFilesMax);
}

/** Keeps each file whose content is not kept; `done` hears of each that is kept, or that a rule does not let be kept. */
async function keepAll(
  { facts, clock }: Services,
  rescue: Rescue,
  coming: readonly Coming[],
  candidates: readonly Candidate[],
  done: (path: string) => void,
): Promise<void> {
  const { archive, keeper } = rescue;
  await archive.ready;
  for (const [i, candidate] of candidates.entries()) {
    const { path } = candidate;
    const key = coming[i]?.work.key ?? "";
    const known = keeper.seen(path) === undefined ? null : kept(rescue, path, await facts.stamped(path));
    if (known !== null) {
      candidate.version = known;
      done(path);
      continue;
    }
    const [writer] = candidate.writers;
    const by = writer ?? null;
    const what = { path, key, by, tool: null, kind: "before_wipe", isEdit: true, text: null } as const;
    const outcome = await keeper.keep(
      { ...what, session: writer?.session ?? null, atMs: clock.wall() },
      () => false,
    );
    if (outcome.is === "kept") candidate.version = outcome.version;
    if (outcome.is !== "missed") done(path);
  }
}

/** Returns the version with what the file has now, by its stamp; null: there is none, or nobody knows. */
function kept({ archive, keeper }: Rescue, path: string, now: Stamped | null): Version | null {
  const [latest, seen] = [archive.versions.latestOf(path), keeper.seen(path)];
  return latest !== null && seen?.hash === latest.hash && now?.stamp === seen.stamp ? latest : null;
}

/**
 * Keeps what granted writes of these files replace, if it is uncommitted work. Resolves when each of them is a version, or
 * after `limits.rescueReplaceWaitMs` of work, with the paths of those that are not. Undefined: all are.
 */
function keepReplaced(
  services: LastingServices,
  rescue: Rescue,
  files: readonly FileRef[],
): Promise<readonly string[]> | undefined {
  const { engine, edits, facts } = services;
  const late = new Map<string, FileRef>();
  for (const file of files) {
    const path = pathOf(file);
    const { key } = file;
    const isBegun = edits.writers.unreported(key) !== null || rescue.compared.flights.has(key);
    const isWork = isBegun || engine.state.writes.files.has(key);
    if (isWork && kept(rescue, path, facts.stampedNow(file.lexical, path)) === null) late.set(path, file);
  }
  return late.size === 0 ? undefined : keepEach(services, rescue, late);
}

/** `late`: the files by their paths. What is kept is taken out of it. */
async function keepEach(
  services: LastingServices,
  rescue: Rescue,
  late: Map<string, FileRef>,
): Promise<readonly string[]> {
  const reasons = new Map<string, string>();
  const all = [...late].map(async ([path, file]) => {
    const why = await keepNow(services, rescue, file, () => !late.has(path)).catch(errorText);
    if (why === null) late.delete(path);
    else reasons.set(path, why);
  });
  const { clock } = services.facts.allowance();
  const allowance = new Allowance(clock, limits.rescueReplaceWaitMs, limits.rescueReplaceTimeMs);
  const done = Promise.all(all);
  while (late.size > reasons.size && !allowance.isOver) await Promise.race([done, clock.beat()]);
  const unkept = [...late.keys()];
  // What is read from now on may be what the write left.
  late.clear();
  for (const path of unkept)
    rescue.queue.miss({ path }, reasons.get(path) ?? "an edit replaced it before Kite had read it");
  return unkept;
}

/** Keeps what the file has now. Resolves with null when it is kept, or a rule does not let it be kept; else with the reason. */
async function keepNow(
  services: LastingServices,
  rescue: Rescue,
  file: FileRef,
  isOver: () => boolean,
): Promise<string | null> {
  const { engine, facts } = services;
  const { archive, keeper, queue, unkept } = rescue;
  const { key } = file;
  const path = pathOf(file);
  // This look comes before the new write begins.
  const flight = unheardFlight(services, rescue, file);
  rescue.compared.flights.delete(key);
  await archive.ready;
  await queue.first(path);
  if (flight !== null) await keepFlight(services, rescue, flight, isOver);
  const work = engine.state.writes.files.get(key);
  if (work === undefined) return null;
  const now = await facts.stamped(path);
  const isNever = archive.versions.latestOf(path) === null && unkept.has(path);
  if (now?.stamp === null || isNever || kept(rescue, path, now) !== null) return null;
  const { session } = latestOf(work).actor;
  const what = { path, key, tool: null, isEdit: true, session, text: null };
  const whose = whoseNow(services, rescue, path, work, now?.changedAt ?? 0);
  const outcome = await keeper.keep({ ...what, ...whose }, () => false, isOver);
  return outcome.is === "missed" ? outcome.why : null;
}

/** The last write that was granted and of which nobody heard the end; null: there is none. */
function unheardFlight(
  { edits, clock, presence }: LastingServices,
  { compared }: Rescue,
  file: FileRef,
): OpenFlight | null {
  const begun = edits.writers.unreported(file.key);
  if (begun === null) return compared.flights.get(file.key) ?? null;
  const { session, agent, name, at } = begun;
  const sinceMs = at + clock.wall() - clock.now() - limits.rescueStampSlackMs;
  const isPast = (presence.pulse(session, agent)?.since ?? at) > at;
  return { file, by: { session, agent, name }, sinceMs, isPast };
}

// What the rescue of work does at events of hooks. Where the person's setting is off, there is none of it.

export const rescueActions: { readonly keep_work: ActionHandler<"keep_work"> } = { keep_work: keepWork };

export function rescuePart(services: LastingServices, rescue: Rescue): HookPart {
  const { engine } = services;
  return {
    writesBegin: files => keepReplaced(services, rescue, files),
    written: ({ actor, file, tool, text, wallMs }) => {
      const { id: session, agent, name } = actorRow(engine.state, actor);
      const what = { path: pathOf(file), key: file.key, by: { session, agent, name }, tool, text };
      rescue.queue.add({ ...what, kind: "write", isEdit: true, session, atMs: wallMs });
      compareAtEvent(services, rescue, session, false);
    },
    lineEnded: line => {
      lineEnds(services, rescue, line);
      // What it changed and the daemon did not see: git may have reported the file clean before.
      compareAtEvent(services, rescue, line.actor.session, true);
    },
    spared: (work, recorder) => void rescue.later(() => noteSpared(services, rescue, work, recorder)),
    eventWaits: ({ session }) => compareAtEvent(services, rescue, session, false),
    // Of a file that changed, the notice with the line that restores it comes instead.
    beforeNotes: ({ session }) => {
      if (rescue.waiting === 0) return undefined;
      const { bySession, pending } = engine.state.notes;
      const all = [...(bySession.get(session) ?? [])].flatMap(key => pending.get(key)?.notes ?? []);
      const mayChange = all.some(({ note: { what } }) => what === "bypassed" || what === "discarded");
      return mayChange ? withinMs(rescue.settled(), limits.rescueSettleMs) : undefined;
    },
    prompted: session => compareAtEvent(services, rescue, session, true),
  };
}

/**
 * Writes a line with the number of files, and of the lines in them that no commit has. The line leaves out the number of
 * lines if a file is no text, too long or not reachable. It also does so if there are more files than are looked at. Readers
 * would take the number of a part for that of the whole.
 */
async function noteSpared(
  services: Services,
  { losses }: Pick<Rescue, "losses">,
  { actor, command: type, count, files }: SparedWork,
  recorder: Recorder,
): Promise<void> {
  const looked = files.slice(0, limits.guardFilesMax);
  let counted: number | null = looked.length === count ? 0 : null;
  for (const one of looked) {
    if (counted === null) break;
    const ahead = await losses.linesAhead(one);
    counted = ahead === null ? null : counted + ahead;
  }
  const known = counted === null ? {} : { lines: counted };
  const what = counted === null ? "" : `${counted} lines of `;
  const why = `uncommitted work of others was spared: ${what}${count} ${count === 1 ? "file" : "files"}`;
  const line = { ...decidedBy(services, actor), event: "work_spared", type, file: null, rule: "guard" };
  recorder.note({ ...line, decision: "event", why, files: count, ...known });
}
