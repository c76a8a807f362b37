/** Uncommitted work as `query` shows it. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { RiskRow, WriteRow } from "../../protocol/work.ts";
import type { DirtyFile, Writes } from "../core/tables/base-state.ts";
import { isAlive } from "../core/tables/naming.ts";
import { isOpen, latestOf, sideRow } from "../core/work/dirty-files.ts";
import type { FileState } from "../facts/git/status.ts";
import type { Services } from "../services.ts";
import { lookAt, worksIn } from "../worktree/uncommitted.ts";
import type { Keyed, RowsOf } from "./row.ts";
import { actorRowOf } from "./sessions-and-locks.ts";

/** Git's state of dirty files, by key. Committed files are marked clean on the way. */
export type WorkStates = ReadonlyMap<string, FileState>;

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

/** Files in the order of their latest writes, without files that git ignores; of a session those that it wrote. */
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
    yield { place, key: work.key, row: () => rowOf(services, work, states.get(work.key)) };
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

function rowOf(services: Services, work: DirtyFile, seen: FileState | undefined): WriteRow {
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
