/** How a project's checks stand for an agent that says that its task is done. */

import { createHash } from "node:crypto";
import { isAbsolute } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import type { CheckRow, checkRequests, UnneededRow, WorktreeStateReply } from "../../protocol/lead/check.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import { plain } from "../../protocol/text.ts";
import { anyGlob } from "../config/glob.ts";
import {
  type Changes,
  changesBy,
  checkStatuses,
  differingFiles,
  type OthersFile,
  type StateFiles,
  writtenBy,
} from "../core/lead/checks.ts";
import type { CheckFact, CompletionFacts } from "../core/lead/gates.ts";
import { resultKey } from "../core/lead/tables/roles.ts";
import type { State } from "../core/state.ts";
import type { Declaration } from "../core/tables/declarations.ts";
import type { Reply } from "../core/tables/entries.ts";
import type { Lineage } from "../core/tables/naming.ts";
import type { Unreachable } from "../facts/filesystem.ts";
import { isCleanState, type WorktreeState } from "../facts/worktree-state.ts";
import type { Services } from "../options.ts";
import { callerOf, type HandlersOf, projectOf, type Target } from "../requests/handler.ts";
import type { Call } from "../server/call.ts";
import { retryOf } from "../server/call.ts";
import { signOfLife } from "../sessions/proposals.ts";
import { noteReply } from "../trail/decisions.ts";
import type { Keyed } from "../views/paging.ts";
import type { GreenRun } from "./gate-memory.ts";
import type { FoundChecks, LeadParts, LeadServices } from "./services.ts";
import { type Check, commandHash } from "./settings.ts";

// Which checks matter after a change of files. Globs come from a file that any agent may write: matching takes turns.

/**
 * Returns the checks that matter after a change of `files` (paths from the top of the worktree). Each turn of the event loop
 * takes `limits.checkGlobTurnSteps` steps, or one file; `next` waits for the next turn. If matching all checks may take
 * more than `limits.checkGlobSteps` steps, the checks that are beyond it matter.
 */
export async function concerning<C extends Pick<Check, "when">>(
  checks: readonly C[],
  files: readonly string[],
  next: () => Promise<void> = () => new Promise(resolve => void setImmediate(resolve)),
): Promise<readonly C[]> {
  const matter: C[] = [];
  const filesLength = lengthOf(files);
  let left: number = limits.checkGlobSteps;
  let turn = 0;
  for (const check of checks) {
    const { when } = check;
    // The matcher takes pattern times path steps at most.
    const width = when === null ? 0 : lengthOf(when);
    const isBeyond = width * filesLength > left;
    if (when === null || isBeyond) {
      matter.push(check);
      continue;
    }
    left -= width * filesLength;
    const isMatch = anyGlob(when);
    for (const file of files) {
      turn += width * file.length;
      if (turn > limits.checkGlobTurnSteps) {
        await next();
        turn = width * file.length;
      }
      if (!isMatch(file)) continue;
      matter.push(check);
      break;
    }
  }
  return matter;
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

type Needed = Pick<LeadParts, "checks" | "greenRuns" | "completionTries">;

/** One agent in its worktree. */
interface Asking extends Pick<Services, "engine" | "facts">, Pick<LeadParts, "completionTries"> {
  readonly me: Lineage;
  readonly project: string;
  readonly worktree: string;
}

interface CheckFacts extends Pick<CompletionFacts, "checks" | "worktree" | "checksChanged" | "unseen"> {
  /**
   * The reasons to hold the agent back that it may be unable to end. Each has the number of the run that preceded it, or null
   * if the reason has no runs.
   */
  readonly runs: ReadonlyMap<string, number | null>;
}

/** `place`: a directory in the worktree. Only trusted checks count, and of these the ones that matter for the agent's own work or for what is not committed. */
export async function checkFacts(
  { engine, facts }: Services,
  parts: Needed,
  me: Lineage,
  place: string,
  declaration: Declaration | undefined,
): Promise<CheckFacts> {
  const { checks, greenRuns, completionTries } = parts;
  const all = await checks.for(place);
  if ("unreachable" in all) return notSeen(parts, me, place, all.unreachable);
  const checksChanged = all.trust === "changed";
  const { project, worktree } = all;
  const nothing = { checks: [], worktree, checksChanged, unseen: null, runs: new Map() };
  if (all.checks.length === 0) return nothing;
  const found = await facts.repository(place);
  if ("unreachable" in found) return notSeen(parts, me, all.worktree, found.unreachable);
  const { gitDir } = found;
  // No answer could be another one tomorrow.
  if (gitDir === null) {
    const unseen = { why: `${plain(worktree)} is in no git repository`, isSpent: true };
    return { ...nothing, unseen };
  }
  const { seq } = engine.state;
  const state = await facts.worktreeState({ worktree, gitDir });
  if ("unreachable" in state) return notSeen(parts, me, worktree, state.unreachable);
  greenRuns.saw(worktree, state, seq);
  const asking = { engine, facts, completionTries, me, project, worktree };
  const wanted = await wantedOf(asking, all, state, declaration);
  const named = wanted.map(({ name, command }) => ({ name, command: commandHash(command) }));
  const statuses = checkStatuses(engine.state, { project, worktree }, named, state);
  const [standing, runs] = [[] as CheckFact[], new Map<string, number>()];
  for (const { name, command } of named) {
    const status = statuses.get(name) ?? "never_run";
    const run = greenRuns.of({ project, worktree, name }, command);
    const fact = await standingOf(asking, { name, status, run }, { gitDir, state });
    standing.push(fact);
    if (run !== null && fact.state === "stale") runs.set(name, run.n);
  }
  return { checks: standing, worktree, checksChanged, unseen: null, runs };
}

/** What cannot be looked at holds the agent back a few times, and is in the trail after that. */
function notSeen({ completionTries }: Needed, { actor }: Lineage, worktree: string, why: string): CheckFacts {
  const isSpent = completionTries.isSpent(actor, unseenReason);
  const runs = new Map(isSpent ? [] : [[unseenReason, null]]);
  return { checks: [], worktree, checksChanged: false, unseen: { why: plain(why), isSpent }, runs };
}

/** No check has this name. */
const unseenReason = "";

/** The checks that matter: for what differs from the commit, and for what the agent declared or wrote, committed or not. */
async function wantedOf(
  { engine, me, project, worktree }: Asking,
  { checks }: FoundChecks,
  { commit, changed }: WorktreeState,
  declaration: Declaration | undefined,
): Promise<readonly Check[]> {
  // Nothing differs after a commit: then every check matters, and one that ran for another commit matters anyhow.
  if (changed.size === 0) return checks;
  const top = `${worktree}/`;
  const declared = (declaration?.files ?? []).filter(({ dir, path }) => !dir && path.startsWith(top));
  const files = new Set([
    ...changed.keys(),
    ...declared.map(({ path }) => path.slice(top.length)),
    ...writtenBy(engine.state, worktree, me),
  ]);
  const ranElsewhere = ({ name }: Check) => {
    const result = engine.state.checks.results.get(resultKey({ project, worktree, name }));
    return result !== undefined && result.commit !== commit;
  };
  const matter = new Set(await concerning(checks, [...files]));
  return checks.filter(check => matter.has(check) || ranElsewhere(check));
}

interface Known {
  readonly name: string;
  readonly status: "green" | "red" | "stale" | "never_run" | "unknown";
  /** The latest green run of its command. */
  readonly run: GreenRun | null;
}

interface Present {
  readonly gitDir: string;
  readonly state: WorktreeState;
}

/** A check that is not green any more is not the agent's to run again if all that changed since is the work of others. */
async function standingOf(
  asking: Asking,
  { name, status, run }: Known,
  present: Present,
): Promise<CheckFact> {
  // Files changed during each run so far: then none of them has a result.
  const last = status === "unknown" || status === "never_run" ? "stale" : status;
  if (run === null) return { name, state: last === status ? status : "never_run" };
  if (status === "green") return { name, state: "green" };
  const since = await changesSince(asking, run, present);
  if (since !== null && since.own.length > 0) return { name, state: last };
  const others = since?.others ?? [];
  const isOthers = since !== null && since.unknown.length === 0;
  // Red in the very files that were green before.
  if (last === "red" && (!isOthers || others.length === 0)) return { name, state: "red" };
  if (isOthers) return { name, state: "overtaken", files: others.map(shown) };
  const isSpent = last === "stale" && asking.completionTries.isSpent(asking.me.actor, name);
  return { name, state: isSpent ? "unsettled" : last };
}

/** Other agents read the names of files and of their writers. */
function shown({ file, by }: OthersFile): OthersFile {
  return { file: plain(file, limits.quoteChars), by: plain(by) };
}

/** Returns null if git does not tell, or if no file's name says what differs. */
async function changesSince(
  { engine, facts, me, worktree }: Asking,
  { state: then }: GreenRun,
  { gitDir, state: now }: Present,
): Promise<Changes | null> {
  const diff = await facts.commitDiff({ worktree, gitDir }, [then.commit, now.commit]);
  if ("unreachable" in diff) return null;
  const files = differingFiles(then, now, diff);
  return files === null ? null : changesBy(engine.state, worktree, me, files, then.seq);
}

// Which checks need no run: what their `when` names has not changed since they were last green.

type NeededUnneeded = Pick<LeadServices, "engine" | "checks" | "facts" | "greenRuns">;

/** The state that a check's present one is compared with, and what it is. */
interface Since extends Pick<UnneededRow, "since"> {
  readonly state: Pick<StateFiles, "commit" | "changed"> & Partial<Pick<StateFiles, "absent">>;
}

/**
 * Returns the trusted checks of the worktree around `place` that need no run, or why nobody can tell. A check without `when`,
 * or whose latest run was red, is none of them. `base` is the commit that counts for a check which was never green; null:
 * such a check needs its run.
 */
async function unneededChecks(
  services: NeededUnneeded,
  place: string,
  base: string | null,
): Promise<readonly UnneededRow[] | Unreachable> {
  const { engine, checks, facts, greenRuns } = services;
  const all = await checks.for(place);
  if ("unreachable" in all) return all;
  const limited = all.checks.filter(({ when }) => when !== null);
  if (limited.length === 0) return [];
  const found = await facts.repository(place);
  if ("unreachable" in found) return found;
  const { gitDir } = found;
  const { project, worktree } = all;
  if (gitDir === null) return [];
  const { seq } = engine.state;
  const now = await facts.worktreeState({ worktree, gitDir });
  if ("unreachable" in now) return now;
  greenRuns.saw(worktree, now, seq);
  const changes = new Map<string | null, ReturnType<typeof facts.commitDiff>>();
  const diffFrom = (commit: string | null) => {
    const known = changes.get(commit) ?? facts.commitDiff({ worktree, gitDir }, [commit, now.commit]);
    changes.set(commit, known);
    return known;
  };
  const unneeded: UnneededRow[] = [];
  for (const check of limited) {
    const { name, when } = check;
    const command = commandHash(check.command);
    const since = sinceOf(services, { project, worktree, name }, command, base);
    if (since === null || when === null) continue;
    const diff = await diffFrom(since.state.commit);
    if ("unreachable" in diff) continue;
    const files = differingFiles({ absent: now.absent, ...since.state }, now, diff);
    if (files === null || (await isConcerned(check, files))) continue;
    unneeded.push({ name, command, when, since: since.since });
  }
  return unneeded;
}

async function isConcerned(check: Check, files: readonly string[]): Promise<boolean> {
  return (await concerning([check], files)).length > 0;
}

/** Returns the state to compare with; null: the check has to run whatever changed. */
function sinceOf(
  { engine, greenRuns }: NeededUnneeded,
  place: { readonly project: string; readonly worktree: string; readonly name: string },
  command: string,
  base: string | null,
): Since | null {
  const last = engine.state.checks.results.get(resultKey(place));
  const isPresent = last?.command === command;
  if (isPresent && last.exit !== 0) return null;
  const run = greenRuns.of(place, command);
  if (run !== null) return { since: "green", state: run.state };
  // The daemon began anew since: of a commit without changes it still knows every file.
  if (isPresent && isCleanState(last))
    return { since: "green", state: { commit: last.commit, changed: new Map(), absent: "" } };
  return base === null ? null : { since: "base", state: { commit: base, changed: new Map() } };
}

// worktree_state, check_unneeded, check_record. The checks themselves run in the process of `kite check`.

function worktreeState(
  services: LeadServices,
  { id, cwd }: RequestOf<"worktree_state">,
  call: Call,
): Promise<void> | undefined {
  if (id !== undefined) signOfLife(services, id);
  // It may take seconds: the connection's other requests do not wait for it.
  call.alone(stateAt(services, cwd).then(reply => call.reply({ ...reply })));
  return undefined;
}

function checkUnneeded(
  services: LeadServices,
  { id, cwd, base }: RequestOf<"check_unneeded">,
  call: Call,
): Promise<void> | undefined {
  if (id !== undefined) signOfLife(services, id);
  if (!isAbsolute(cwd)) {
    call.reply(relative("check_unneeded", cwd));
    return undefined;
  }
  const told = unneededChecks(services, cwd, base ?? null).then(found =>
    call.reply(
      "unreachable" in found ? refuse("path_unreachable", found.unreachable) : { ok: true, unneeded: found },
    ),
  );
  call.alone(told);
  return undefined;
}

function checkRecord(
  services: LeadServices,
  request: RequestOf<"check_record">,
  call: Call,
): Promise<void> | undefined {
  if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
  const { worktree, name, command, exit, ranMs, commit, dirty, files, began } = request;
  const actor = callerOf(services, request, call);
  const project = projectOf(services, request, call);
  const run = { project, worktree, name, command };
  if (began !== undefined) {
    if (exit === 0) services.greenRuns.ran({ ...run, ...began });
    call.reply({ ok: true, green: exit === 0, kept: false });
    return undefined;
  }
  const noted = (reply: Reply) => {
    const why = `the check ${name} is ${exit === 0 ? "green" : `red, exit code ${exit}`}`;
    if (reply.ok && exit === 0) services.greenRuns.ran({ ...run, commit, dirty });
    noteReply(services, "check_record", actor, reply, { project, file: worktree, ms: ranMs, why });
    return reply;
  };
  const result = { project, worktree, name, command, exit, ranMs, commit, dirty, files };
  const wallMs = services.clock.wall();
  call.propose({ type: "check_record", actor, ...result, wallMs, ...retryOf(request, call) }, noted);
  return undefined;
}

export const checkHandlers: HandlersOf<typeof checkRequests, LeadServices> = {
  worktree_state: worktreeState,
  check_unneeded: checkUnneeded,
  check_record: checkRecord,
};

async function stateAt(
  { engine, facts, greenRuns }: LeadServices,
  cwd: string,
): Promise<WorktreeStateReply | Refusal> {
  if (!isAbsolute(cwd)) return relative("worktree_state", cwd);
  const found = await facts.repository(cwd);
  if ("unreachable" in found) return refuse("path_unreachable", found.unreachable);
  const { project, worktree: top, gitDir } = found;
  const unknown = (reason: string) =>
    ({ ok: true, project, top, commit: null, dirty: null, files: 0, changed: [], reason }) as const;
  if (gitDir === null) return unknown(`${cwd} is in no git repository`);
  if (gitDir === top) return unknown(`${top} is a bare repository, without a worktree`);
  const { seq } = engine.state;
  const state = await facts.worktreeState({ worktree: top, gitDir });
  if ("unreachable" in state) return unknown(state.unreachable);
  greenRuns.saw(top, state, seq);
  const { commit, dirty, changed } = state;
  const named = [...changed].slice(0, limits.stateFilesNamedMax);
  const rows = named.map(([file, content]) => ({ file, content: shortId(content) }));
  return { ok: true, project, top, commit, dirty, files: changed.size, changed: rows };
}

function relative(type: string, cwd: string): Refusal {
  const error = `${type}: cwd: ${cwd} is relative; give an absolute path`;
  return refuse("invalid_request", error, { path: "cwd" });
}

function shortId(content: string): string {
  return createHash("sha256").update(content).digest("hex").slice(0, limits.stateContentChars);
}

// Results of checks as `query` shows them, the oldest first.

export function* checkRows({ checks }: Pick<State, "checks">): Generator<Keyed<CheckRow>, void> {
  for (const { seq, ...row } of checks.results.values()) yield { place: seq, key: "", row: () => row };
}

const checks: Target<CheckRow> = {
  open:
    ({ engine }) =>
    () =>
      checkRows(engine.state),
  ids: row => [row.by?.id],
};

export const checkTargets = { checks };
