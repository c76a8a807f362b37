/**
 * The lean way to take a lock: one file that nobody has, while nobody waits for any file. No queue, no cycle and no list
 * is looked at.
 *
 * Invariant: it does what the plain way does, or nothing. The plain way is the rest of `lockRequest`; while anybody waits
 * it alone is taken, and `tests/unit/core-lean.test.ts` compares the two.
 */

import type { BaseState, Token } from "../base-state.ts";
import type { FileRef } from "../file-ref.ts";
import type { Origin } from "../origin.ts";
import type { Step } from "../outcome.ts";
import type { Meta } from "../rules.ts";
import { ensureSession } from "../sessions/begin.ts";
import { projectOf } from "../sessions/kinship.ts";
import type { LockRequest } from "./commands.ts";
import { newHold } from "./grant.ts";
import { actorRow, pathOf, tokenText } from "./replies.ts";
import { addHold } from "./table.ts";

/**
 * Grants the request and returns true if it is for one file that nobody has; else changes nothing. The caller has checked
 * that the actor may ask.
 */
export function takeFree(state: BaseState, request: LockRequest, meta: Meta, step: Step): boolean {
  const { actor } = request;
  const file = freeFile(state, request);
  if (file === null) return false;
  ensureSession(state, request, meta, step);
  const grant = grantFree(state, request, file, meta.origin);
  state.sessions.revisions.changed(actor.session);
  const [token, path] = [tokenText(state, grant), pathOf(file)];
  step.reply = { ok: true, file: file.file, path, token };
  const holder = actorRow(state, actor);
  step.events.push({
    event: { event: "lock_granted", files: [file.file], paths: [path], token, holder, waitedMs: 0 },
    about: [actor.session],
    project: projectOf(state, actor) ?? "",
  });
  return true;
}

/** Returns the request's one file if nobody has it, and nobody waits for any; null also of a resource. */
export function freeFile({ locks }: BaseState, request: LockRequest): FileRef | null {
  const { files, kind, flight, single } = request;
  const [file] = files;
  if (file === undefined || files.length !== 1 || !single || kind !== "explicit" || flight !== null)
    return null;
  // A resource, whose lock has a lease.
  if (file.lexical.startsWith("@")) return null;
  return locks.waiters.size > 0 || locks.heldPaths.touches(file.key, file.dir) ? null : file;
}

/** Makes the actor the holder of the file that `freeFile` found; its session is alive. */
export function grantFree(state: BaseState, request: LockRequest, file: FileRef, origin: Origin): Token {
  const { locks } = state;
  locks.grants += 1;
  const grant = { epoch: state.epoch, grant: locks.grants };
  addHold(locks, newHold(file, request, grant, state.t, origin));
  return grant;
}
