/**
 * HEAD is one for all who work in a checkout. What a guarded line does to it, and to an operation in progress, is judged by who
 * else is at work there; what changed is told to each of them once.
 *
 * An actor that is alone in its worktree reads nothing here. What cannot be read refuses nothing.
 */

import type { AtWork, GuardFinding, HeadFinding, HeadMove, HeadPlace } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Actor, actorKey } from "../../core/frame/actors.ts";
import { countPresent } from "../../core/sessions/room.ts";
import type { HeadRow, Operation } from "../../core/tables/heads.ts";
import { noteKey, type Whose } from "../../core/tables/messages.ts";
import { isAlive, type Lineage } from "../../core/tables/naming.ts";
import { idOfKey } from "../../core/tables/sessions.ts";
import { isSamePlace } from "../../core/work/head-moves.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../options.ts";
import { nameOf } from "../../views/sessions.ts";
import { ownIn, worksIn } from "../../worktree/uncommitted.ts";
import { type ActionOf, type Answer, type HookEvent, taskOf } from "../event.ts";
import type { Needs } from "../parts.ts";
import { movesSeen } from "./commit-lines.ts";
import type { Candidate, Placed } from "./findings.ts";
import { type Move, moveOf, wayOf } from "./head-targets.ts";
import type { HeadLines } from "./memory.ts";

// Who works in a worktree.

/** Whether no other actor works where the session does: two looks, however many sessions there are. */
function isAlone({ engine, presence }: Pick<Services, "engine" | "presence">, session: string): boolean {
  const known = engine.state.sessions.live.get(session);
  if (known === undefined) return true;
  const there = engine.state.sessions.worktrees.get(known.worktree)?.size ?? 0;
  return there <= 1 && known.agents.size === 0 && (presence.rows.get(session)?.agents.size ?? 0) === 0;
}

/** Whether nobody but the actor and its session works in the project around a worktree. */
async function isAloneAround(
  { engine, facts }: Services,
  { session }: Actor,
  worktree: string,
): Promise<boolean> {
  const around = await facts.repository(worktree);
  if ("unreachable" in around) return true;
  const own = engine.state.sessions.live.get(session)?.project === around.project ? 1 : 0;
  return countPresent(engine.state.sessions, around.project) <= own;
}

/** The live actors that work in a worktree: an agent is where its latest event was, else where its session is. */
function actorsIn({ engine, presence }: Services, lines: HeadLines, worktree: string): readonly Actor[] {
  const { worktrees, live } = engine.state.sessions;
  const near = [...worktrees].filter(([at]) => at === worktree || isNear(at, worktree));
  const sessions = near.flatMap(([, keys]) => [...keys].flatMap(key => live.get(idOfKey(key)) ?? []));
  const found: Actor[] = [];
  for (const { id, worktree: home, agents, incarnations, lostAt } of sessions) {
    if (lostAt !== null) continue;
    const known = new Set([null, ...agents.keys(), ...(presence.rows.get(id)?.agents.keys() ?? [])]);
    for (const agent of known) {
      const actor = { session: id, agent, incarnation: incarnations[0]?.ordinal ?? 0 };
      if ((lines.latest(actor)?.worktree ?? home) === worktree) found.push(actor);
    }
  }
  return found;
}

/** An agent may work in a worktree within its session's, or beside it. */
function isNear(home: string, worktree: string): boolean {
  return worktree.startsWith(`${home}/`) || home.startsWith(`${worktree}/`);
}

/** The others who are at work in the worktree. */
function atWorkIn(services: Services, lines: HeadLines, me: Lineage, worktree: string): readonly AtWork[] {
  const works = worksIn(services, worktree);
  return actorsIn(services, lines, worktree).flatMap(actor => {
    if (isMe(me, actor) || waitsFor(services, lines, actor, me)) return [];
    const own = works.filter(({ writers }) => writers.some(writer => isSame(writer.actor, actor)));
    const isInTurn = services.presence.pulse(actor.session, actor.agent)?.active === true;
    if (!isInTurn && own.length === 0) return [];
    const files = own.slice(0, limits.guardFilesShownMax).map(({ file }) => file);
    return [{ who: nameOf(services, actor), doing: taskOf(services, actor), files }];
  });
}

function isSame(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent;
}

function isMe({ actor }: Lineage, other: Actor): boolean {
  return isSame(actor, other);
}

/** Whether an agent waits for one that works for it: it has done nothing since that one began. */
function waitsFor({ presence }: Services, lines: HeadLines, actor: Actor, me: Lineage): boolean {
  const isAncestor = actor.session === me.actor.session && me.ancestors.includes(actor.agent);
  if (!isAncestor || me.actor.agent === null) return false;
  const begun = presence.pulse(me.actor.session, me.actor.agent)?.since ?? 0;
  return (lines.latest(actor)?.at ?? 0) <= begun;
}

// What a look at HEAD finds, and who is told of it.

/** Whether the event waits for an answer in which its actor can be told something. */
function isWaiting({ plan }: HookEvent): boolean {
  return plan.actions.some(action => action.do === "guard" || (action.do === "inbox" && action.take));
}

/** At each waiting event: whether HEAD is where it was at the last look. Alone, an actor reads nothing. */
export function lookAtHead(
  event: HookEvent,
  _: Answer,
  { guard }: Needs<"guard">,
): Promise<undefined> | undefined {
  const { session, agent } = event.plan;
  if (session === null) return undefined;
  if (!event.engine.state.sessions.live.has(session)) return lookAtFirst(event, guard.heads);
  if (!isWaiting(event)) return undefined;
  if (!isAlone(event, session)) return lookAround(event, guard, event.actor({ session, agent }));
  const { heads, sessions } = event.engine.state;
  const row = heads.rows.size === 0 ? undefined : heads.rows.get(sessions.live.get(session)?.worktree ?? "");
  // Whatever moves HEAD while one is alone is told to nobody who comes later.
  if (row !== undefined && row.head !== null) forgetHead(event, row);
  return undefined;
}

/** Keeps of a worktree only whose the operation in progress is. */
function forgetHead({ engine }: Services, row: HeadRow): void {
  engine.submitWithRetry({
    type: "head_moved",
    row: { ...row, head: null, moved: null },
    tell: [],
    by: null,
  });
}

/** A session begins with the event: it knows where HEAD is now, and others hear of a move before it. */
function lookAtFirst(event: HookEvent, lines: HeadLines): Promise<undefined> | undefined {
  const cwd = event.plan.actions.find(action => action.do === "begin")?.cwd;
  return cwd === undefined || event.engine.state.heads.rows.size === 0
    ? undefined
    : lookIn(event, lines, cwd);
}

async function lookIn(event: HookEvent, lines: HeadLines, cwd: string): Promise<undefined> {
  const place = await placeAt(event, cwd);
  if (place === null) return undefined;
  const { heads, sessions } = event.engine.state;
  const row = heads.rows.get(place.worktree);
  if (row === undefined || row.head === null) return undefined;
  const there = sessions.worktrees.get(place.worktree);
  const wasAlone = (there?.size ?? 0) <= 1 && isAlone(event, idOfKey(there?.last ?? ""));
  if (wasAlone) forgetHead(event, row);
  else await look(event, lines, place, null);
  return undefined;
}

async function lookAround(
  event: HookEvent,
  { heads: lines, commitLines }: Needs<"guard">["guard"],
  actor: Actor,
): Promise<undefined> {
  const place = await placeOf(event, actor);
  if (place === null) return undefined;
  lines.acted(actor, place.worktree, event.clock.now());
  await look(event, lines, place, null);
  await movesSeen(event, commitLines, place, null, actor);
  return undefined;
}

/** The repository in which the event's actor works; null: none, or not known. */
async function placeOf({ facts, engine, plan }: HookEvent, { session }: Actor): Promise<GitPlace | null> {
  const begin = plan.actions.find(action => action.do === "begin");
  const cwd = begin?.cwd ?? engine.state.sessions.live.get(session)?.cwd;
  return cwd === undefined ? null : placeAt({ facts }, cwd);
}

async function placeAt({ facts }: Pick<Services, "facts">, cwd: string): Promise<GitPlace | null> {
  const around = await facts.repository(cwd);
  if ("unreachable" in around || around.gitDir === null) return null;
  return { worktree: around.worktree, gitDir: around.gitDir };
}

/** What is known of the head of a worktree, brought up to date. `doer`: whose line has just ended there. */
async function look(
  services: Services,
  lines: HeadLines,
  place: GitPlace,
  doer: Actor | null,
): Promise<void> {
  const { engine, facts } = services;
  const head = await facts.heads.now(place);
  if ("unreachable" in head) return;
  const { worktree } = place;
  const before = engine.state.heads.rows.get(worktree);
  const from = before?.head ?? null;
  if (from !== null && isSamePlace(from, head)) return;
  const isMove = from !== null && (await isMoved(services, place, from, head));
  const by = doer ?? lines.moverIn(worktree);
  const moved = isMove ? (by === null ? null : { by, from, to: head }) : (before?.moved ?? null);
  const operation = operationOf(services, before, head, by);
  const told = isMove
    ? actorsIn(services, lines, worktree).filter(one => by === null || !isSame(one, by))
    : [];
  const tell = told.slice(0, limits.notedActorsMax).map(({ session, agent }): Whose => ({ session, agent }));
  const name = isMove && by !== null ? nameOf(services, by) : null;
  const row: HeadRow = { worktree, head, operation, moved };
  await engine.submitAndWait({ type: "head_moved", row, tell, by: name });
}

/** Whether HEAD went to another branch or off one, or its branch to a commit that is not ahead. */
async function isMoved(
  { facts }: Services,
  place: GitPlace,
  from: HeadPlace,
  to: HeadPlace,
): Promise<boolean> {
  if (from.ref !== to.ref) return true;
  if (from.commit === to.commit) return false;
  // An operation goes from commit to commit, and that it is in progress was told.
  const isStep = to.ref === null && to.operation !== null && from.operation === to.operation;
  return !isStep && (await facts.heads.isAhead(place, from.commit, to.commit)) === false;
}

function operationOf(
  services: Services,
  before: HeadRow | undefined,
  { operation: kind }: HeadPlace,
  by: Actor | null,
): Operation | null {
  if (kind === null) return null;
  const known = before?.operation ?? null;
  const isKnown = known?.kind === kind && (before?.head?.operation ?? kind) === kind;
  if (isKnown) return known;
  const name = by === null ? null : nameOf(services, { ...by, agent: null });
  return { kind, by, name, wallMs: services.clock.wall() };
}

/** The line may run: what it moves is its actor's. */
export function headLineBegins(
  lines: HeadLines,
  actor: Actor,
  toolUseId: string,
  placed: readonly Placed[],
): void {
  const moving = placed.filter(({ command: { refs }, blind, isSupposed }) => {
    const isKnown = blind === undefined && !isSupposed;
    return isKnown && refs !== undefined && refs.does !== "push" && refs.does !== "delete";
  });
  if (moving.length > 0) lines.began(toolUseId, { actor, places: moving.map(({ place }) => place) });
}

/** A shell line has ended: HEAD is where it left it. What a script moved is its line's, if the time says so. */
export async function headLineEnds(
  event: HookEvent,
  lines: HeadLines,
  actor: Actor,
  { toolUseId, cwd, ranMs }: Pick<ActionOf<"shell_end">, "toolUseId" | "cwd" | "ranMs">,
): Promise<void> {
  const line = lines.ended(toolUseId);
  const alone = isAlone(event, actor.session);
  if (line !== null) {
    for (const place of once(line.places))
      await (alone ? noteOperation(event, place, actor) : look(event, lines, place, actor));
    return;
  }
  if (alone || ranMs === null) return;
  const place = await placeAt(event, cwd);
  const head = place === null ? null : (event.engine.state.heads.rows.get(place.worktree)?.head ?? null);
  // Without an earlier look nobody can tell what moved.
  if (place === null || head === null || lines.moverIn(place.worktree) !== null) return;
  const since = event.clock.wall() - ranMs - limits.shellSlackMs;
  if (await hasChanged(event, place, since)) await look(event, lines, place, actor);
}

function once(places: readonly GitPlace[]): readonly GitPlace[] {
  return [...new Map(places.map(place => [place.gitDir, place])).values()];
}

async function hasChanged({ facts }: Services, { gitDir }: GitPlace, since: number): Promise<boolean> {
  for (const file of ["HEAD", "logs/HEAD"]) {
    const at = (await facts.stamped(`${gitDir}/${file}`))?.changedAt ?? 0;
    if (at >= since) return true;
  }
  return false;
}

/** Of one that is alone only whose operation it is: others may come while it is in progress. */
async function noteOperation(
  services: Services,
  { worktree, gitDir }: GitPlace,
  actor: Actor,
): Promise<void> {
  const { engine, facts } = services;
  const head = await facts.heads.now({ worktree, gitDir });
  if ("unreachable" in head) return;
  const before = engine.state.heads.rows.get(worktree);
  const operation = operationOf(services, before, head, actor);
  if (operation === (before?.operation ?? null)) return;
  const row = { worktree, head: null, operation, moved: null };
  await engine.submitAndWait({ type: "head_moved", row, tell: [], by: null });
}

// What stands against a line.

/** What the commands would do to HEAD and to operations of others, with what sending the line again confirms. */
export async function headCandidates(
  services: Services,
  { guard: { heads: lines }, notes }: Needs<"guard" | "notes">,
  me: Lineage,
  placed: readonly Placed[],
): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  /** The worktrees of which something is said: once a line. */
  const said = new Set<string>();
  for (const one of placed.filter(isOfHead)) {
    const { worktree } = one.place;
    const others = actorsIn(services, lines, worktree).filter(actor => !isMe(me, actor));
    const operation = services.engine.state.heads.rows.get(worktree)?.operation ?? null;
    if (said.has(worktree) || (others.length === 0 && operation === null)) continue;
    const at = await services.facts.heads.now(one.place);
    if ("unreachable" in at) continue;
    const { refs } = one.command;
    const target =
      others.length > 0 && refs?.does === "move" ? await moveOf(services, one.place, refs, at) : null;
    const theirs = await interference(services, me, one, at, others.length > 0);
    const all =
      theirs !== null
        ? [theirs]
        : others.length === 0
          ? []
          : [
              ...unknownMove(services, notes, me, one),
              ...(target === null ? [] : await moving(services, lines, me, one, at, target)),
            ];
    found.push(...all);
    // What comes after a move is where the line put HEAD.
    if (all.length > 0 || target !== null) said.add(worktree);
  }
  return found;
}

/** Whether the command may move HEAD or meddle with what is in progress, and works in a known place. */
function isOfHead({ command: { refs, reach, name }, blind, isSupposed }: Placed): boolean {
  const isStash = reach === "tree" && name.startsWith("git stash");
  return (refs !== undefined || isStash) && blind === undefined && !isSupposed;
}

function candidate(
  { n, command, place }: Placed,
  verdict: GuardFinding["verdict"],
  head: HeadFinding,
  version: string,
): Candidate {
  const finding = { command: n, verdict, foreign: [], own: [], more: 0, worktree: place.worktree, head };
  const versions = new Map([[[n, command.name, place.worktree, head.is].join(" "), version]]);
  return { finding, versions: async () => versions };
}

/** What the command does to an operation in progress that is not the actor's own. */
async function interference(
  services: Services,
  { actor }: Lineage,
  one: Placed,
  at: HeadPlace,
  hasOthers: boolean,
): Promise<Candidate | null> {
  const { engine, presence, clock } = services;
  const { refs } = one.command;
  const kind = at.operation;
  if (kind === null || refs?.does === "push" || refs?.does === "delete") return null;
  const row = engine.state.heads.rows.get(one.place.worktree)?.operation ?? null;
  const known = row?.kind === kind ? row : null;
  const by = known?.by ?? null;
  if (by?.session === actor.session) {
    const isOther = by.incarnation !== actor.incarnation && isAlive(engine.state, by);
    if (!isOther) return null;
  }
  const isLive = by !== null && isAlive(engine.state, by);
  if (!isLive && !hasOthers && (by === null || (await isAloneAround(services, actor, one.place.worktree))))
    return null;
  // An interrupted turn gives no event: one that is silent for long is over.
  const isAtWork =
    isLive && presence.isInTurn(by.session) && presence.silentMs(by.session) < limits.turnLeaseMs;
  const state = by === null ? "unseen" : isAtWork ? "at work" : isLive ? "idle" : "ended";
  const who = by === null ? null : isLive ? nameOf(services, { ...by, agent: null }) : (known?.name ?? null);
  const sinceMs = Math.max(0, clock.wall() - (known?.wallMs ?? clock.wall()));
  const head: HeadFinding = { is: "interferes", kind, of: at.of, who, state, sinceMs };
  const version = [kind, by === null ? "" : actorKey(by), known?.wallMs ?? 0].join(" ");
  return candidate(one, isAtWork ? "deny" : "tell_first", head, version);
}

/** The command would land on a branch of which the actor does not know that HEAD is on it. */
function unknownMove(
  services: Services,
  { files }: Needs<"notes">["notes"],
  me: Lineage,
  one: Placed,
): readonly Candidate[] {
  const { refs } = one.command;
  const isLanding = refs?.does === "add" || refs?.does === "rewrite" || refs?.does === "push";
  const isRebase = refs?.does === "move" && (refs.by === "rebase" || refs.by === "pull");
  if (!isLanding && !isRebase) return [];
  const { worktree } = one.place;
  const { session, agent } = me.actor;
  const pending = services.engine.state.notes.pending.get(noteKey({ session, agent }));
  for (const { n, note } of pending?.notes ?? []) {
    if (note.what !== "head_moved" || note.worktree !== worktree) continue;
    if (files.isOffered({ session, agent }, n)) continue;
    const { from, to, other: by } = note;
    const hasOwn = ownIn(services, me, worktree).length > 0;
    return [candidate(one, "tell_first", { is: "moved", from, to, by, hasOwn }, JSON.stringify([from, to]))];
  }
  return [];
}

/** The command moves HEAD where others are at work. */
async function moving(
  services: Services,
  lines: HeadLines,
  me: Lineage,
  one: Placed,
  at: HeadPlace,
  move: Move,
): Promise<readonly Candidate[]> {
  const { refs } = one.command;
  if (refs?.does !== "move") return [];
  const { worktree } = one.place;
  const others = atWorkIn(services, lines, me, worktree);
  if (others.length === 0 || isWayBack(services, me, worktree, at, move)) return [];
  const head: HeadFinding = {
    is: "moves",
    at,
    to: move.words,
    others: others.slice(0, limits.guardFilesShownMax),
    more: Math.max(0, others.length - limits.guardFilesShownMax),
    way: await wayOf(services, one.place, refs, move),
    hasOwn: ownIn(services, me, worktree).length > 0,
  };
  return [candidate(one, "tell_first", head, versionOf(refs, at))];
}

/** The branch that HEAD is on; of what puts the branch elsewhere also its commit. */
function versionOf({ by }: HeadMove, { ref, commit, operation }: HeadPlace): string {
  const isOfBranch = by === "reset" || by === "rebase" || by === "pull" || by === "update-ref";
  return [ref ?? commit, operation, isOfBranch ? commit : ""].join(" ");
}

/** Whether the actor puts HEAD back where it was before its own move, and nothing was committed there. */
function isWayBack(
  { engine }: Services,
  { actor }: Lineage,
  worktree: string,
  at: HeadPlace,
  { ref, commit }: Move,
): boolean {
  const moved = engine.state.heads.rows.get(worktree)?.moved ?? null;
  if (moved === null || moved.by.session !== actor.session || !isSamePlace(moved.to, at)) return false;
  return (
    ref === moved.from.ref &&
    (ref !== moved.to.ref || commit === moved.from.commit) &&
    (ref !== null || commit === moved.from.commit)
  );
}
