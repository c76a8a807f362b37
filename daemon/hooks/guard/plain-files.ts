/**
 * Guards the files that plain commands of a shell line name.
 *
 * A command that leaves none of another's uncommitted lines is denied. One that changes a file in place, or moves it, is an
 * edit. The line waits for the file as an edit waits, and holds it until the end of its tool is seen.
 */

import { dirname, join, posix } from "node:path";
import type { EditedPath, NamedFiles, WipedPath } from "../../../hooks/seam/actions.ts";
import type { HeldGitLock, WipedFile } from "../../../hooks/seam/outcomes.ts";
import type { HookOutcome } from "../../../hooks/seam/slices.ts";
import { topFolder } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Actor, actorKey, type FileRef } from "../../core/frame/actors.ts";
import { lasts } from "../../core/locks/blockers.ts";
import { knownWorktrees } from "../../core/sessions/room.ts";
import type { DirtyFile } from "../../core/tables/base-state.ts";
import { pathOf } from "../../core/tables/naming.ts";
import { refs } from "../../facts/facts.ts";
import type { FileState } from "../../facts/git/status.ts";
import type { Services } from "../../options.ts";
import { isRefusal } from "../../server/call.ts";
import { signOfLife } from "../../sessions/proposals.ts";
import { decidedBy, type LockAsked, noteLock } from "../../trail/decisions.ts";
import { nameOf } from "../../views/sessions.ts";
import { type Asking, type Foreign, foreignKnown, lookAt, worksIn } from "../../worktree/uncommitted.ts";
import { keepReplaced, writeBegins } from "../edits/edit.ts";
import { keptAgainst } from "../edits/edit-lock.ts";
import {
  type ActionOf,
  ancestorsOf,
  contested,
  type HookEvent,
  leadOf,
  rulesFor,
  taskOf,
  toolOf,
} from "../event.ts";
import type { Needs } from "../parts.ts";
import { wouldWait } from "../plan-filters.ts";
import { plainVerdict, refusalVerdict, stops } from "../verdict.ts";
import { isUnchanged, ownerOf, workIn } from "./findings.ts";
import { isHeldBy, type LineEdit, lineFlight, lineKey } from "./memory.ts";
import { withTops } from "./places.ts";
import { heldGitLocks, mayBeGitLock } from "./shared-places.ts";

// Which uncommitted work of others the plain commands of a line wipe: `rm`, or a copy onto a file.

/** Work of another actor that a command wipes. */
interface WipedWork extends Foreign {
  readonly by: WipedPath;
  /** Absolute. */
  readonly path: string;
  /** Git has told that it is uncommitted. */
  readonly isSeen: boolean;
  /** The other actor holds it, and git has told that nothing in it is uncommitted. */
  readonly isOnlyHeld: boolean;
}

/** A path of a command on this machine, with a pattern for the files that it means. */
interface Place {
  readonly wiped: WipedPath;
  readonly pattern: RegExp;
  /** The path up to the first folder that is a pattern. */
  readonly known: string;
}

/**
 * Returns the work of others that the line wipes: each file once, as the first command reaches it. Looks at files alone
 * of which the daemon knows work of others in reach; walks no folder.
 */
async function wipedWork(
  services: Services,
  { config }: Needs<LineParts>,
  me: Asking,
  wiped: readonly WipedPath[],
): Promise<readonly WipedWork[]> {
  // The innermost first: a file belongs to that one.
  const worktrees = [...knownWorktrees(services.engine.state).keys()].sort((a, b) => b.length - a.length);
  const found = new Map<string, WipedWork>();
  for (const one of wiped) {
    const place = await placeOf(services, one);
    for (const worktree of worktrees) {
      if (!overlap(worktree, place.known)) continue;
      for (const foreign of foreignKnown(services, me, { worktree, gitDir: join(worktree, ".git") })) {
        const path = posix.join(worktree, foreign.file);
        if (found.has(foreign.key) || !isReached(place, foreign, path)) continue;
        found.set(foreign.key, { ...foreign, path, by: one, isSeen: false, isOnlyHeld: false });
      }
    }
  }
  return found.size === 0 ? [] : uncommitted(services, config, me, [...found.values()]);
}

/** The files with uncommitted work that these paths mean, whose ever it is, each once with the command that wipes it. */
export async function worksAt(
  services: Services,
  wiped: readonly WipedPath[],
): Promise<readonly { readonly command: string; readonly work: DirtyFile }[]> {
  const found = new Map<string, { readonly command: string; readonly work: DirtyFile }>();
  for (const one of wiped) {
    const { pattern, known } = await placeOf(services, one);
    for (const worktree of services.engine.state.writes.byWorktree.keys()) {
      if (!overlap(worktree, known)) continue;
      for (const work of worksIn(services, worktree))
        if (!found.has(work.key) && pattern.test(posix.join(worktree, work.file)))
          found.set(work.key, { command: one.name, work });
    }
  }
  return [...found.values()];
}

/** The path on this machine: symbolic links in its known folders count as what they lead to. */
async function placeOf(services: Services, wiped: WipedPath): Promise<Place> {
  const path = await realOf(services, wiped.path, wiped.isRemoved);
  const below = wiped.isDeep ? "(?:/.*)?" : "";
  return { wiped, pattern: new RegExp(`^${patternOf(path)}${below}$`, "s"), known: knownPart(path) };
}

/** The files that a path means: itself, or of a pattern those that others hold or have work in. */
function knownIn(services: Services, me: Asking, path: string): readonly string[] {
  if (!isPattern(path)) return [path];
  const pattern = new RegExp(`^${patternOf(path)}$`, "s");
  const known = knownPart(path);
  return [...knownWorktrees(services.engine.state).keys()]
    .filter(worktree => overlap(worktree, known))
    .flatMap(worktree =>
      foreignKnown(services, me, { worktree, gitDir: join(worktree, ".git") }).map(({ file }) =>
        posix.join(worktree, file),
      ),
    )
    .filter(file => pattern.test(file));
}

function isPattern(path: string): boolean {
  return /[*?[]/.test(path);
}

/** The path up to the first folder that is a pattern. */
function knownPart(path: string): string {
  const open = path.search(/[*?[]/);
  return open === -1 ? path : path.slice(0, path.lastIndexOf("/", open) + 1);
}

/** The real path, as far as its folders are known; of a file that is removed, that of its name. */
async function realOf(services: Services, named: string, isItsName: boolean): Promise<string> {
  const topped = named.includes(topFolder) ? await withTops(services, named) : named;
  const path = posix.normalize(typeof topped === "string" ? topped : named).replace(/(?<=.)\/+$/, "");
  const folder = isPattern(path) ? dirname(`${knownPart(path)}x`) : isItsName ? dirname(path) : path;
  const fact = await services.facts.path("/", folder || "/");
  return "unreachable" in fact ? path : posix.join(fact.real, path.slice(folder.length));
}

/** A pattern of the shell as a regular expression: no wildcard matches a slash, or a dot at a name's beginning. */
function patternOf(path: string): string {
  return path.replace(/\[!?[^\]/]+\]|[\s\S]/g, (piece, at: number) => {
    const isFirst = at === 0 || path[at - 1] === "/";
    if (piece === "*") return `${isFirst ? "(?!\\.)" : ""}[^/]*`;
    if (piece === "?") return `${isFirst ? "(?!\\.)" : ""}[^/]`;
    if (piece.length > 1) return piece.replace(/^\[!/, "[^").replace(/\\/g, "\\\\");
    return piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
}

function isReached({ pattern, wiped, known }: Place, { dir }: Foreign, path: string): boolean {
  if (pattern.test(path)) return true;
  // Somebody holds a folder around it.
  return dir && !wiped.isDeep && known.startsWith(`${path}/`);
}

function overlap(worktree: string, path: string): boolean {
  return (
    `${path}/`.startsWith(`${worktree}/`) || `${worktree}/`.startsWith(path.endsWith("/") ? path : `${path}/`)
  );
}

const unseen: ReadonlyMap<string, FileState> = new Map();

/** What git reports as uncommitted, or another actor writes or keeps. What git or the project ignores is left out. */
async function uncommitted(
  services: Services,
  { rules }: Needs<"config">["config"],
  me: Asking,
  found: readonly WipedWork[],
): Promise<readonly WipedWork[]> {
  const { facts, engine } = services;
  const session = engine.state.sessions.live.get(me.actor.session);
  const left: WipedWork[] = [];
  for (const worktree of new Set(found.map(worktreeOf))) {
    const here = found.filter(one => worktreeOf(one) === worktree);
    const around = await facts.repository(worktree);
    const gitDir = "unreachable" in around ? null : around.gitDir;
    const files = here.filter(({ dir }) => !dir).map(({ file }) => file);
    const states = gitDir === null ? unseen : (await lookAt(services, { worktree, gitDir }, files)).states;
    for (const one of here) {
      const hold = engine.state.locks.holds.get(one.key);
      const isKept = hold !== undefined && one.held && lasts(hold);
      const state = states.get(one.file);
      const isDirty = state !== undefined && (state.staged || state.changed || state.untracked);
      // A file that could not be checked counts: its writes are known.
      const counts = one.dir ? isKept : state === undefined || (!state.ignored && (isDirty || isKept));
      if (!counts || (await rules.for(one.path, session)).ignores(one.path)) continue;
      if ((await isThere(services, one)) && (await isCopied(services, one)))
        left.push({
          ...one,
          isSeen: one.dir || state !== undefined,
          isOnlyHeld: one.held && (one.dir || isUnchanged(state)),
        });
    }
  }
  return left;
}

function worktreeOf({ path, file }: WipedWork): string {
  return path.slice(0, path.length - file.length - 1);
}

async function isThere({ facts }: Services, { path, dir }: WipedWork): Promise<boolean> {
  return dir || (await facts.stamped(path))?.stamp !== null;
}

/** Whether the command copies a file onto this one, as far as a pattern or a folder does not tell that. */
async function isCopied({ facts }: Services, { path, by: { copied } }: WipedWork): Promise<boolean> {
  if (copied === undefined) return true;
  const source = posix.join(copied.from, posix.relative(copied.to, path));
  return (await facts.stamped(source))?.stamp !== null;
}

type Check = ActionOf<"plain_files">;

const nothing = {
  did: "plain_files",
  ok: true,
  verdict: "allow",
  wiped: [],
  more: 0,
  waitedMs: 0,
  before: null,
  file: null,
  changedWhileWaiting: false,
  changedBy: null,
  unkept: [],
} as const;

/** What a guarded line needs: it asks for locks as an edit does. */
export type LineParts = "guard" | "edits" | "config" | "calls" | "points";

export async function plainFiles(
  event: HookEvent,
  action: Check,
  parts: Needs<LineParts>,
): Promise<HookOutcome> {
  const mode = parts.config.settings.values.treeGuard;
  if (mode === "off") return nothing;
  const actor = event.actor(action);
  if (action.agent !== undefined) signOfLife(event, action.session, action.agent);
  const me: Asking = { actor, ancestors: await ancestorsOf(event, action), lead: leadOf(parts, actor) };
  const all = await wipedWork(event, parts, me, action.named.wiped);
  const isTold = await wasTold(event, parts, action, actor, all);
  const found = isTold ? all.filter(({ isLead }) => !isLead) : all;
  const gitLocks = await heldGitLocks(event, actor, await gitLocksIn(event, action.named));
  const isLiving = gitLocks.length > 0 || found.some(({ left }) => left === null);
  // A line that does not run wipes nothing of ended sessions either.
  const shown = isLiving ? found.filter(({ left }) => left === null) : found;
  const verdict = plainVerdict(mode, { isWiping: found.length + gitLocks.length > 0, isLiving });
  const isDenied = verdict === "deny";
  if (verdict !== "allow" && parts.calls.decisions.isFirst(action, `wipe ${verdict}`)) {
    noteGitLocks(event, actor, gitLocks, isDenied);
    noteWiped(event, parts, actor, shown, isDenied);
  }
  const wiped = shown.slice(0, limits.guardFilesMax).map(one => wipedFile(event, one));
  const held = gitLocks.length === 0 ? {} : { gitLocks };
  const outcome = { ...nothing, verdict, wiped, more: shown.length - wiped.length, ...held };
  if (stops(event, verdict)) return outcome;
  const edits = await edited(event, parts, me, action.named.edited);
  return edits.length === 0 ? outcome : await locked(event, parts, action, me, edits, outcome);
}

/**
 * Whether the actor was told what this line wipes of the work of those for whom it works, and sent it again. The answer to this
 * event tells it, if not.
 */
async function wasTold(
  { facts, clock, delivery }: HookEvent,
  { guard: { confirmations } }: Needs<LineParts>,
  action: Check,
  actor: Actor,
  found: readonly WipedWork[],
): Promise<boolean> {
  const work = found.filter(({ isLead }) => isLead);
  if (work.length === 0) return true;
  const line = lineKey(actor, action.cwd, action.typed);
  const versions = new Map<string, string>();
  for (const { key, path } of work)
    versions.set(`wipes ${key}`, `${actorKey(actor)} ${(await facts.stamped(path))?.stamp}`);
  if (confirmations.isConfirmed(line, versions, action.toolUseId, clock.now())) return true;
  delivery.whenTold(isDelivered => {
    if (isDelivered) confirmations.told(line, versions, action.toolUseId, clock.now());
  });
  return false;
}

/** The paths that may be lock files of git and that the line removes or moves away. */
async function gitLocksIn(services: Services, { wiped, edited }: NamedFiles) {
  const gone = [...wiped.filter(({ isRemoved }) => isRemoved), ...edited.filter(({ isMoved }) => isMoved)];
  const found: { readonly name: string; readonly pattern: RegExp; readonly known: string }[] = [];
  for (const { name, path } of gone.filter(one => mayBeGitLock(one.path)))
    found.push({ ...(await placeOf(services, { name, path, isDeep: false, isRemoved: true })), name });
  return found;
}

/** Notes the decision in the trail. */
function noteGitLocks(
  event: HookEvent,
  actor: Actor,
  found: readonly HeldGitLock[],
  isDenied: boolean,
): void {
  const [first] = found;
  if (first === undefined) return;
  const { command: type, path: file, by, who } = first;
  const line = { ...decidedBy(event, actor), event: event.plan.event, type, rule: "guard", file };
  const why = `would remove a lock file that ${by}${who === null ? "" : ` of ${who}`} may hold`;
  event.recorder.note({ ...line, decision: isDenied ? "deny" : "note", why });
}

/** The line will not run. */
export async function releaseLineFiles(
  event: HookEvent,
  action: ActionOf<"release_line_files">,
  parts: Needs<LineParts>,
): Promise<HookOutcome | null> {
  await releaseLineEdits(event, parts, event.actor(action), action.toolUseId);
  return { did: "release_line_files", ok: true };
}

interface Edited {
  readonly file: FileRef;
  readonly isMoved: boolean;
}

/** The files to lock: those that are there, or that somebody holds. A pattern means those with known work or a holder. */
async function edited(
  event: HookEvent,
  parts: Needs<LineParts>,
  me: Asking,
  named: readonly EditedPath[],
): Promise<Edited[]> {
  const { facts, engine } = event;
  const found = new Map<string, Edited>();
  for (const { path, isMoved, isNearest } of named) {
    const real = await realOf(event, path, false);
    for (const one of isNearest ? [await nearest(event, real)] : knownIn(event, me, real)) {
      const files = await refs(event, "/", [one]);
      // A file that cannot be checked is one that an edit would not wait for either.
      const [file] = isRefusal(files) ? [] : files;
      if (file === undefined || (file.dir && !isMoved) || found.has(file.key)) continue;
      if ((await rulesFor(event, parts, me.actor.session, file)).ignores(pathOf(file))) continue;
      const isThere = (await facts.stamped(pathOf(file)))?.stamp !== null;
      if (isThere || engine.state.locks.heldPaths.touches(file.key, file.dir))
        found.set(file.key, { file, isMoved });
    }
  }
  return [...found.values()];
}

/** The first of these that is there: `path`, and its name in each folder above up to the top of its worktree. Else `path`. */
async function nearest({ facts }: Services, path: string): Promise<string> {
  const [folder, name] = [dirname(path), posix.basename(path)];
  const around = await facts.repository(folder);
  const top = "unreachable" in around ? folder : around.worktree;
  for (let at = folder; ; at = dirname(at)) {
    const found = posix.join(at, name);
    if (((await facts.stamped(found))?.stamp ?? null) !== null) return found;
    if (at === top || at === "/") return path;
  }
}

async function locked(
  event: HookEvent,
  parts: Needs<LineParts>,
  action: Check,
  { actor, ancestors }: Asking,
  edits: readonly Edited[],
  outcome: Extract<HookOutcome, { did: "plain_files"; ok: true }>,
): Promise<HookOutcome> {
  const { engine, clock, plan } = event;
  const { lineEdits } = parts.guard;
  const files = edits.map(({ file }) => file);
  const [first] = files;
  if (first === undefined) return outcome;
  const rules = await rulesFor(event, parts, actor.session, first);
  const wanted = { actor, files, ancestors, ticket: Number.POSITIVE_INFINITY };
  const untilMs = event.answerByMs - limits.firstByteMs;
  const longestMs = Math.max(0, Math.min(action.waitMs, rules.projectWaitMs, untilMs - clock.now()));
  const waitMs = keptAgainst(engine.state, wanted) === null ? longestMs : 0;
  // The line's other hooks, one for each rule that matches it, must not take its own locks for earlier ones.
  lineEdits.begins(
    action.toolUseId,
    edits.map(one => ({ ...one, isKept: isHeldBy(engine.state, one.file, actor) })),
  );
  const flight = lineFlight(action.toolUseId);
  const ask = { ...action, toolUseId: flight, waitMs, ancestors, files, yieldMs: rules.yieldMs };
  const { waited, delivered } = parts.edits.locks.ask(event, ask, actor);
  const { reply, waitedMs, before, change, isAbandoned } = await waited;
  if (isAbandoned && isRefusal(reply)) return contested("plain_files", event, wanted, files, reply);
  const would = isRefusal(reply) ? wouldWait(event, reply.code, waitMs) : {};
  const noted = { event: plan.event, type: toolOf(plan), actor, file: pathOf(first), files, ...would };
  const note = (more: Partial<LockAsked>) => {
    if (parts.calls.decisions.isFirst(action, `lock ${reply.ok}`))
      noteLock(event, { ...noted, ...more }, reply, waitedMs, before !== null);
  };
  if (isRefusal(reply)) note({ runs: refusalVerdict(reply.code) === "allow" });
  else event.grants.push(runs => note({ runs }));
  const blocked = isRefusal(reply) ? files.find(file => pathOf(file) === reply["path"]) : first;
  if (!event.observes)
    parts.edits.wakes.decided(event, { actor, file: blocked ?? first, prompt: action.promptId }, reply);
  if (isRefusal(reply)) {
    const refused = { ...contested("plain_files", event, wanted, files, reply), waitMs };
    // The line goes ahead, as a second writer.
    if (event.observes && refused.verdict === "deny") await writesBegin(event, parts, actor, edits, flight);
    else lineEdits.ended(action.toolUseId);
    return refused;
  }
  event.delivery.whenSettled(delivered);
  const changed = await change;
  const unkept = await writesBegin(event, parts, actor, edits, flight);
  const verdict =
    changed.changedWhileWaiting || unkept.length > 0 ? ("allow_with_note" as const) : outcome.verdict;
  const { changedFile, ...how } = changed;
  return { ...outcome, verdict, waitedMs, before, file: changedFile ?? pathOf(first), ...how, unkept };
}

/** The line writes these files now. Returns as `keepReplaced` does. */
async function writesBegin(
  event: HookEvent,
  { edits: { baselines, writers }, points }: Needs<LineParts>,
  actor: Actor,
  edits: readonly Edited[],
  flight: string,
): Promise<readonly string[]> {
  const files = edits.filter(({ file, isMoved }) => !file.dir && !isMoved).map(({ file }) => file);
  const unkept = await keepReplaced(event, points, files);
  for (const file of files) {
    await baselines.take(file);
    writeBegins(event, { writers }, actor, file, flight);
  }
  return unkept;
}

function wipedFile(services: Services, found: WipedWork): WipedFile {
  const { by, path, actor, left, held, yours, dir, isSeen, isOnlyHeld } = found;
  return {
    ...(isOnlyHeld ? { isOnlyHeld } : {}),
    isSeen,
    command: by.name,
    path: dir ? `${path}/` : path,
    ...(left === null ? ownerOf(services, actor) : { who: left.name }),
    doing: left === null ? taskOf(services, actor) : null,
    held,
    yours,
    ...(found.isLead ? ({ isLead: true } as const) : {}),
    leftMs: left === null ? null : Math.max(0, services.clock.wall() - left.wallMs),
  };
}

/** Where the file is: `path` ends with its name in its worktree. */
function placeOfPlainFiles({ path, file }: WipedWork): { readonly worktree: string; readonly file: string } {
  return { worktree: path.slice(0, -file.length - 1) || "/", file };
}

/** Notes the decision in the trail, with the command's name and no other word of the line. */
function noteWiped(
  event: HookEvent,
  { points }: Needs<LineParts>,
  actor: Actor,
  found: readonly WipedWork[],
  isDenied: boolean,
): void {
  const { plan, recorder } = event;
  const [first] = found;
  if (first === undefined) return;
  const line = { ...decidedBy(event, actor), event: plan.event, type: first.by.name, rule: "guard" };
  const files = found.slice(0, limits.guardFilesShownMax).map(({ file, actor: other, left, isOnlyHeld }) => ({
    file,
    who: left?.name ?? nameOf(event, other),
    hasEnded: left !== null,
    ...(isOnlyHeld ? { isOnlyHeld } : {}),
  }));
  const why = `would wipe ${workIn(files)}`;
  recorder.note({ ...line, file: first.path, decision: isDenied ? "deny" : "note", why });
  if (!stops(event, isDenied ? "deny" : "allow")) return;
  const works = found.filter(({ isOnlyHeld, dir }) => !isOnlyHeld && !dir);
  if (works.length === 0) return;
  const spared = { actor, command: first.by.name, count: works.length, files: works.map(placeOfPlainFiles) };
  for (const part of points) part.spared?.(spared, recorder);
}

/** Ends the write of a line's files; the locks stay for the rest of the turn. */
export async function endLineFlight({ engine }: Services, actor: Actor, toolUseId: string): Promise<void> {
  await engine.submitAndWait({ type: "flight_end", actor, flight: lineFlight(toolUseId), wrote: false });
}

/** Ends the write of a line's files, and releases those that the actor did not hold before. */
export async function endLineEdits(
  services: Services,
  { edits: { writers } }: Needs<"edits">,
  actor: Actor,
  toolUseId: string,
  ended: readonly LineEdit[],
): Promise<void> {
  if (ended.length === 0) return;
  const { engine } = services;
  for (const { file } of ended) writers.ended(file.key, lineFlight(toolUseId));
  await endLineFlight(services, actor, toolUseId);
  // A waiter may have been granted one of them by now.
  const files = ended.filter(({ file, isKept }) => !isKept && isHeldBy(engine.state, file, actor));
  if (files.length > 0)
    await engine.submitAndWait({ type: "lock_release", actor, files: files.map(({ file }) => file) });
}

/** The line will not run. */
export async function releaseLineEdits(
  services: Services,
  parts: Needs<"edits" | "guard">,
  actor: Actor,
  toolUseId: string,
): Promise<void> {
  await endLineEdits(services, parts, actor, toolUseId, parts.guard.lineEdits.ended(toolUseId));
}
