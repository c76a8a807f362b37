/**
 * Compares files with uncommitted work with what is kept of them: an editor, `make` or a person's own git command gives no
 * event. What differs is kept; what was lost is noted as a wipe of nobody's. What an agent's shell command explains is left to its
 * end.
 */
import { limits } from "../../protocol/limits.ts";
import type { DirtyFile } from "../core/tables/base-state.ts";
import { actorRow, pathOf } from "../core/tables/naming.ts";
import { latestOf, pathOfWork } from "../core/work/dirty-files.ts";
import type { Listener } from "../engine/listeners.ts";
import { worksIn } from "../worktree/uncommitted.ts";
import { isNotedGone, type Loss, noteWipes } from "./ended-line.ts";
import type { FileToKeep } from "./keep.ts";
import { candidateOf } from "./losses.ts";
import { runsLine } from "./running-lines.ts";
import type { OpenFlight, Rescue, RescueServices } from "./services.ts";

/** The command of a wipe that no tool use explains. */
const outsideKite = "changed outside Kite";

/**
 * An event of a session waits for its answer: compares the session's worktree, and the event does not wait for that. `isSoon`
 * false: only if `limits.rescueCompareMs` went by since the last time. Without kept work of the worktree nothing is looked at.
 */
export function compareAtEvent(
  services: RescueServices,
  rescue: Rescue,
  session: string,
  isSoon: boolean,
): void {
  const { engine, clock } = services;
  const worktree = engine.state.sessions.live.get(session)?.worktree;
  const { byWorktree, settledIn } = engine.state.writes;
  if (worktree === undefined || !(byWorktree.has(worktree) || settledIn.has(worktree))) return;
  const { worktrees } = rescue.compared;
  const before = worktrees.get(worktree);
  // One that waits sees what changed until now.
  if (before === Number.POSITIVE_INFINITY) return;
  if (!isSoon && before !== undefined && clock.now() - before < limits.rescueCompareMs) return;
  worktrees.set(worktree, Number.POSITIVE_INFINITY);
  void rescue.later(() => {
    worktrees.set(worktree, clock.now());
    return compare(services, rescue, worktree, false);
  });
}

/**
 * Compares the files of a worktree; null: of all. `isStart`: the daemon has just started, and the last writes before it ended
 * may not be kept; then a file that merely has other lines is no loss. A file that did not change since the last look costs a
 * stat. Resolves when what was found is kept and noted.
 */
export function compareWithKept(
  services: RescueServices,
  rescue: Rescue,
  worktree: string | null,
  isStart = false,
): Promise<void> {
  // Before the first edit is granted, and before an end that nobody heard is taken.
  if (isStart) noteFlights(services, rescue);
  return rescue.later(() => compare(services, rescue, worktree, isStart));
}

async function compare(
  services: RescueServices,
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
async function isOff({ rules }: RescueServices, { project, worktree }: DirtyFile): Promise<boolean> {
  return (await rules.at({ project, worktree })).rescue === "off";
}

async function compareDirty(
  services: RescueServices,
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

/** Whose content a file with uncommitted work has if there is no version of it; it changed at `changedAt`. */
export function whoseNow(
  { clock }: RescueServices,
  { archive, keeper }: Pick<Rescue, "archive" | "keeper">,
  path: string,
  work: DirtyFile,
  changedAt: number,
): Pick<FileToKeep, "by" | "kind" | "atMs"> {
  const latest = archive.versions.latestOf(path);
  const { actor, name, wallMs } = latestOf(work);
  // A version of a write has the time of its note: without one, the latest write was not kept, as the daemon ended just then.
  const isUnkept = keeper.seen(path) === undefined && (latest === null || latest.atMs < wallMs);
  return isUnkept && changedAt <= wallMs
    ? { by: { session: actor.session, agent: actor.agent, name }, kind: "write", atMs: wallMs }
    : { by: null, kind: "outside", atMs: clock.wall() };
}

/** Writes that were granted before this start may run at any moment. */
function noteFlights({ engine, clock }: RescueServices, { compared }: Rescue): void {
  for (const hold of engine.state.locks.holds.values()) {
    if (hold.flights.length === 0 || hold.dir) continue;
    const { id: session, agent, name } = actorRow(engine.state, hold.actor);
    const sinceMs = hold.touched + clock.wall() - engine.now - limits.rescueStampSlackMs;
    compared.flights.set(hold.key, { file: hold, by: { session, agent, name }, sinceMs });
  }
}

/** Looks again at the files of writes that were granted before this start, when they end. */
export function endedFlights(services: RescueServices, rescue: Rescue): Listener {
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
 * write may have begun; of one of before this start, an edit has taken it over.
 */
export async function keepFlight(
  { facts, clock }: RescueServices,
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
  services: RescueServices,
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
