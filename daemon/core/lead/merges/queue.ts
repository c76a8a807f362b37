/**
 * Queues merges.
 *
 * Invariants: a branch is queued once for a base; all of a request are queued, or none; a merge keeps its place until it
 * ends, whoever runs it.
 */

import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import { personOnWire } from "../../../../protocol/names.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import { actorRow } from "../../locks/replies.ts";
import type { Handler } from "../../rules.ts";
import { noSession } from "../../sessions/end.ts";
import { isAlive } from "../../sessions/kinship.ts";
import type { State } from "../../state.ts";
import { spawnAt } from "../spawns/table.ts";
import type { MergeQueue, NewMerge } from "./commands.ts";
import { announce, mergeRow, shortName } from "./replies.ts";
import { addMerge, type Merge, mergeOf, putMerge, queueOf } from "./table.ts";

export const mergeQueue: Handler<"merge_queue", State> = (state, command, _meta, step) => {
  const { merges } = state;
  const { by } = command;
  const queue = new Map(queueOf(merges, command).map(one => [one.branch, one]));
  const refused =
    (by !== null && !isAlive(state, by) ? noSession(state, by.session) : null) ??
    command.merges.map(one => notNew(one, command, queue)).find(one => one !== null) ??
    named(command) ??
    noRoom(state, command, queue);
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  const row = by === null ? null : actorRow(state, by);
  const ids = command.merges.map(one => {
    const open = queue.get(one.branch);
    if (open !== undefined) {
      putMerge(merges, { ...open, runner: command.runner, changedAt: command.wallMs });
      return open.id;
    }
    const merge = newMerge(state, command, one, row, queue);
    addMerge(merges, merge);
    queue.set(merge.branch, merge);
    announce(step, merge, row);
    return merge.id;
  });
  step.reply = { ok: true, merges: ids.map(id => mergeRow(mergeOf(merges, id))) };
};

function newMerge(
  state: State,
  { project, base, runner, rebase, checkOnly, wallMs }: MergeQueue,
  { branch, author, tasks, after }: NewMerge,
  by: ActorRow | null,
  queue: ReadonlyMap<string, Merge>,
): Merge {
  const { merges } = state;
  merges.count += 1;
  const n = merges.count;
  return {
    id: `mg-${Math.max(0, wallMs).toString(36)}-${n.toString(36)}`,
    n,
    project,
    base,
    branch,
    rebase,
    checkOnly,
    author: author === null ? null : authorRow(state, author, tasks),
    tasks,
    after: [...new Set(after)].flatMap(one => queue.get(one)?.id ?? []),
    by,
    state: "queued",
    runner,
    runs: 0,
    moving: false,
    commit: null,
    reason: null,
    queuedAt: wallMs,
    changedAt: wallMs,
  };
}

/**
 * Returns the author of a branch: a live actor, a spawned agent whose session has ended, or who did one of the tasks before
 * it ended; null: none of them.
 */
function authorRow(
  state: State,
  author: NonNullable<NewMerge["author"]>,
  tasks: readonly string[],
): ActorRow | null {
  const incarnation = state.sessions.live.get(author.session)?.incarnations[0]?.ordinal;
  if (incarnation !== undefined) return actorRow(state, { ...author, incarnation });
  const spawn = author.agent === null ? spawnAt(state.spawns, author.session) : undefined;
  if (spawn !== undefined) return { id: author.session, agent: null, name: spawn.name };
  if (author.name !== undefined) return { id: author.session, agent: author.agent, name: author.name };
  return state.rules >= 2 ? doerOf(state, author, tasks) : null;
}

function doerOf(
  { tasks: { all } }: State,
  { session, agent }: NonNullable<NewMerge["author"]>,
  tasks: readonly string[],
): ActorRow | null {
  for (const id of tasks) {
    const now = all.get(id)?.state;
    if (now?.status === "done" && now.by?.id === session && now.by.agent === agent) return now.by;
  }
  return null;
}

/** Refuses a branch that a living process merges already, or that waits otherwise than asked now. */
function notNew(
  { branch }: NewMerge,
  { rebase, checkOnly, base }: MergeQueue,
  queue: ReadonlyMap<string, Merge>,
): Refusal | null {
  const open = queue.get(branch);
  if (open === undefined) return null;
  const isSame = open.rebase === rebase && open.checkOnly === checkOnly;
  if (open.runner === null && isSame) return null;
  const who = open.by?.name ?? personOnWire;
  const how = isSame ? "" : ", in another way";
  const error = `${shortName(branch)} waits for ${shortName(base)} already${how}: ${who} queued it as ${open.id}; wait for it, or end it: kite merge --cancel ${open.id}`;
  return refuse("merge_queued", error, { merge: open.id, branch });
}

function named({ merges }: MergeQueue): Refusal | null {
  if (new Set(merges.map(({ branch }) => branch)).size === merges.length) return null;
  return refuse("invalid_request", "a branch is named twice; name each once", { path: "merges" });
}

function noRoom(
  { merges, limits }: State,
  { base, merges: asked }: MergeQueue,
  queue: ReadonlyMap<string, Merge>,
): Refusal | null {
  const added = asked.filter(({ branch }) => !queue.has(branch)).length;
  const isFull = queue.size + added > limits.mergesOpenMax;
  if (!isFull && merges.all.size - merges.ended.size + added <= limits.mergesMax) return null;
  const whose = isFull ? `for ${shortName(base)}` : "in all projects";
  const error = `${queue.size} branches wait ${whose}, and there is no room for ${added} more; wait until some are merged`;
  return refuse("too_many_merges", error);
}
