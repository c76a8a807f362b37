/**
 * Git commands in a shell line that reach others' uncommitted work.
 *
 * The order is that of an edit: first the indexes of all repositories concerned are taken, waiting in line for whoever
 * writes them now; then, with these in hand, it is looked at what the commands would take or wipe. Where nobody else
 * holds or wrote anything in the worktree, git is not asked at all. Where somebody did and it cannot be looked at in
 * time, all they wrote that the command names counts as in its reach.
 */
import { relative, resolve } from "node:path";
import type { GuardedCommand, GuardFinding, HookOutcome } from "../protocol/adapter.ts";
import { limits } from "../protocol/limits.ts";
import { isRefusal } from "./call.ts";
import { actorKey, locksOf } from "./core/actors.ts";
import type { Actor } from "./core/entry.ts";
import { holdsOf } from "./core/lock-release.ts";
import { actorRow } from "./core/lock-text.ts";
import type { Hold, State } from "./core/state.ts";
import type { Kin } from "./core/writes.ts";
import type { Changed } from "./facts-change.ts";
import type { GitPlace } from "./git-child.ts";
import { aliasedBy, type Given } from "./guard-alias.ts";
import { narrowed, wouldChange } from "./guard-change.ts";
import { reaches } from "./guard-reach.ts";
import { inTime, supposedPlaces, withoutIndex } from "./guard-unseen.ts";
import { type ActionOf, actorOfAction, ancestorsOf, contested, type Run, taskOf } from "./hook-act.ts";
import { isWithin } from "./pathspec.ts";
import { signOfLife } from "./requests-session.ts";
import { nameOf } from "./rows.ts";
import type { Services } from "./services.ts";
import { type Foreign, foreignIn, foreignKnown, indexOf, lookAt, ownIn, type Seen } from "./uncommitted.ts";

type Guard = ActionOf<"guard">;

/** A command with the repository it works on; `base`: where its paths begin, relative to the worktree. */
interface Placed {
  readonly n: number;
  readonly command: GuardedCommand;
  readonly place: GitPlace;
  readonly base: string;
  /** The place is only supposed: why it could not be looked at. */
  readonly blind?: string;
  /** Of others' files, only these are in its reach. */
  readonly changed?: Changed;
}

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
  const outcome = await inTime(looking, limits.guardAnswerMs, () => {
    const unknown = `that took longer than ${limits.guardAnswerMs / 1000} s`;
    const me = { actor, ancestors: asked.ancestors };
    const placed = asked.commands.flatMap((given, n) => supposed(services, asked, n, { ...given, unknown }));
    const looks = new Map(placed.map(one => [placeKey(one), blindLook(services, me, one)]));
    const { findings } = findingsOf(services, me, placed, looks, asked);
    const drop = () => letGo(services, actor, asked.toolUseId);
    // Whatever it comes to, the line will not run.
    if (findings.length > 0 && mode === "deny") void looking.then(drop, drop);
    return { ...alone, findings, unchecked: unknown };
  });
  // Every client has gone: nothing was decided.
  if (!outcome.ok && run.call.connection.isClosed) return outcome;
  return noted(run, asked, actor, outcome);
}

async function looked(run: Run, asked: Guard, actor: Actor, alone: Looked): Promise<HookOutcome> {
  const { services } = run;
  const { clock } = services;
  const until = clock.now() + limits.guardAnswerMs - limits.firstByteMs;
  const me: Kin = { actor, ancestors: await ancestorsOf(services, asked) };
  const aliased = await aliasedBy(services, asked);
  const { placed, unchecked } = await placesOf(services, asked, [...asked.commands, ...aliased]);
  const indexes = new Map(
    placed.flatMap(({ place, blind }) =>
      blind === undefined ? [[place.gitDir, indexOf(services, place)] as const] : [],
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
    if (refused?.ok === false && !withoutIndex.has(refused.refusal.code)) return refused;
    if (refused === null) run.delivery.whenSettled(delivered);
    waits = { waitedMs, before };
  }
  services.guarded.began(
    asked.toolUseId,
    placed.filter(one => one.blind === undefined).map(one => one.place),
  );
  const looks = await looksAt(services, me, placed);
  const narrow = await narrowed(services, placed, one => looks.get(placeKey(one))?.foreign ?? []);
  const { findings, unseen } = findingsOf(services, me, narrow.placed, looks, asked);
  // The line will not run.
  if (findings.length > 0 && alone.mode === "deny") await letGo(services, actor, asked.toolUseId);
  if (refused !== null && findings.length === 0) return refused;
  const whys = [unchecked, unseen, narrow.unseen].filter(why => why !== null);
  return { ...alone, findings, aliased, unchecked: whys.length === 0 ? null : whys.join("; "), ...waits };
}

/** Ends the flight of a tool use that will write no more, and gives up the indexes that were taken for it. */
export async function letGo({ engine }: Services, actor: Actor, flight: string): Promise<void> {
  const mine = heldBy(engine.state, actor).filter(({ flights }) => flights.includes(flight));
  if (mine.length === 0) return;
  await engine.ask({ type: "flight_end", actor, flight, wrote: false });
  // One that another one waits for has gone already, with the end of the flight.
  for (const file of mine.filter(isIndex)) await engine.ask({ type: "lock_release", actor, files: [file] });
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

/**
 * Where each command works. One whose place cannot be told is let through, and it is said; one whose place could not be
 * looked at counts for where it seems to work.
 */
async function placesOf(
  services: Services,
  asked: Guard,
  commands: readonly Given[],
): Promise<{ readonly placed: readonly Placed[]; readonly unchecked: string | null }> {
  const placed: Placed[] = [];
  let unchecked: string | null = null;
  for (const [n, command] of commands.entries()) {
    const found =
      command.dir === null
        ? "where it runs cannot be told"
        : (command.unknown ?? (await placeOf(services, command.dir, command)));
    if (typeof found !== "string") {
      if (found !== null) placed.push({ n, command, ...found });
      continue;
    }
    unchecked ??= `${command.name}: ${found}`;
    placed.push(...supposed(services, asked, n, { ...command, unknown: found }));
  }
  return { placed, unchecked };
}

/** Where a command seems to work that could not be looked at. */
function supposed(services: Services, { session }: Guard, n: number, given: Given): readonly Placed[] {
  const { unknown: blind, ...command } = given;
  if (command.dir === null || blind === undefined) return [];
  const places = supposedPlaces(services, session, command.dir, command);
  return places.map(place => ({ n, command, blind, ...place }));
}

/** The command's repository; null where there is none, a sentence where it could not be looked at. */
async function placeOf(
  { facts }: Services,
  dir: string,
  { gitDir, workTree }: GuardedCommand,
): Promise<Pick<Placed, "place" | "base"> | string | null> {
  const [here, around] = await Promise.all([facts.path("/", dir), facts.repository(dir)]);
  if ("unreachable" in here) return here.unreachable;
  if ("unreachable" in around) return around.unreachable;
  const given = gitDir === null ? null : await facts.path(dir, gitDir);
  const tree = workTree === null ? null : await facts.path(dir, workTree);
  if (given !== null && "unreachable" in given) return given.unreachable;
  if (tree !== null && "unreachable" in tree) return tree.unreachable;
  const git = given?.real ?? around.gitDir;
  if (git === null) return null;
  const top =
    tree?.real ?? (given === null ? around.worktree : await facts.worktreeOf(here.real, given.real));
  if (top === null) return null;
  if (typeof top !== "string") return top.unreachable;
  return { place: { worktree: top, gitDir: git }, base: relative(top, here.real) };
}

interface Look {
  readonly foreign: readonly Foreign[];
  readonly own: readonly string[];
  readonly seen: Seen;
}

/** What is to be seen in each place, once. */
async function looksAt(services: Services, me: Kin, placed: readonly Placed[]): Promise<Map<string, Look>> {
  const looks = new Map<string, Look>();
  for (const one of placed) {
    const key = placeKey(one);
    if (looks.has(key)) continue;
    looks.set(
      key,
      one.blind === undefined ? await lookFor(services, me, one.place) : blindLook(services, me, one),
    );
  }
  return looks;
}

function placeKey({ place: { worktree, gitDir }, blind = "" }: Placed): string {
  return [worktree, gitDir, blind].join("\n");
}

async function lookFor(services: Services, me: Kin, place: GitPlace): Promise<Look> {
  const foreign = await foreignIn(services, me, place);
  if (foreign.length === 0) return { foreign, own: [], seen: { states: new Map(), unseen: null } };
  const own = ownIn(services, me, place.worktree).slice(0, limits.guardFilesMax);
  const files = foreign.filter(f => !f.dir).map(f => f.file);
  return { foreign, own, seen: await lookAt(services, place, [...new Set([...files, ...own])]) };
}

function blindLook(services: Services, me: Kin, { place, blind }: Placed): Look {
  const seen = { states: new Map(), unseen: blind ?? null };
  return { foreign: foreignKnown(services, me, place), own: [], seen };
}

interface Found {
  readonly findings: readonly GuardFinding[];
  readonly unseen: string | null;
}

function findingsOf(
  services: Services,
  me: Kin,
  placed: readonly Placed[],
  looks: ReadonlyMap<string, Look>,
  { toolUseId }: Guard,
): Found {
  const findings: GuardFinding[] = [];
  let unseen: string | null = null;
  for (const one of placed) {
    const look = looks.get(placeKey(one));
    if (look === undefined || look.foreign.length === 0) continue;
    unseen ??= look.seen.unseen;
    const finding = findingOf(services, one, look, look.own);
    if (finding === null) continue;
    const isKnown =
      finding.verdict === "tell_first" &&
      services.guardTold.knows(
        toldKey(me.actor, one),
        inReach(one, look).map(f => f.file),
        toolUseId,
        services.clock.now(),
      );
    if (!isKnown) findings.push(finding);
  }
  return { findings, unseen };
}

function inReach(one: Placed, { foreign, seen }: Look): Foreign[] {
  const { command, base } = one;
  return foreign.filter(({ file, held, dir }) => {
    if (!isInPaths(one, file) && !(dir && command.paths?.some(path => isBelow(path, file, base))))
      return false;
    const state = dir ? null : seen.states.get(file);
    const { changed } = one;
    if (changed !== undefined && changed.loses !== "all")
      return wouldChange({ ...one, changed }, { file, held }, state);
    // What was not looked at may be anything.
    return state === undefined ? seen.unseen !== null : reaches(command, state, held);
  });
}

function isInPaths({ command: { paths }, place, base }: Placed, file: string): boolean {
  return paths === null || isWithin(file, paths, base, place.worktree);
}

/** Whether a path that a command names lies in the directory that is held. */
function isBelow(path: string, dir: string, base: string): boolean {
  return dir === "" || resolve("/", base, path).startsWith(`/${dir}/`);
}

function findingOf(services: Services, one: Placed, look: Look, own: readonly string[]): GuardFinding | null {
  const reached = inReach(one, look);
  if (reached.length === 0) return null;
  const { unseen, states } = look.seen;
  const shown = reached.slice(0, limits.guardFilesMax).map(({ file, actor, held, dir }) => ({
    file: dir ? `${file}/` : file,
    who: nameOf(services, actor),
    // What it edits is named here already.
    doing: taskOf(services, actor),
    held,
  }));
  const mine = own.filter(file => {
    const state = look.seen.states.get(file);
    return isInPaths(one, file) && state !== undefined && reaches(one.command, state, false);
  });
  return {
    command: one.n,
    verdict: one.command.reach === "tree" ? "deny" : "tell_first",
    foreign: shown,
    more: reached.length - shown.length,
    own: mine.filter(file => !reached.some(f => f.file === file)),
    worktree: one.place.worktree,
    ...(unseen === null || reached.some(f => states.has(f.file)) ? {} : { unseen }),
  };
}

/** The same command of the same actor. */
function toldKey(actor: Actor, { command, place, base }: Placed): string {
  const { name, reach, paths, commits } = command;
  return JSON.stringify([actorKey(actor), name, reach, commits, paths, place.worktree, base]);
}

/** A line in the trail for what was decided: the first word of the line, never more of it. */
function noted(run: Run, asked: Guard, actor: Actor, outcome: HookOutcome): HookOutcome {
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
    const whys = [asked.unread, unchecked].filter(why => why !== null);
    const why = whys.length === 0 ? {} : { why: `not looked at: ${whys.join("; ")}` };
    services.recorder.note({ ...line, file: null, decision: "allow", ms, ...why });
    return outcome;
  }
  const theirs = first.foreign.map(f => `${f.file} (${f.who})`).join(", ");
  const reach =
    first.verdict === "deny" ? `would reach uncommitted work: ${theirs}` : `would take in: ${theirs}`;
  const why = first.unseen === undefined ? reach : `could not be looked at (${first.unseen}); ${reach}`;
  const file = first.foreign[0] === undefined ? null : `${first.worktree}/${first.foreign[0].file}`;
  services.recorder.note({ ...line, file, decision: mode === "deny" ? "deny" : "note", ms, why });
  return outcome;
}

/** The places of guarded lines that run now: when they ended, it is looked at what they committed. */
export class Guarded {
  readonly #places = new Map<string, readonly GitPlace[]>();

  began(toolUseId: string, places: readonly GitPlace[]): void {
    this.#places.set(toolUseId, places);
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= limits.guardToldMax) break;
      this.#places.delete(oldest);
    }
  }

  ended(toolUseId: string): readonly GitPlace[] {
    const places = this.#places.get(toolUseId) ?? [];
    this.#places.delete(toolUseId);
    return places;
  }
}
