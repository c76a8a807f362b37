/**
 * Git commands in a shell line that reach others' uncommitted work.
 *
 * The order is that of an edit: first the indexes of all repositories concerned are taken, waiting in line for whoever
 * writes them now; then, with these in hand, it is looked at what the commands would take or wipe. Where nobody else
 * holds or wrote anything in the worktree, git is not asked at all. Where somebody did and it cannot be looked at in
 * time, all they wrote that the command names counts as in its reach.
 */

import type { HookOutcome } from "../../hooks/seam/plan.ts";
import type { GuardFinding } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/actor.ts";
import { locksOf } from "../core/locks/by-actor.ts";
import { holdsOf } from "../core/locks/release.ts";
import { actorRow } from "../core/locks/replies.ts";
import type { Lineage } from "../core/sessions/kinship.ts";
import type { Hold, State } from "../core/state.ts";
import { isRefusal } from "../server/call.ts";
import { signOfLife } from "../sessions/commands.ts";
import { narrowed } from "../worktree/changed-by.ts";
import { indexOf } from "../worktree/uncommitted.ts";
import { type ActionOf, actorOfAction, ancestorsOf, contested, type Run } from "./action.ts";
import { aliasedBy } from "./git-guard-alias.ts";
import {
  blindLook,
  type Candidate,
  findingsOf,
  looksAt,
  placeKey,
  versionsOf,
  workOf,
} from "./git-guard-findings.ts";
import { lineKey, type Versions } from "./git-guard-memory.ts";
import { placesOf, supposed } from "./git-guard-places.ts";
import { lineFor } from "./git-guard-taken.ts";
import { inTime, withoutIndex } from "./git-guard-unseen.ts";
import type { HookServices } from "./hook-services.ts";

type Guard = ActionOf<"guard">;

type Looked = Extract<HookOutcome, { did: "guard"; ok: true }>;

export async function guard(run: Run, asked: Guard): Promise<HookOutcome> {
  const { services } = run;
  const mode = services.treeGuard;
  const nothing = { findings: [], aliased: [], unchecked: null, waitedMs: 0, before: null };
  const alone: Looked = { did: "guard", ok: true, mode, ...nothing };
  if (mode === "off") return alone;
  const actor = actorOfAction(run, asked);
  if (asked.agent !== undefined) signOfLife(services, asked.session, asked.agent);
  const looking = looked(run, asked, actor, alone);
  // A client that hears nothing lets the command run: it is answered before that, by what is known.
  const decided = await inTime(looking, limits.guardAnswerMs, () => {
    const unknown = `that took longer than ${limits.guardAnswerMs / 1000} s`;
    const me = { actor, ancestors: asked.ancestors };
    const placed = asked.commands.flatMap((given, n) =>
      supposed(services, me, asked, n, { ...given, unknown }),
    );
    const looks = new Map(placed.map(one => [placeKey(one), blindLook(services, me, one)]));
    const findings = findingsOf(services, placed, looks).all.map(({ finding }) => finding);
    const drop = () => letGo(services, actor, asked.toolUseId);
    // Whatever it comes to, the line will not run.
    if (findings.length > 0 && mode === "deny") void looking.then(drop, drop);
    return { ...undecided, outcome: { ...alone, findings, unchecked: unknown } };
  });
  const { outcome, line, said, passed } = decided;
  run.delivery.whenSettled(heard => {
    for (const versions of heard ? said : [])
      services.guardTold.told(line, versions, asked.toolUseId, services.clock.now());
  });
  // Every client has gone: nothing was decided.
  if (!outcome.ok && run.call.connection.isClosed) return outcome;
  return noted(run, asked, actor, outcome, passed);
}

interface Decided {
  readonly outcome: HookOutcome;
  readonly line: string;
  /** What the answer tells that the same line, sent again, confirms. */
  readonly said: readonly Versions[];
  /** What the actor was told before, and sent again. */
  readonly passed: readonly GuardFinding[];
}

const undecided = { line: "", said: [], passed: [] } as const;

async function looked(run: Run, asked: Guard, actor: Actor, alone: Looked): Promise<Decided> {
  const { services } = run;
  const { clock } = services;
  const until = clock.now() + limits.guardAnswerMs - limits.firstByteMs;
  const me: Lineage = { actor, ancestors: await ancestorsOf(services, asked) };
  const aliased = await aliasedBy(services, asked);
  const { placed, unchecked } = await placesOf(services, me, asked, [...asked.commands, ...aliased]);
  const indexes = new Map(
    placed.flatMap(({ place, blind, isSupposed }) =>
      blind === undefined && !isSupposed ? [[place.gitDir, indexOf(services, place)] as const] : [],
    ),
  );
  const files = [...indexes.values()];
  let waits: Pick<Looked, "waitedMs" | "before"> = { waitedMs: 0, before: null };
  let refused: HookOutcome | null = null;
  if (files.length > 0) {
    // Whoever waited in vain is told so before the time for an answer is over.
    const waitMs = Math.max(0, Math.min(asked.waitMs, until - clock.now()));
    const ask = { ...asked, waitMs, ancestors: me.ancestors, files, yieldMs: 0 };
    const { waited, delivered } = services.hookLocks.ask(services, run.call, ask, actor);
    const { reply, waitedMs, before } = await waited;
    if (isRefusal(reply)) refused = contested("guard", services, actor, files, reply);
    if (refused?.ok === false && !withoutIndex.has(refused.refusal.code))
      return { ...undecided, outcome: refused };
    if (refused === null) run.delivery.whenSettled(delivered);
    waits = { waitedMs, before };
  }
  const looks = await looksAt(services, me, placed);
  const narrow = await narrowed(services, placed, one => {
    const { foreign = [], seen } = looks.get(placeKey(one)) ?? {};
    return { files: foreign.map(({ file }) => file), states: seen?.states ?? new Map() };
  });
  const { all, unseen, reached } = findingsOf(services, narrow.placed, looks);
  const { said, passed, line } = await untold(services, actor, asked, all);
  const findings = said.map(({ finding }) => finding);
  if (findings.length > 0 && alone.mode === "deny") {
    // The line will not run.
    await letGo(services, actor, asked.toolUseId);
  } else {
    const known = placed.filter(one => one.blind === undefined);
    services.guarded.began(asked.toolUseId, await lineFor(services, known, reached));
  }
  if (refused !== null && findings.length === 0) return { ...undecided, outcome: refused };
  const whys = [unchecked, unseen, narrow.unseen].filter(why => why !== null);
  const unlooked = whys.length === 0 ? null : whys.join("; ");
  const outcome = { ...alone, findings, aliased, unchecked: unlooked, ...waits };
  return { outcome, line, said: said.flatMap(({ versions }) => versions ?? []), passed };
}

/** Of what the line reaches, what the actor is to be told, and what it was told before and sent again. */
async function untold(
  services: HookServices,
  actor: Actor,
  asked: Guard,
  all: readonly Candidate[],
): Promise<{
  readonly line: string;
  readonly said: readonly { readonly finding: GuardFinding; readonly versions: Versions | null }[];
  readonly passed: readonly GuardFinding[];
}> {
  const line = lineKey(actor, asked.cwd, asked.typed);
  const told: { readonly finding: GuardFinding; readonly versions: Versions | null }[] = [];
  const passed: GuardFinding[] = [];
  for (const candidate of all) {
    const { finding } = candidate;
    const versions = finding.verdict === "deny" ? null : await versionsOf(services, candidate);
    const now = services.clock.now();
    const isKnown = versions !== null && services.guardTold.knows(line, versions, asked.toolUseId, now);
    if (isKnown) passed.push(finding);
    else told.push({ finding, versions });
  }
  // A line that is denied is told of nothing else: it cannot be sent again as it is.
  const isDenied = services.treeGuard === "deny" && told.some(({ finding }) => finding.verdict === "deny");
  const said = told.filter(({ finding }) => !isDenied || finding.verdict === "deny");
  return { line, said, passed };
}

/** Ends the flight of a tool use that will write no more, and gives up the indexes that were taken for it. */
export async function letGo({ engine }: HookServices, actor: Actor, flight: string): Promise<void> {
  const mine = heldBy(engine.state, actor).filter(({ flights }) => flights.includes(flight));
  if (mine.length === 0) return;
  await engine.submitAndWait({ type: "flight_end", actor, flight, wrote: false });
  // One that another one waits for has gone already, with the end of the flight.
  for (const file of mine.filter(isIndex))
    await engine.submitAndWait({ type: "lock_release", actor, files: [file] });
}

function heldBy(state: State, actor: Actor): Hold[] {
  const row = locksOf(state.locks.actors, actor);
  return row === undefined ? [] : holdsOf(state, row);
}

/**
 * A command that waits for a person writes nothing: others may write its indexes meanwhile. Nothing tells when the
 * person answers, and where the answer is no, nothing would end its turn at them but the lease.
 */
export async function indexEnd(run: Run, action: ActionOf<"index_end">): Promise<HookOutcome> {
  const { services } = run;
  const actor = actorOfAction(run, action);
  const taken = heldBy(services.engine.state, actor).filter(isIndex);
  for (const flight of new Set(taken.flatMap(hold => hold.flights))) await letGo(services, actor, flight);
  return { did: "index_end", ok: true };
}

/** Taken for a git command: an edit's hold withstands a waiter for a while. */
function isIndex({ kind, yieldMs }: Hold): boolean {
  return kind === "turn" && yieldMs === 0;
}

/** A line in the trail for what was decided: the first word of the line, never more of it. */
function noted(
  run: Run,
  asked: Guard,
  actor: Actor,
  outcome: HookOutcome,
  passed: readonly GuardFinding[],
): HookOutcome {
  const { services, plan } = run;
  const { name } = actorRow(services.engine.state, actor);
  const project = services.engine.state.sessions.live.get(actor.session)?.project ?? null;
  const at = services.clock.wall();
  const { session: id, agent } = actor;
  const type = asked.commands[0]?.name ?? asked.line;
  const line = { at, event: plan.event, id, agent, name, project, type } as const;
  if (!outcome.ok) {
    const { code, error } = outcome.refusal;
    services.recorder.refused(
      { at, type, id, name, file: null, code, error },
      { ...line, file: null, decision: "deny", code, why: error },
    );
    return outcome;
  }
  if (outcome.did !== "guard") return outcome;
  const { findings, unchecked, waitedMs: ms, mode } = outcome;
  const [first] = findings;
  if (first === undefined) {
    const unseen = [asked.unread, unchecked].filter(why => why !== null).join("; ");
    const whys = [
      ...passed.map(finding => `was told and sent it again, reaches ${workOf(finding)}`),
      ...(unseen === "" ? [] : [`not looked at: ${unseen}`]),
    ];
    const why = whys.length === 0 ? {} : { why: whys.join("; ") };
    services.recorder.note({ ...line, file: null, decision: "allow", ms, ...why });
    return outcome;
  }
  const reach = `would reach ${workOf(first)}`;
  const why = first.unseen === undefined ? reach : `could not be looked at (${first.unseen}); ${reach}`;
  const file = first.foreign[0] === undefined ? null : `${first.worktree}/${first.foreign[0].file}`;
  services.recorder.note({ ...line, file, decision: mode === "deny" ? "deny" : "note", ms, why });
  return outcome;
}
