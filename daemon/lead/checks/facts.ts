/** How a project's checks stand for an agent that says that its task is done. */
import { limits } from "../../../protocol/limits.ts";
import { plain } from "../../../protocol/text.ts";
import {
  type Changes,
  changesBy,
  checkStatuses,
  differingFiles,
  type OthersFile,
  writtenBy,
} from "../../core/lead/checks.ts";
import type { CheckFact, CompletionFacts } from "../../core/lead/gates.ts";
import { resultKey } from "../../core/lead/tables/roles.ts";
import type { Declaration } from "../../core/tables/declarations.ts";
import type { Lineage } from "../../core/tables/naming.ts";
import type { WorktreeState } from "../../facts/worktree-state.ts";
import type { GreenRun } from "../gates/green-runs.ts";
import type { LeadServices } from "../services.ts";
import { concerning } from "./concerning.ts";
import type { FoundChecks } from "./project-checks.ts";
import { type Check, commandHash } from "./setting.ts";

type Needed = Pick<LeadServices, "engine" | "checks" | "facts" | "greenRuns" | "completionTries">;

/** One agent in its worktree. */
interface Asking extends Needed {
  readonly me: Lineage;
  readonly project: string;
  readonly worktree: string;
}

interface CheckFacts extends Pick<CompletionFacts, "checks" | "worktree" | "checksChanged" | "unseen"> {
  /**
   * The reasons to hold the agent back that it may be unable to end, each with the number of the run that preceded it;
   * null: the reason has no runs.
   */
  readonly runs: ReadonlyMap<string, number | null>;
}

/** `place`: a directory in the worktree. Only trusted checks count, and of these the ones that matter for the agent's own work or for what is not committed. */
export async function checkFacts(
  services: Needed,
  me: Lineage,
  place: string,
  declaration: Declaration | undefined,
): Promise<CheckFacts> {
  const { engine, checks, facts } = services;
  const all = await checks.for(place);
  if ("unreachable" in all) return notSeen(services, me, place, all.unreachable);
  const checksChanged = all.trust === "changed";
  const { project, worktree } = all;
  const nothing = { checks: [], worktree, checksChanged, unseen: null, runs: new Map() };
  if (all.checks.length === 0) return nothing;
  const found = await facts.repository(place);
  if ("unreachable" in found) return notSeen(services, me, all.worktree, found.unreachable);
  const { gitDir } = found;
  // No answer could be another one tomorrow.
  if (gitDir === null) {
    const unseen = { why: `${plain(worktree)} is in no git repository`, isSpent: true };
    return { ...nothing, unseen };
  }
  const { seq } = engine.state;
  const state = await facts.worktreeState({ worktree, gitDir });
  if ("unreachable" in state) return notSeen(services, me, worktree, state.unreachable);
  services.greenRuns.saw(worktree, state, seq);
  const asking = { ...services, me, project, worktree };
  const wanted = await wantedOf(asking, all, state, declaration);
  const named = wanted.map(({ name, command }) => ({ name, command: commandHash(command) }));
  const statuses = checkStatuses(engine.state, { project, worktree }, named, state);
  const [standing, runs] = [[] as CheckFact[], new Map<string, number>()];
  for (const { name, command } of named) {
    const status = statuses.get(name) ?? "never_run";
    const run = services.greenRuns.of({ project, worktree, name }, command);
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
