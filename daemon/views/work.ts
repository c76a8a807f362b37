/** Uncommitted work as `query` shows it. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { DeclarationRow } from "../../protocol/schemas/declaration.ts";
import type { RiskRow, WriteRow } from "../../protocol/work.ts";
import type { DirtyFile, Writes } from "../core/tables/base-state.ts";
import { type Declaration, declarationsOf } from "../core/tables/declarations.ts";
import { noteKey } from "../core/tables/messages.ts";
import { isAlive, isElsewhere } from "../core/tables/naming.ts";
import { isOpen, latestOf, sideRow } from "../core/work/dirty-files.ts";
import { declarationRow } from "../core/work/overlaps.ts";
import { elsewhereOf, type Logs, type LogView } from "../engine/log-view.ts";
import type { FileState } from "../facts/git/status.ts";
import type { Services } from "../options.ts";
import { lookAt, worksIn } from "../worktree/uncommitted.ts";
import { byPosition, type Keyed, type RowsOf } from "./paging.ts";
import { actorRowOf } from "./sessions.ts";

/** Git's state of dirty files, by key. Committed files are marked clean on the way. */
type WorkStates = ReadonlyMap<string, FileState>;

/** Asks git about all dirty files of a project (null: of all projects), worktree by worktree, within the bounds. */
export async function workStates(services: Services, project: string | null): Promise<WorkStates> {
  const found = new Map<string, FileState>();
  let left: number = limits.whoseWorktreesMax;
  // One budget for all worktrees: the caller waits for the last of them.
  const allowance = services.facts.allowance();
  for (const worktree of [...services.engine.state.writes.byWorktree.keys()]) {
    const works = worksIn(services, worktree);
    if (project !== null && works[0]?.project !== project) continue;
    left -= 1;
    if (left < 0) break;
    const repository = await services.facts.repository(worktree);
    if ("unreachable" in repository || repository.gitDir === null) continue;
    const { states } = await lookAt(
      services,
      { worktree, gitDir: repository.gitDir },
      works.map(work => work.file),
      allowance,
    );
    for (const { key, file } of works) {
      const state = states.get(file);
      if (state !== undefined) found.set(key, state);
    }
  }
  return found;
}

/**
 * Yields files in the order of their latest writes, without files that git ignores. With a session it yields those that the
 * session wrote.
 */
export function* writeRows(
  services: Services,
  states: WorkStates,
  { id }: RowsOf = {},
): Generator<Keyed<WriteRow>, void> {
  const { writes } = services.engine.state;
  for (const noted of id === undefined ? writes.files.values() : worksOf(writes, id)) {
    // The reader may be interrupted, and a file may be written again or settle meanwhile.
    const work = writes.files.get(noted.key);
    if (work === undefined || states.get(work.key)?.ignored) continue;
    const place = latestOf(noted).seq;
    yield { place, key: work.key, row: () => writeRowOf(services, work, states.get(work.key)) };
  }
}

/** The files that a session wrote, in the order of their latest writes. */
function worksOf({ files, byWriter }: Writes, session: string): DirtyFile[] {
  const works = [...(byWriter.get(session) ?? [])].flatMap(key => files.get(key) ?? []);
  return works.sort((a, b) => latestOf(a).seq - latestOf(b).seq);
}

/** Files that are dirty in two worktrees, oldest first. Their only order is by age, so all have the same position. */
export function* riskRows(
  { engine }: Pick<Services, "engine">,
  { id: session }: RowsOf = {},
): Generator<Keyed<RiskRow>, void> {
  const { state } = engine;
  // The index by session is in another order.
  const own = session === undefined ? state.risks : state.risksOf.get(session);
  if (own === undefined) return;
  for (const [id, risk] of state.risks) {
    const { file, project, sides } = risk;
    if (!own.has(id) || !isOpen(state, risk)) continue;
    const [a, b] = sides;
    // An id may be longer than `after` allows.
    const key = createHash("sha256").update(id).digest("base64url");
    yield { place: 0, key, row: () => ({ file, project, sides: [sideRow(state, a), sideRow(state, b)] }) };
  }
}

function writeRowOf(services: Services, work: DirtyFile, seen: FileState | undefined): WriteRow {
  const { state } = services.engine;
  const hold = state.locks.holds.get(work.key);
  const writers = work.writers.map(({ actor, name, by, wallMs }) => {
    const live = isAlive(state, actor);
    const row = live ? actorRowOf(services, actor) : { id: actor.session, agent: actor.agent, name };
    return { ...row, live, by, at: wallMs };
  });
  return {
    file: work.file,
    path: join(work.worktree, work.file),
    project: work.project,
    worktree: work.worktree,
    state: wordFor(seen),
    writers: writers.reverse(),
    holder: hold === undefined ? null : actorRowOf(services, hold.actor),
  };
}

function wordFor(state: FileState | undefined): WriteRow["state"] {
  if (state === undefined) return "unknown";
  if (state.untracked) return "untracked";
  return state.changed || !state.staged ? "changed" : "staged";
}

// Declarations as `query` shows them: those of this machine's log, and of other machines those of the logs that it shares.

/**
 * Yields the declarations that hold, in the order they began, then by their agents. With a session it yields those of its
 * agents.
 */
export function* declarationRows(
  logs: Logs,
  { id, project }: RowsOf = {},
): Generator<Keyed<DeclarationRow>, void> {
  const rows: Keyed<DeclarationRow>[] = [];
  for (const log of logsWith(logs, project)) {
    const { declarations } = log.state;
    const all = id === undefined ? declarations.live.values() : declarationsOf(declarations, id);
    for (const one of all)
      if (isShown(logs, log, one))
        rows.push({ place: one.declaredAt, key: noteKey(one), row: () => declarationRowOf(logs, log, one) });
  }
  // Their tables are in the order of the latest changes.
  yield* rows.sort(byPosition);
}

/**
 * Yields the declarations that ended: those of this machine, then those of others since this daemon began. Each log's oldest
 * come first.
 */
export function* endedDeclarationRows(
  logs: Logs,
  { id, project }: RowsOf = {},
): Generator<Keyed<DeclarationRow>, void> {
  const { endedCount } = logs.state.declarations;
  for (const log of logsWith(logs, project))
    for (const [n, one] of log.state.declarations.ended) {
      const isOwn = log.state === logs.state;
      if ((id !== undefined && one.session !== id) || (!isOwn && !isElsewhere(one.session))) continue;
      const place = isOwn ? n : endedCount + n;
      yield { place, key: String(n), row: () => declarationRowOf(logs, log, one) };
    }
}

/** Returns this machine's log and the shared ones. With a project it returns only the log that has it. */
function logsWith(logs: Logs, project: string | undefined): readonly LogView[] {
  const [own, ...shared] = logs.logs;
  if (own === undefined || shared.length === 0 || project === undefined) return logs.logs;
  const log = logs.logOf(project);
  return log.state === own.state ? [own] : [own, log];
}

/** Whether the declaration is of this machine's own log, or of another machine in a shared project. */
function isShown(logs: Logs, log: LogView, declaration: Declaration): boolean {
  return log.state === logs.state || elsewhereOf(log, declaration.session) !== null;
}

function declarationRowOf(logs: Logs, log: LogView, declaration: Declaration): DeclarationRow {
  const row = declarationRow(declaration, log.now);
  if (log.state === logs.state) return row;
  // Its session may have ended.
  const { machine } = log.elsewhere(declaration.session.replace(/^.*@/s, "")) ?? {};
  if (machine === undefined) return row;
  const { files, ...here } = row;
  // A project that this machine does not share has no clone here.
  const isHere = here.project.startsWith("/");
  const placed = files.map(file => (isHere ? { ...file, path: `${here.project}/${file.path}` } : file));
  return { ...here, machine, files: placed };
}
