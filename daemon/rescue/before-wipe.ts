/** Keeps what a shell line is about to wipe, or an edit to replace, before its hook is answered: the only part that a hook waits for. */
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { errorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import type { DirtyFile } from "../core/tables/base-state.ts";
import type { Lineage } from "../core/tables/naming.ts";
import { pathOf } from "../core/tables/naming.ts";
import { latestOf } from "../core/work/dirty-files.ts";
import type { Stamped } from "../facts/paths.ts";
import { type ActionOf, actorOfAction, ancestorsOf, type Run } from "../hooks/action.ts";
import { settleGrants } from "../hooks/grants.ts";
import { aliasedBy } from "../hooks/guard/alias.ts";
import { lineKey } from "../hooks/guard/confirmations.ts";
import { releaseIndexes } from "../hooks/guard/guard.ts";
import { placesOf } from "../hooks/guard/places.ts";
import { releaseLineEdits } from "../hooks/guard/plain-files.ts";
import { worksAt } from "../hooks/guard/wiped-work.ts";
import { stops } from "../hooks/verdict.ts";
import { decidedBy } from "../trail/decisions.ts";
import { isWithin } from "../worktree/pathspec.ts";
import { worksIn } from "../worktree/uncommitted.ts";
import { keepFlight, whoseNow } from "./compare.ts";
import { type Candidate, candidateOf } from "./losses.ts";
import { type OpenFlight, type Rescue, type RescueServices, withinMs } from "./services.ts";
import type { Version } from "./versions.ts";

type KeepWork = ActionOf<"keep_work">;

interface RescueRun extends Run {
  readonly services: RescueServices;
}

/** A file that the line may wipe, with the command that does. */
interface Coming {
  readonly command: string;
  readonly work: DirtyFile;
}

/** Null: all of it is kept, or cannot be. */
export async function keepWork(run: RescueRun, asked: KeepWork): Promise<HookOutcome | null> {
  const { services, scope, delivery } = run;
  const { rescue, settings, observes, clock, guardConfirmations } = services;
  const { treeGuard } = settings.values;
  // Without known work nothing can be lost that Kite could keep.
  if (rescue == null || services.engine.state.writes.files.size === 0) return null;
  const actor = actorOfAction(run, asked);
  const coming = await comingWipes(services, { actor, ancestors: await ancestorsOf(services, asked) }, asked);
  if (coming.length === 0) return null;
  const candidates = coming.map(({ work }) => candidateOf(work));
  rescue.lines.began(asked.toolUseId, {
    session: asked.session,
    command: coming[0]?.command ?? "",
    candidates,
  });
  const late = new Map(coming.map(({ work, ...one }, i) => [candidates[i]?.path ?? "", { ...one, work }]));
  const keeping = keepAll(services, rescue, coming, candidates, path => void late.delete(path));
  // Where Kite holds nobody up, the line and the copies run side by side.
  if (observes || treeGuard === "off") return null;
  const leftMs = scope.answerByMs - limits.firstByteMs - clock.now();
  await withinMs(keeping, Math.max(0, Math.min(limits.rescueWipeWaitMs, leftMs)));
  if (late.size === 0) return null;
  const line = lineKey(actor, asked.cwd, `keep ${asked.typed}`);
  const versions = new Map([...late.keys()].map(path => [path, "not kept"]));
  if (guardConfirmations.isConfirmed(line, versions, asked.toolUseId, clock.now())) return null;
  delivery.whenTold(heard => {
    if (heard) guardConfirmations.told(line, versions, asked.toolUseId, clock.now());
  });
  const files = [...late.keys()].slice(0, limits.rescueNamedMax);
  const verdict = treeGuard === "deny" ? "deny" : "allow_with_note";
  if (stops(services, verdict)) await stopLine(run, asked, actor, late);
  return { did: "keep_work", ok: true, verdict, files, more: late.size - files.length };
}

/** The line will not run: it gives back what it was granted, and the trail has its denial. */
async function stopLine(
  { services, plan, grants }: RescueRun,
  asked: KeepWork,
  actor: Actor,
  late: ReadonlyMap<string, Coming>,
): Promise<void> {
  const [[file, { command: type }] = [null, { command: "a command" }]] = late;
  const line = { ...decidedBy(services, actor), event: plan.event, type, file, rule: "rescue" };
  const others = late.size === 1 ? "" : ` and in ${late.size - 1} more`;
  const why = `wipes uncommitted work in it${others}, and Kite has no copy yet`;
  settleGrants(grants, false);
  if (services.notedDecisions.isFirst(asked, "rescue deny"))
    services.recorder.note({ ...line, decision: "deny", why });
  await releaseLineEdits(services, actor, asked.toolUseId);
  await releaseIndexes(services, actor, asked.toolUseId);
}

/** The files with uncommitted work in reach of the line, whose ever it is; at most `limits.rescueWipeFilesMax`. */
async function comingWipes(
  services: RescueServices,
  me: Lineage,
  asked: KeepWork,
): Promise<readonly Coming[]> {
  const found = new Map<string, Coming>();
  for (const one of await worksAt(services, asked.wiped)) found.set(one.work.key, one);
  const guarded = { ...asked, do: "guard", unread: null, line: "" } as const;
  const commands = [...asked.commands, ...(await aliasedBy(services, guarded))];
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
  { facts, clock }: RescueServices,
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
 * Keeps what granted writes of these files replace, where it is uncommitted work. Resolves when each of them is a version, or
 * after `limits.rescueReplaceWaitMs`, with the paths of those that are not. Undefined: all are.
 */
export function keepReplaced(
  services: RescueServices,
  rescue: Rescue,
  files: readonly FileRef[],
): Promise<readonly string[]> | undefined {
  const { engine, writers, facts } = services;
  const late = new Map<string, FileRef>();
  for (const file of files) {
    const path = pathOf(file);
    const { key } = file;
    const isBegun = writers.unreported(key) !== null || rescue.compared.flights.has(key);
    const isWork = isBegun || engine.state.writes.files.has(key);
    if (isWork && kept(rescue, path, facts.stampedNow(file.lexical, path)) === null) late.set(path, file);
  }
  return late.size === 0 ? undefined : keepEach(services, rescue, late);
}

/** `late`: the files by their paths. What is kept is taken out of it. */
async function keepEach(
  services: RescueServices,
  rescue: Rescue,
  late: Map<string, FileRef>,
): Promise<readonly string[]> {
  const reasons = new Map<string, string>();
  const all = [...late].map(async ([path, file]) => {
    const why = await keepNow(services, rescue, file, () => !late.has(path)).catch(errorText);
    if (why === null) late.delete(path);
    else reasons.set(path, why);
  });
  await withinMs(
    Promise.all(all).then(() => {}),
    limits.rescueReplaceWaitMs,
  );
  const unkept = [...late.keys()];
  // What is read from now on may be what the write left.
  late.clear();
  const tooLate = `an edit replaced it after ${limits.rescueReplaceWaitMs} ms`;
  for (const path of unkept) rescue.queue.miss({ path }, reasons.get(path) ?? tooLate);
  return unkept;
}

/** Keeps what the file has now. Resolves with null when it is kept, or a rule does not let it be kept; else with the reason. */
async function keepNow(
  services: RescueServices,
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
  { writers, clock, presence }: RescueServices,
  { compared }: Rescue,
  file: FileRef,
): OpenFlight | null {
  const begun = writers.unreported(file.key);
  if (begun === null) return compared.flights.get(file.key) ?? null;
  const { session, agent, name, at } = begun;
  const sinceMs = at + clock.wall() - clock.now() - limits.rescueStampSlackMs;
  const isPast = (presence.pulse(session, agent)?.since ?? at) > at;
  return { file, by: { session, agent, name }, sinceMs, isPast };
}
