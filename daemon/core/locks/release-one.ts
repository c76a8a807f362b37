/**
 * The lean way to release a lock: one file, named as it was locked, while nobody waits for any file.
 *
 * Invariant: it does what the plain way does, or nothing. The plain way is the rest of `lockRelease`; while anybody waits
 * it alone is taken, and `tests/unit/core-lean.test.ts` compares the two.
 */

import type { BaseState, Hold } from "../base-state.ts";
import type { FileName } from "../file-ref.ts";
import type { Step } from "../outcome.ts";
import type { Meta } from "../rules.ts";
import { projectOf } from "../sessions/kinship.ts";
import { locksOf } from "./by-actor.ts";
import type { LockRelease } from "./commands.ts";
import { actorRow, pathOf } from "./replies.ts";
import { removeHold } from "./table.ts";

/** Releases the file and returns true if the actor holds it and nobody lent it; else changes nothing. */
export function releaseOne(state: BaseState, request: LockRelease, meta: Meta, step: Step): boolean {
  const { actor, files } = request;
  const hold = ownOne(state, request, meta.origin.node);
  if (hold === null || files === "all") return false;
  const holder = actorRow(state, actor);
  const project = projectOf(state, actor) ?? "";
  step.reply = { ok: true, released: files.map(one => one.file) };
  removeHold(state.locks, hold);
  state.sessions.revisions.changed(actor.session);
  step.events.push({
    event: { event: "lock_released", files: [hold.file], paths: [pathOf(hold)], holder, cause: "unlocked" },
    about: [],
    project,
    heldMs: [state.t - hold.since],
  });
  return true;
}

/** Returns the lock to release if it is the actor's own, on one file, and nobody waits for any; else null. */
export function ownOne(state: BaseState, { actor, files }: LockRelease, node: string): Hold | null {
  const { locks } = state;
  if (files === "all" || files.length !== 1 || locks.waiters.size > 0) return null;
  const [file] = files;
  const hold = file === undefined ? undefined : heldAsNamed(state, file, node);
  if (hold === undefined || hold.loan !== null || hold.row !== locksOf(locks.actors, actor)) return null;
  // The writes of a command's actor may outlast the lock.
  return hold.actor.command !== undefined && hold.row.flying.has(hold.key) ? null : hold;
}

/** Returns the lock on the file if its key is the path as named: no link and no folding of case is involved. */
function heldAsNamed({ locks }: BaseState, { key, lexical }: FileName, node: string): Hold | undefined {
  if (key === null || key.length !== node.length + 1 + lexical.length) return undefined;
  if (!key.endsWith(lexical) || !key.startsWith(node) || key[node.length] !== ":") return undefined;
  const hold = locks.holds.get(key);
  return hold?.lexical === lexical ? hold : undefined;
}
