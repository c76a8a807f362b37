/** The action of an edit: it locks the edit's file. */

import { isAbsolute, relative } from "node:path";
import type { UncheckedWrite } from "../../../hooks/seam/actions.ts";
import type { MergeNote, UnseenChange } from "../../../hooks/seam/outcomes.ts";
import type { HookOutcome } from "../../../hooks/seam/slices.ts";
import type { Refusal } from "../../../protocol/codes.ts";
import { duration } from "../../../protocol/text.ts";
import type { Actor, FileRef } from "../../core/frame/actors.ts";
import type { Ask } from "../../core/locks/blockers.ts";
import type { Writer } from "../../core/tables/base-state.ts";
import type { Reply } from "../../core/tables/entries.ts";
import { actorRow, pathOf } from "../../core/tables/naming.ts";
import type { Services } from "../../options.ts";
import { isRefusal } from "../../server/call.ts";
import { signOfLife } from "../../sessions/proposals.ts";
import { decidedBy, noteIgnored, noteLock } from "../../trail/decisions.ts";
import { type ActionOf, ancestorsOf, contested, type HookEvent, refused, toolOf } from "../event.ts";
import type { EditMemory, Needs } from "../parts.ts";
import { wouldWait } from "../plan-filters.ts";
import type { HookPoints } from "../points.ts";
import { grantVerdict, refusalVerdict, stops } from "../verdict.ts";
import { keptAgainst, type LockAction, type Waited } from "./edit-lock.ts";

// Finds a change that an edit would undo because its agent does not know of it. It runs only for clients that do not refuse
// stale writes themselves. An edit of a file that nobody else wrote costs a look into the state.

/** What is known of such an edit when it has its lock. */
interface Locked {
  readonly files: readonly FileRef[];
  /** Keys of the files that it replaces or deletes. */
  readonly whole: ReadonlySet<string | undefined>;
  /** The file of whose change during the wait its answer tells; null: there is none. */
  readonly toldPath: string | null;
  /** It is denied for that change. */
  readonly isDenied: boolean;
}

/** Returns the first such change. Its actor counts as told when the answer is delivered, so the next try goes ahead. */
async function unseenChange(
  event: HookEvent,
  edits: EditMemory,
  { readAtMs }: UncheckedWrite,
  actor: Actor,
  { files, whole, toldPath, isDenied }: Locked,
): Promise<UnseenChange | null> {
  const { engine, facts } = event;
  const { seenWrites } = edits;
  let found: UnseenChange | null = null;
  let named = files.find(file => pathOf(file) === toldPath);
  for (const file of isDenied ? [] : files) {
    // Also where nothing is unseen: the report of a write from before its lock may come after it.
    if (!whole.has(file.key)) {
      seenWrites.changesPart(engine.state, actor, file.key);
      continue;
    }
    const last = seenWrites.unseen(engine.state, actor, file.key, readAtMs ?? null);
    if (last === null) continue;
    // Of a file that is gone there is nothing to lose.
    if (found !== null || (await facts.stamped(pathOf(file)))?.stamp === null) continue;
    found = changeBy(event, edits, last, file);
    named = file;
  }
  if (named !== undefined) noteTold(event, edits, actor, named);
  return found;
}

/** What stops an edit that has its lock: its file changed while it waited, or has a change that it would undo. */
interface Stale {
  readonly changedBy: { readonly name: string } | null;
  readonly changedFile: string | null;
  readonly unseen: UnseenChange | null;
}

/** Writes the line of such a denial. */
function noteStale(event: HookEvent, actor: Actor, { changedBy, changedFile, unseen }: Stale): void {
  const { plan, recorder } = event;
  const why =
    unseen === null
      ? `${changedBy?.name ?? "somebody"} changed it while the agent waited, and it would have been overwritten unread`
      : `${unseen.name} changed it ${duration(unseen.agoMs)} ago, and as far as Kite knows the agent has not read that`;
  const line = { ...decidedBy(event, actor), event: plan.event, type: toolOf(plan) };
  const file = unseen?.file ?? changedFile;
  recorder.note({ ...line, file, decision: "deny", rule: "stale", why });
}

/** The answer tells the actor of all that others wrote in the file until now. */
function noteTold(
  { engine, delivery }: HookEvent,
  { seenWrites }: EditMemory,
  actor: Actor,
  { key }: FileRef,
): void {
  const { seq } = engine.state;
  delivery.whenTold(isDelivered => {
    if (isDelivered) seenWrites.noteTold(actor, key, seq);
  });
}

function changeBy(
  { clock }: HookEvent,
  { writers }: EditMemory,
  { actor, name, wallMs }: Writer,
  file: FileRef,
): UnseenChange {
  const reported = writers.last(file.key);
  const isIts = reported?.session === actor.session && reported.agent === actor.agent;
  const lines = isIts ? reported.lines : null;
  return { file: pathOf(file), name, lines, agoMs: Math.max(0, clock.wall() - wallMs) };
}

/** What an edit needs. */
type EditNeeds = Needs<"edits" | "notes" | "points">;

export async function lock(event: HookEvent, action: LockAction, parts: EditNeeds): Promise<HookOutcome> {
  const { plan } = event;
  const { locks, wakes } = parts.edits;
  const actor = event.actor(action);
  const found = await lockable(event, action);
  if (isRefusal(found)) return refused("lock", found);
  const { files, projectWaitMs, yieldMs, keys, ignored } = found;
  const [first] = files;
  if (first === undefined) {
    for (const path of ignored) noteIgnored(event, plan.event, toolOf(plan), actor, path);
    return { did: "ignored", ok: true };
  }
  const ancestors = await ancestorsOf(event, action);
  const longestMs = Math.min(action.waitMs, projectWaitMs);
  const wanted = { actor, files, ancestors, ticket: Number.POSITIVE_INFINITY };
  const waitMs = keptAgainst(event.engine.state, wanted) === null ? longestMs : 0;
  const overwritten = action.overwrites.length === 0 ? none : keysOf(keys, action.overwrites);
  const request = { ...action, waitMs, ancestors, overwritten };
  if (action.agent !== undefined) signOfLife(event, action.session, action.agent);
  for (const file of files) event.presence.touched(action.session, pathOf(file), file.key);
  const { waited, delivered, isFirst } = locks.ask(event, { ...request, files, yieldMs }, actor);
  const answer = await waited;
  const { reply } = answer;
  const line = { event: plan.event, type: toolOf(plan), actor, file: action.file, files };
  const edit: Edit = { parts, action, wanted, found, first, waitMs, overwritten, isFirst, line };
  if (isRefusal(reply))
    return answer.isAbandoned ? refused("lock", reply) : refusedEdit(event, edit, answer, reply);
  if (!event.observes && wakes.sessions.size > 0)
    wakes.decided(event, { actor, file: first, prompt: action.promptId }, reply);
  event.delivery.whenSettled(delivered);
  return grantedEdit(event, edit, answer, reply);
}

/** An edit that asked for its locks, all of its files' or none. */
interface Edit {
  readonly parts: EditNeeds;
  readonly action: LockAction;
  readonly wanted: Ask;
  readonly found: Lockable;
  readonly first: FileRef;
  /** How long it would wait. */
  readonly waitMs: number;
  /** Keys of the files of which a change during the wait would be lost. */
  readonly overwritten: ReadonlySet<string | undefined>;
  /** This hook is the one for which the trail has its line. */
  readonly isFirst: boolean;
  readonly line: Pick<Parameters<typeof noteLock>[1], "event" | "type" | "actor" | "file" | "files">;
}

function refusedEdit(
  event: HookEvent,
  edit: Edit,
  { waitedMs, before }: Waited,
  reply: Refusal,
): HookOutcome {
  const { edits, points } = edit.parts;
  const { action, wanted, first, waitMs } = edit;
  const { files, actor } = wanted;
  if (edit.isFirst) {
    const line = { ...edit.line, ...wouldWait(event, reply.code, waitMs) };
    const runs = refusalVerdict(reply.code) === "allow";
    noteLock(event, runs ? { ...line, runs } : line, reply, waitedMs, before !== null);
  }
  const blocked = files.find(file => pathOf(file) === reply["path"]);
  if (!event.observes)
    edits.wakes.decided(event, { actor, file: blocked ?? first, prompt: action.promptId }, reply);
  const outcome = contested("lock", event, wanted, files, reply);
  // It goes ahead, as a second writer.
  if (event.observes && outcome.verdict === "deny") {
    void keepReplaced(event, points, files);
    for (const file of files) writeBegins(event, edits, actor, file, action.toolUseId);
  }
  return { ...outcome, waitMs };
}

async function grantedEdit(
  event: HookEvent,
  edit: Edit,
  { waitedMs, before, change }: Waited,
  reply: Exclude<Reply, Refusal>,
): Promise<HookOutcome> {
  const { plan } = event;
  const { edits, notes, points } = edit.parts;
  const { action, found, overwritten, isFirst, line } = edit;
  const { files, keys, ignored } = found;
  const { actor } = line;
  const changed = await change;
  const overwrites =
    overwritten !== none &&
    files.some(one => pathOf(one) === changed.changedFile && overwritten.has(one.key));
  const { unchecked } = action;
  // The client of nearly every edit checks this itself.
  const unseen =
    unchecked === undefined
      ? null
      : await unseenChange(event, edits, unchecked, actor, {
          files,
          whole: keysOf(keys, unchecked.whole),
          toldPath: changed.changedFile,
          isDenied: overwrites,
        });
  for (const file of files) void edits.baselines.take(file);
  const mergeRisks = takeRisks(event, notes, actor.session);
  const noted = { ...changed, unseen, mergeRisks };
  const isStopped = stops(event, grantVerdict({ overwrites }, { ...noted, unkept: [] }));
  const unkept = isStopped ? [] : await keepReplaced(event, points, files);
  const verdict = grantVerdict({ overwrites }, { ...noted, unkept });
  if (isFirst) noteLock(event, isStopped ? { ...line, runs: false } : line, reply, waitedMs, before !== null);
  if (isFirst && verdict === "deny") noteStale(event, actor, { ...changed, unseen });
  if (isStopped) {
    // The answer will tell the agent to read the file again, so nothing is written now.
    await event.engine.submitAndWait({
      type: "flight_end",
      actor,
      flight: action.toolUseId,
      wrote: false,
    });
  } else {
    for (const path of ignored) noteIgnored(event, plan.event, toolOf(plan), actor, path);
    for (const file of files) writeBegins(event, edits, actor, file, action.toolUseId);
  }
  const granted = { ...reply, token: String(reply["token"]) };
  return { did: "lock", ok: true, reply: granted, verdict, waitedMs, before, ...noted, unkept };
}

/**
 * Keeps what granted writes of these files replace. Returns the paths of files with uncommitted work of which there is no copy
 * after a short while. Where Kite only observes, nobody waits for that.
 */
export async function keepReplaced(
  { observes }: Pick<HookEvent, "observes">,
  points: HookPoints,
  files: readonly FileRef[],
): Promise<readonly string[]> {
  const unkept: string[] = [];
  for (const part of points) {
    const keeping = part.writesBegin?.(files);
    if (keeping !== undefined && !observes) unkept.push(...(await keeping));
  }
  return unkept;
}

/** The files of an edit that their projects do not ignore, each once, and the shortest of the times that these set. */
interface Lockable {
  readonly files: readonly FileRef[];
  readonly projectWaitMs: number;
  readonly yieldMs: number;
  /** The paths of the others. */
  readonly ignored: readonly string[];
  /** The files' keys, by their names in the action. */
  readonly keys: ReadonlyMap<string, string>;
}

const none: ReadonlySet<string | undefined> = new Set();

function keysOf(keys: Lockable["keys"], names: readonly string[]): ReadonlySet<string | undefined> {
  return new Set(names.map(name => keys.get(name)));
}

async function lockable(event: HookEvent, action: LockAction): Promise<Lockable | Refusal> {
  const files = new Map<string, FileRef>();
  const keys = new Map<string, string>();
  const ignored: string[] = [];
  let [projectWaitMs, yieldMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const name of [action.file, ...(action.moreFiles ?? [])]) {
    const found = await event.ruledFile({ session: action.session, cwd: action.cwd, file: name });
    if (isRefusal(found)) return found;
    const { file, rules } = found;
    const path = pathOf(file);
    if (rules.ignores(path)) {
      ignored.push(path);
      continue;
    }
    keys.set(name, file.key);
    if (!files.has(file.key)) files.set(file.key, { ...file, file: nearName(action.cwd, name) });
    projectWaitMs = Math.min(projectWaitMs, rules.projectWaitMs);
    yieldMs = Math.min(yieldMs, rules.yieldMs);
  }
  return { files: [...files.values()], ignored, projectWaitMs, yieldMs, keys };
}

/** The tool writes the file now, as far as anybody knows until its end is reported. */
export function writeBegins(
  { engine, clock }: Pick<Services, "engine" | "clock">,
  { writers }: Pick<EditMemory, "writers">,
  actor: Actor,
  file: FileRef,
  flight: string,
): void {
  const { session, agent } = actor;
  const { name } = actorRow(engine.state, actor);
  writers.began(file.key, { session, agent, name, at: clock.now(), flight });
}

/** Merge risks that the session was not told of. They count as told when the answer is delivered. */
function takeRisks(
  { engine, delivery }: HookEvent,
  { risks }: EditNeeds["notes"],
  session: string,
): readonly MergeNote[] {
  if (!engine.state.risksOf.has(session) && !risks.has(session)) return [];
  return risks.offer(engine.state, session, delivery, ids =>
    engine.submitWithRetry({ type: "notes_told", session, agent: null, notes: [], risks: ids }),
  );
}

/** The file's name relative to `cwd` if it lies below `cwd`; else its name as it is. */
function nearName(cwd: string, file: string): string {
  const near = relative(cwd, file);
  return isAbsolute(file) && near !== "" && !near.startsWith("..") ? near : file;
}

// The action that refuses a step which would write Kite's own files.

type CheckAction = ActionOf<"check_own_files">;

/** Returns null if none of the files is Kite's. A file that cannot be read in time counts by its path alone. */
export async function checkOwnFiles(
  event: HookEvent,
  action: CheckAction,
  { config: { ownFiles }, calls }: Needs<"config" | "calls">,
): Promise<HookOutcome | null> {
  const { session, cwd, files } = action;
  await ownFiles.place(event);
  for (const file of files) {
    const found = await event.ruledFile({ session, cwd, file });
    const ref = isRefusal(found) ? { lexical: event.facts.lexical(cwd, file), key: null } : found.file;
    const name = ownFiles.nameOf(ref);
    if (name === null) continue;
    if (calls.decisions.isFirst(event.plan, `own ${ref.lexical}`)) noteRefusal(event, action, ref.lexical);
    return { did: "check_own_files", ok: true, verdict: "deny", name, path: ref.lexical };
  }
  return null;
}

function noteRefusal(event: HookEvent, action: CheckAction, file: string): void {
  const { plan, recorder } = event;
  const actor = event.actor(action);
  const line = { ...decidedBy(event, actor), event: plan.event, type: toolOf(plan), rule: "own_files" };
  const { at, name } = line;
  const code = "person_only";
  const error = "it is Kite's own file: only a person changes it";
  recorder.refused(
    { at, type: plan.event, id: actor.session, name, file, code, error },
    { ...line, file, decision: "deny", code, why: error },
  );
}
