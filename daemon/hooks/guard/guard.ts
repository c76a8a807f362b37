/**
 * Guards git commands in a shell line that reach others' uncommitted work.
 *
 * The order is that of an edit. First the guard locks the indexes of all repositories concerned, and waits in their
 * queues. With these locks it checks which files the commands would include or wipe. If no other session holds or wrote
 * a file in the worktree, the guard does not run git. If one did and the check takes too long, all files it wrote that
 * the command names count as reached.
 */

import type { HookOutcome } from "../../../hooks/seam/slices.ts";
import type { GuardFinding } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Actor, FileRef } from "../../core/frame/actors.ts";
import { holdsOf } from "../../core/locks/release.ts";
import type { State } from "../../core/state.ts";
import type { Hold } from "../../core/tables/base-state.ts";
import { rowsOfActor } from "../../core/tables/locks.ts";
import { isAlive } from "../../core/tables/naming.ts";
import type { Services } from "../../options.ts";
import { isRefusal } from "../../server/call.ts";
import { signOfLife } from "../../sessions/proposals.ts";
import { decidedBy } from "../../trail/decisions.ts";
import { narrowed } from "../../worktree/pathspec.ts";
import { type Asking, indexOf } from "../../worktree/uncommitted.ts";
import { settleGrants } from "../edits/edit-lock.ts";
import { type ActionOf, ancestorsOf, contested, type HookEvent, leadOf } from "../event.ts";
import type { Needs } from "../parts.ts";
import { wouldWait } from "../plan-filters.ts";
import { guardVerdict, stops } from "../verdict.ts";
import { commitsOf } from "./authors.ts";
import { commitLinesBegin } from "./commit-lines.ts";
import { blindLook, type Candidate, findingsOf, looksAt, type Placed, placeKey, workOf } from "./findings.ts";
import { headCandidates, headLineBegins } from "./heads.ts";
import { type CommitLook, lineKey, type Reached, type Versions } from "./memory.ts";
import { aliasedBy, displacedCandidates, inTime, placesOf, supposed, withoutIndex } from "./places.ts";
import { type LineParts, releaseLineEdits } from "./plain-files.ts";
import {
  blindStashCandidates,
  type StashUsers,
  stashCandidates,
  stashesBefore,
  stashUsers,
  supposedStashUsers,
  unseenStashes,
} from "./stashes.ts";
import { lineFor } from "./taken-work.ts";

type Guard = ActionOf<"guard">;

type Looked = Extract<HookOutcome, { did: "guard"; ok: true }>;

/** What a guarded line needs besides: the notices that its actor was not told yet. */
type GuardParts = LineParts | "notes";

export async function guard(event: HookEvent, action: Guard, parts: Needs<GuardParts>): Promise<HookOutcome> {
  const mode = parts.config.settings.values.treeGuard;
  const nothing = { findings: [], aliased: [], unchecked: null, waitedMs: 0, before: null };
  const alone: Looked = { did: "guard", ok: true, verdict: guardVerdict(mode, []), ...nothing };
  if (mode === "off") return alone;
  const actor = event.actor(action);
  if (action.agent !== undefined) signOfLife(event, action.session, action.agent);
  const looking = looked(event, parts, action, actor, alone);
  // A client without an answer lets the command run, so the guard answers before that by what it knows.
  const leftMs = event.answerByMs - event.clock.now();
  const decided = await inTime(looking, Math.max(0, leftMs), () => {
    const unknown = `that took longer than ${limits.guardAnswerMs / 1000} s`;
    const me: Asking = { actor, ancestors: action.ancestors, lead: leadOf(parts, actor) };
    const placed = action.commands.flatMap((one, n) => supposed(event, me, action, n, { ...one, unknown }));
    const looks = new Map(placed.map(one => [placeKey(one), blindLook(event, me, one)]));
    const stashes = blindStashCandidates(event, me, supposedStashUsers(event, action, placed));
    const { all } = findingsOf(event, placed, looks);
    const findings = [...all, ...stashes, ...displacedCandidates(event, me, placed)].map(
      ({ finding }) => finding,
    );
    const drop = () => releaseIndexes(event, actor, action.toolUseId);
    const verdict = guardVerdict(mode, findings);
    // Whatever the check finds, the line will not run.
    if (stops(event, verdict)) void looking.then(drop, drop);
    return { ...undecided, outcome: { ...alone, verdict, findings, unchecked: unknown } };
  });
  const { outcome, line, shown, asks, passed } = decided;
  // The line will not run, so it changes none of the files that it names.
  if ("verdict" in outcome && stops(event, outcome.verdict)) {
    settleGrants(event.grants, false);
    await releaseLineEdits(event, parts, actor, action.toolUseId);
  }
  event.delivery.whenTold(isDelivered => {
    for (const versions of isDelivered ? shown : [])
      parts.guard.confirmations.told(line, versions, action.toolUseId, event.clock.now());
    if (isDelivered) parts.guard.commitLines.asked(action.toolUseId, asks);
  });
  // Every client is gone, and nothing was decided.
  if (!outcome.ok && event.call.connection.isClosed) return outcome;
  return noted(event, parts, action, actor, outcome, passed);
}

interface Decided {
  readonly outcome: HookOutcome;
  readonly line: string;
  /** What sending the same line again confirms, once the answer is delivered. */
  readonly shown: readonly Versions[];
  /** What it asked about for the only time, once the answer is delivered. */
  readonly asks: readonly string[];
  /** What the actor was told before; it has sent the line again. */
  readonly passed: readonly GuardFinding[];
}

const undecided = { line: "", shown: [], asks: [], passed: [] } as const;

async function looked(
  event: HookEvent,
  parts: Needs<GuardParts>,
  action: Guard,
  actor: Actor,
  alone: Looked,
): Promise<Decided> {
  const until = event.answerByMs - limits.firstByteMs;
  const me: Asking = { actor, ancestors: await ancestorsOf(event, action), lead: leadOf(parts, actor) };
  const aliased = await aliasedBy(event, action);
  const { placed, unchecked } = await placesOf(event, me, action, [...action.commands, ...aliased]);
  const files = indexesOf(event, placed);
  let waits: Pick<Looked, "waitedMs" | "before"> = { waitedMs: 0, before: null };
  let refused: HookOutcome | null = null;
  if (files.length > 0) {
    // A waiter that waits in vain is told so before the time for an answer is over.
    const waitMs = Math.max(0, Math.min(action.waitMs, until - event.clock.now()));
    const ask = { ...action, waitMs, ancestors: me.ancestors, files, yieldMs: 0 };
    const { waited, delivered } = parts.edits.locks.ask(event, ask, actor);
    const { reply, waitedMs, before } = await waited;
    if (isRefusal(reply)) refused = contested("guard", event, me, files, reply);
    const isChecked = refused?.ok === false && (event.observes || withoutIndex.has(refused.refusal.code));
    if (refused !== null && !isChecked) return { ...undecided, outcome: refused };
    if (refused === null) event.delivery.whenSettled(delivered);
    waits = { waitedMs, before };
  }
  const looks = await looksAt(event, me, placed);
  const narrow = await narrowed(event, placed, one => {
    const { foreign = [], seen } = looks.get(placeKey(one)) ?? {};
    return { files: foreign.map(({ file }) => file), states: seen?.states ?? new Map() };
  });
  const { all, unseen, reached } = findingsOf(event, narrow.placed, looks);
  const stashing = await stashUsers(event, action, [...action.commands, ...aliased], placed);
  const takes = await stashCandidates(event, me, stashing, placed);
  const before = parts.guard.commitLines.askedBefore(action.toolUseId);
  const commits = await commitsOf(event, actor, placed, before);
  const heads = [...(await headCandidates(event, parts, me, placed)), ...commits.candidates];
  const candidates = [...all, ...takes, ...displacedCandidates(event, me, placed), ...heads];
  const { shown, passed, line } = await notYetTold(event, parts, actor, action, candidates);
  const findings = shown.map(({ finding }) => finding);
  const verdict = guardVerdict(parts.config.settings.values.treeGuard, findings);
  if (stops(event, verdict)) {
    // The line will not run.
    await releaseIndexes(event, actor, action.toolUseId);
  } else {
    await lineBegins(event, parts, action, actor, { placed, reached, stashing, looks: commits.looks });
  }
  if (refused !== null && findings.length === 0) return { ...undecided, outcome: refused };
  const whys = [unchecked, unseen, narrow.unseen, unseenStashes(stashing)].filter(why => why !== null);
  const unlooked = whys.length === 0 ? null : whys.join("; ");
  const outcome = { ...alone, verdict, findings, aliased, unchecked: unlooked, ...waits };
  const asks = shown.flatMap(one => one.asks ?? []);
  return { outcome, line, shown: shown.flatMap(({ versions }) => versions ?? []), asks, passed };
}

/** Notes what the line may take before it runs. */
async function lineBegins(
  event: HookEvent,
  { guard }: Needs<LineParts>,
  action: Guard,
  actor: Actor,
  line: {
    readonly placed: readonly Placed[];
    readonly reached: readonly Reached[];
    readonly stashing: readonly StashUsers[];
    readonly looks: readonly CommitLook[];
  },
): Promise<void> {
  const { placed, reached, stashing, looks } = line;
  const known = placed.filter(one => one.blind === undefined && one.command.reach !== "refs");
  guard.gitCommands.began(action.toolUseId, await lineFor(event, known, reached));
  const lists = stashesBefore(stashing).map(list => ({ ...list, actor, prompt: action.promptId }));
  guard.stashLines.began(action.toolUseId, lists, other => isAlive(event.engine.state, other));
  headLineBegins(guard.heads, actor, action.toolUseId, placed);
  await commitLinesBegin(event, guard.commitLines, action, actor, looks);
}

/** A finding of which the actor was not told yet. */
interface Untold extends Pick<Candidate, "finding" | "asks"> {
  readonly versions: Versions | null;
}

/** The indexes that the commands write, each once. */
function indexesOf(services: Services, placed: readonly Placed[]): readonly FileRef[] {
  const writing = placed.filter(
    ({ blind, isSupposed, command: { needsIndex = true } }) =>
      blind === undefined && !isSupposed && needsIndex,
  );
  return [...new Map(writing.map(({ place }) => [place.gitDir, indexOf(services, place)])).values()];
}

/** Splits what the line reaches into what the actor is to be told and what it was told before and sent again. */
async function notYetTold(
  { clock }: HookEvent,
  { guard: { confirmations, commitLines }, config }: Needs<LineParts>,
  actor: Actor,
  action: Guard,
  all: readonly Candidate[],
): Promise<{
  readonly line: string;
  readonly shown: readonly Untold[];
  readonly passed: readonly GuardFinding[];
}> {
  const line = lineKey(actor, action.cwd, action.typed);
  const asked = commitLines.askedBefore(action.toolUseId);
  const untold: Untold[] = [];
  const passed: GuardFinding[] = [];
  for (const candidate of all) {
    const { finding } = candidate;
    const versions = finding.verdict === "deny" ? null : await candidate.versions();
    const now = clock.now();
    const isKnown =
      versions !== null &&
      (confirmations.isConfirmed(line, versions, action.toolUseId, now) ||
        candidate.asks?.every(key => asked.has(key)) === true);
    if (isKnown) passed.push(finding);
    else untold.push({ finding, versions, asks: candidate.asks });
  }
  // A denied line cannot be sent again as it is, so the answer names only what denies it. What it does to HEAD and to commits is
  // named, too: it may be sent again when what denies it is over, and is then not refused once more.
  const isDenied =
    config.settings.values.treeGuard === "deny" && untold.some(({ finding }) => finding.verdict === "deny");
  const shown = untold.filter(
    ({ finding: { verdict, head, commits } }) =>
      !isDenied || verdict === "deny" || head !== undefined || commits !== undefined,
  );
  return { line, shown, passed };
}

/** Ends the write of a tool use that will write no more, and releases the indexes locked for it. */
export async function releaseIndexes({ engine }: Services, actor: Actor, flight: string): Promise<void> {
  const mine = heldBy(engine.state, actor).filter(({ flights }) => flights.includes(flight));
  if (mine.length === 0) return;
  await engine.submitAndWait({ type: "flight_end", actor, flight, wrote: false });
  // An index with a waiter was released with the end of the write.
  for (const file of mine.filter(isIndex))
    await engine.submitAndWait({ type: "lock_release", actor, files: [file] });
}

function heldBy(state: State, actor: Actor): Hold[] {
  return rowsOfActor(state.locks.actors, actor).flatMap(row => holdsOf(state, row));
}

/**
 * Releases the indexes of a command that waits for a person: it writes nothing meanwhile. No event reports the person's
 * answer. If that is no, only the lease would end the lock.
 */
export async function releaseIndex(
  event: HookEvent,
  action: ActionOf<"release_index">,
): Promise<HookOutcome | null> {
  const actor = event.actor(action);
  const taken = heldBy(event.engine.state, actor).filter(isIndex);
  for (const flight of new Set(taken.flatMap(hold => hold.flights)))
    await releaseIndexes(event, actor, flight);
  return { did: "release_index", ok: true };
}

/** Whether the lock was taken for a git command. The lock of an edit does not yield to a waiter at once. */
function isIndex({ kind, yieldMs }: Hold): boolean {
  return kind === "turn" && yieldMs === 0;
}

/** A finding that denies is of a command that wipes; one that only asks to be sent again may commit what it reaches. */
function tellSpared(
  { recorder }: HookEvent,
  { points }: Needs<LineParts>,
  actor: Actor,
  command: string,
  findings: readonly GuardFinding[],
): void {
  const wiping = findings.filter(({ verdict }) => verdict === "deny");
  const files = wiping.flatMap(({ worktree, foreign }) =>
    foreign.flatMap(({ file, isOnlyHeld }) => (isOnlyHeld ? [] : [{ worktree, file }])),
  );
  const count = files.length + wiping.reduce((sum, { more }) => sum + more, 0);
  if (files.length === 0) return;
  for (const part of points) part.spared?.({ actor, command, count, files }, recorder);
}

/** Notes the decision in the trail, with the first word of the line and no other. */
function noted(
  event: HookEvent,
  parts: Needs<LineParts>,
  action: Guard,
  actor: Actor,
  outcome: HookOutcome,
  passed: readonly GuardFinding[],
): HookOutcome {
  const { plan, recorder } = event;
  const type = action.commands[0]?.name ?? action.line;
  const line = { ...decidedBy(event, actor), event: plan.event, type, rule: "guard" };
  const isFirst = (decision: string) => parts.calls.decisions.isFirst(action, `guard ${decision}`);
  if (!outcome.ok) {
    const { code, error } = outcome.refusal;
    const { at, name } = line;
    const decision = outcome.verdict === "deny" ? "deny" : "note";
    if (!isFirst(decision)) return outcome;
    recorder.refused(
      { at, type, id: actor.session, name, file: null, code, error },
      { ...line, file: null, decision, code, why: error, ...wouldWait(event, code, action.waitMs) },
    );
    return outcome;
  }
  if (outcome.did !== "guard") return outcome;
  const { findings, unchecked, waitedMs: ms, before, verdict } = outcome;
  const times = before === null ? { ms } : { ms, waitedMs: ms };
  const [first] = findings;
  if (first === undefined) {
    const unseen = [action.unread, unchecked].filter(why => why !== null).join("; ");
    const whys = [
      ...passed.map(finding => `was told and sent it again, reaches ${workOf(finding)}`),
      ...(unseen === "" ? [] : [`not looked at: ${unseen}`]),
    ];
    const why = whys.length === 0 ? {} : { why: whys.join("; ") };
    event.grants.push(runs => {
      if (runs && isFirst("allow"))
        recorder.note({ ...line, file: null, decision: "allow", ...times, ...why });
    });
    return outcome;
  }
  const work = workOf(first);
  const why =
    first.unseen === undefined
      ? `would reach ${work}`
      : `could not be looked at (${first.unseen}); may reach ${work}`;
  const file = first.foreign[0] === undefined ? null : `${first.worktree}/${first.foreign[0].file}`;
  if (!isFirst(verdict)) return outcome;
  recorder.note({ ...line, file, decision: verdict === "deny" ? "deny" : "note", ...times, why });
  if (stops(event, verdict)) tellSpared(event, parts, actor, type, findings);
  return outcome;
}
