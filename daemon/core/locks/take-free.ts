/**
 * The lean way to take a lock: one file that nobody has, while nobody waits for any file. No queue, no cycle and no list
 * is looked at.
 *
 * Invariant: it does what the plain way does, or nothing. The plain way is the rest of `lockRequest`; while anybody waits
 * it alone is taken, and `tests/unit/core-lean.test.ts` compares the two.
 */
import type { LockRequest } from "../commands.ts";
import type { Meta } from "../handler.ts";
import type { Step } from "../outcome.ts";
import { ensureSession } from "../sessions/begin.ts";
import { projectOf } from "../sessions/kinship.ts";
import type { State } from "../state.ts";
import { newHold } from "./grant.ts";
import { actorRow, pathOf, tokenText } from "./replies.ts";
import { addHold } from "./table.ts";

/**
 * Grants the request and returns true if it is for one file that nobody has; else changes nothing. The caller has checked
 * that the actor may ask.
 */
export function takeFree(state: State, request: LockRequest, meta: Meta, step: Step): boolean {
  const { locks } = state;
  const { actor, files, kind, flight, single } = request;
  const [file] = files;
  if (file === undefined || files.length !== 1 || !single || kind !== "explicit" || flight !== null)
    return false;
  if (locks.waiters.size > 0 || locks.heldPaths.touches(file.key, file.dir)) return false;
  ensureSession(state, request, meta, step);
  locks.grants += 1;
  const grant = { epoch: state.epoch, grant: locks.grants };
  addHold(locks, newHold(file, request, grant, state.t, meta.origin));
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
