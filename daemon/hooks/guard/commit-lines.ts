/**
 * Whose commits the lines that ended made, and what became of others' commits meanwhile.
 *
 * A guarded line holds the index, so what HEAD's log gained while it ran is its own, unless another such line ran beside
 * it: then each commit is of one of them. What a script commits is the line's whose time it fits. Where the actor is alone
 * in its project nothing is looked at.
 */

import { limits } from "../../../protocol/limits.ts";
import { type Actor, sameActor } from "../../core/frame/actors.ts";
import { isAlive } from "../../core/tables/naming.ts";
import { type CommitActor, commitKey, eachOnce, type TakenCommit } from "../../core/tables/uncommitted.ts";
import type { HeadLog, HeadMove, ListedCommit } from "../../facts/git/commits.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../options.ts";
import { foreignCommit, hasForeignCommits, sharedProject } from "./authors.ts";
import type { CommitLine, CommitLines, CommitLook, TakenBack } from "./memory.ts";

/** Notes where HEAD is in each repository before the line runs. */
export async function commitLinesBegin(
  services: Services,
  lines: CommitLines,
  { toolUseId, promptId }: { readonly toolUseId: string; readonly promptId: string | null },
  actor: Actor,
  looks: readonly CommitLook[],
): Promise<void> {
  const begun: Omit<CommitLine, "beside">[] = [];
  const { facts } = services;
  for (const look of looks) {
    await movesSeen(services, lines, look.place, null, actor);
    const log = await facts.history.headLog(look.place, null);
    if ("unreachable" in log) continue;
    const now = log.bytes === null ? await facts.heads.now(look.place) : null;
    const head = now === null ? log.head : "unreachable" in now ? null : now.commit;
    lines.looked(look.place, log.bytes);
    begun.push({ ...look, actor, prompt: promptId, head, bytes: log.bytes });
  }
  lines.began(toolUseId, begun, other => isAlive(services.engine.state, other));
}

/** A line of the actor has ended: its commits get their author, and authors whose commits it took are told. */
export async function noteCommits(
  services: Services,
  lines: CommitLines,
  actor: Actor,
  {
    toolUseId,
    cwd,
    ranMs,
  }: { readonly toolUseId: string; readonly cwd: string; readonly ranMs: number | null },
): Promise<TakenBack> {
  const guarded = lines.ended(toolUseId);
  const back = new Map<string, readonly CommitActor[]>();
  for (const line of guarded)
    for (const [path, actors] of await lineEnded(services, lines, line, ranMs)) back.set(path, actors);
  const around = ranMs === null ? null : await services.facts.repository(cwd);
  if (ranMs === null || around === null || "unreachable" in around || around.gitDir === null) return back;
  const place = { worktree: around.worktree, gitDir: around.gitDir };
  if (guarded.some(line => line.place.gitDir === place.gitDir)) return back;
  await movesSeen(services, lines, place, { actor, begunMs: services.clock.wall() - ranMs });
  return back;
}

/** Who made the commits that a reset took back, by the files that they changed. */
async function takenBack(
  { facts, engine }: Services,
  { place, project, head, command }: CommitLine,
  now: string | null,
): Promise<TakenBack> {
  const found = new Map<string, readonly CommitActor[]>();
  if (command !== "git reset" && command !== "git reset --soft") return found;
  if (head === null || now === null || head === now) return found;
  const commits = await facts.history.between(place, [head], [now], limits.guardCommitsMax);
  for (const { commit, parents } of "unreachable" in commits ? [] : commits) {
    const made = engine.state.commits.made.get(commitKey({ project, commit }));
    if (made === undefined) continue;
    const diff = await facts.commitDiff(place, [parents[0] ?? null, commit]);
    for (const file of "unreachable" in diff ? [] : diff.keys()) {
      const path = `${place.worktree}/${file}`;
      found.set(path, eachOnce([...made.actors, ...(found.get(path) ?? [])]));
    }
  }
  return found;
}

/** As git's log counts. */
function inSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

async function lineEnded(
  services: Services,
  lines: CommitLines,
  line: CommitLine,
  ranMs: number | null,
): Promise<TakenBack> {
  const { facts, clock, engine } = services;
  const { place, project, actor, publishes } = line;
  const log = await facts.history.headLog(place, line.bytes);
  if ("unreachable" in log) return new Map();
  const moves = line.bytes === null ? await withoutLog(services, line) : log.moves;
  lines.looked(place, log.bytes);
  const begunMs = inSeconds(clock.wall() - (ranMs ?? 0));
  const own = line.makes ? moves : moves.filter(({ wallMs }) => ranMs !== null && wallMs >= begunMs);
  const gone = await goneCommits(services, project, place, [...line.olds, ...fromOf(line.head, moves)]);
  const placed = await replacements(services, place, log, gone, moves);
  const commits = madeCommits(own, placed);
  if (commits.length > 0) {
    const isSure = line.makes && line.beside.length === 0 ? ({ isSure: true } as const) : {};
    const others = line.beside.filter((one, i) => line.beside.findIndex(each => sameActor(one, each)) === i);
    const rest = { project, commits, ...isSure, wallMs: clock.wall() };
    await engine.submitAndWait({ type: "commits_made", actor, beside: others, ...rest });
  }
  await tellGone(services, { actor, project, command: line.command }, gone, placed);
  await tellPublished(services, line, publishes);
  return takenBack(services, line, log.head);
}

/** Where HEAD has no log, the commit that it has now is what the line made. */
async function withoutLog(
  { facts, clock }: Services,
  { place, head }: CommitLine,
): Promise<readonly HeadMove[]> {
  const now = await facts.heads.now(place);
  if ("unreachable" in now || now.commit === null || now.commit === head) return [];
  return [{ from: head ?? "", to: now.commit, wallMs: clock.wall(), text: "commit:", at: 0 }];
}

/** Entries of HEAD's log that come with a new commit. */
const making =
  /^(?:commit(?: \([\w-]+\))?:|(?:cherry-pick|revert|am)(?: \([\w-]+\))?:|(?:merge|pull)\b[^:]*: Merge made|(?:rebase|pull)\b[^:]*\((?:pick|squash|fixup|reword|edit|continue)\):|filter-branch:)/;

function madeBy(moves: readonly HeadMove[]): readonly string[] {
  return [...new Set(moves.flatMap(({ to, text }) => (making.test(text) ? [to] : [])))];
}

/** Moves that may take commits off. */
function fromOf(head: string | null, moves: readonly HeadMove[]): readonly string[] {
  const isAdding = ({ text }: HeadMove) =>
    making.test(text) && !/\((?:amend|pick|squash|fixup)\)|^filter/.test(text);
  if (moves.every(isAdding)) return [];
  return [...(head === null ? [] : [head]), ...moves.map(({ from }) => from)].filter(id => !/^0*$/.test(id));
}

/** Commits whose authors Kite knows and that no ref has now, the latest first. What a rewrite of history keeps is no ref. */
async function goneCommits(
  services: Services,
  project: string,
  place: GitPlace,
  olds: readonly string[],
): Promise<readonly ListedCommit[]> {
  if (olds.length === 0 || services.engine.state.commits.made.size === 0) return [];
  const found = await services.facts.history.between(
    place,
    [...new Set(olds)],
    ["--exclude=refs/original/*", "--all"],
  );
  if ("unreachable" in found) return [];
  const { made } = services.engine.state.commits;
  return found.filter(({ commit }) => made.has(commitKey({ project, commit })));
}

/** The commit in the place of each that is gone, as far as it has one. */
type Replacements = ReadonlyMap<string, string>;

/** The new commits, those in the place of others with these. */
function madeCommits(
  moves: readonly HeadMove[],
  placed: Replacements,
): readonly { readonly commit: string; readonly of?: string }[] {
  const of = new Map([...placed].map(([old, now]) => [now, old]));
  const commits = new Set([...madeBy(moves), ...of.keys()]);
  return [...commits].map(commit => {
    const old = of.get(commit);
    return old === undefined ? { commit } : { commit, of: old };
  });
}

/** Which new commits are in the place of those that are gone: an amended one, and one with the same time and subject. */
async function replacements(
  { facts }: Services,
  place: GitPlace,
  { head }: HeadLog,
  gone: readonly ListedCommit[],
  moves: readonly HeadMove[],
): Promise<Replacements> {
  const now = new Map<string, string>();
  if (gone.length > 0) {
    const at = head ?? moves.at(-1)?.to ?? null;
    const news =
      at === null
        ? []
        : await facts.history.between(
            place,
            [at],
            gone.map(({ commit }) => commit),
          );
    const key = ({ authored, subject }: ListedCommit) => `${authored} ${subject}`;
    const byKey = new Map(("unreachable" in news ? [] : news).map(one => [key(one), one.commit]));
    for (const one of gone) {
      const same = byKey.get(key(one));
      if (same !== undefined) now.set(one.commit, same);
    }
    for (const { from, to, text } of moves) if (text.startsWith("commit (amend):")) now.set(from, to);
  }
  return now;
}

async function tellGone(
  services: Services,
  by: { readonly actor: Actor | null; readonly project: string; readonly command: string | null },
  gone: readonly ListedCommit[],
  now: Replacements,
): Promise<void> {
  const { engine } = services;
  const foreign = gone.filter(({ commit }) => foreignCommit(services, by.actor, by.project, commit) !== null);
  const taken = foreign.map(({ commit, subject }): TakenCommit => {
    const inPlace = now.get(commit);
    return { commit, subject, ...(inPlace === undefined ? {} : { now: inPlace }) };
  });
  const rewritten = taken.filter(one => one.now !== undefined);
  const lost = taken.filter(one => one.now === undefined);
  const told = { type: "commits_taken", ...by } as const;
  if (lost.length > 0) await engine.submitAndWait({ ...told, how: "lost", commits: lost });
  if (rewritten.length > 0) await engine.submitAndWait({ ...told, how: "rewritten", commits: rewritten });
}

/** A push that went through has them on a remote-tracking branch. */
async function tellPublished(
  { engine, facts }: Services,
  { actor, project, place, command }: CommitLine,
  publishes: readonly ListedCommit[],
): Promise<void> {
  if (publishes.length === 0) return;
  const left = await facts.history.between(
    place,
    publishes.map(({ commit }) => commit),
    ["--remotes"],
  );
  if ("unreachable" in left) return;
  const unpublished = new Set(left.map(({ commit }) => commit));
  const commits = publishes
    .filter(({ commit }) => !unpublished.has(commit))
    .map(({ commit, subject }) => ({ commit, subject }));
  if (commits.length === 0) return;
  await engine.submitAndWait({ type: "commits_taken", actor, project, how: "pushed", command, commits });
}

/**
 * Looks at what HEAD's log gained since the last look, whoever moved HEAD: a script's commit is of the actor whose line ran
 * at its time, and authors whose commits no ref has any more are told. `by` null: no line has ended.
 */
export async function movesSeen(
  services: Services,
  lines: CommitLines,
  place: GitPlace,
  by: { readonly actor: Actor; readonly begunMs: number } | null,
  reader: Actor | null = by?.actor ?? null,
): Promise<void> {
  const { facts, engine, clock } = services;
  const project = reader === null ? null : await sharedProject(services, reader, place);
  if (project === null) return;
  const before = lines.lookedAt(place);
  // The end of a line that runs there tells what it did.
  const isRunning = lines.isRunning(place);
  if (by === null && isRunning) return;
  const log = await facts.history.headLog(place, by === null ? before : -limits.headLogBytes);
  if ("unreachable" in log || log.bytes === null || (by === null && log.bytes === before)) return;
  if (!isRunning) lines.looked(place, log.bytes);
  // At the first look nobody can tell what was there before the line.
  const own =
    by === null || before === null ? [] : log.moves.filter(({ wallMs }) => wallMs >= inSeconds(by.begunMs));
  const unseen = log.moves.filter(({ at }) => before !== null && at >= before);
  const actor = by !== null && own.length > 0 ? by.actor : null;
  const isLooking = !isRunning && unseen.length > 0 && hasForeignCommits(services, actor, project);
  const gone = isLooking ? await goneCommits(services, project, place, fromOf(null, unseen)) : [];
  const placed = await replacements(services, place, log, gone, unseen);
  const commits = madeCommits(own, placed).filter(
    ({ commit }) => by !== null && !isKnownOf(services, by, project, commit),
  );
  if (commits.length > 0 && by !== null) {
    const rest = { project, commits, wallMs: clock.wall() };
    await engine.submitAndWait({ type: "commits_made", actor: by.actor, beside: [], ...rest });
  }
  await tellGone(services, { actor, project, command: null }, gone, placed);
}

/**
 * Whether the log has nothing more to note of the commit: its line is known, the actor stands there, or it was noted before
 * the actor's line began. The log counts in seconds, in which several lines may end.
 */
function isKnownOf(
  { engine }: Services,
  { actor, begunMs }: { readonly actor: Actor; readonly begunMs: number },
  project: string,
  commit: string,
): boolean {
  const row = engine.state.commits.made.get(commitKey({ project, commit }));
  if (row === undefined) return false;
  return row.isSure === true || row.wallMs < begunMs || row.actors.some(one => sameActor(one.actor, actor));
}
