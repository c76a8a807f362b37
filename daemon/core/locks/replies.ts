/** The replies and refusals of lock requests, and how locks and actors are named in events. */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import { isResource } from "../../../protocol/names.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import { type Actor, sameActor } from "../actor.ts";
import type { BaseState, Token, Waiter } from "../base-state.ts";
import type { FileRef } from "../file-ref.ts";
import type { Reply, Step } from "../outcome.ts";
import { agentName } from "../sessions/agent-names.ts";
import { type Blocker, lentBy } from "./blockers.ts";
import type { CycleStep } from "./deadlock.ts";

/** Returns `"<storeId>.<epoch>.<grant>"`; clients compare tokens by the pair (epoch, grant). */
export function tokenText(state: BaseState, token: Token): string {
  return `${state.storeId}.${token.epoch}.${token.grant}`;
}

export function actorRow(state: BaseState, actor: Actor): ActorRow {
  const session = state.sessions.live.get(actor.session)?.name ?? actor.session.slice(0, 8);
  const again = actor.incarnation === 0 ? "" : `#${actor.incarnation + 1}`;
  const agent = actor.agent === null ? "" : `/${agentName(state, actor.session, actor.agent)}`;
  const row = { id: actor.session, agent: actor.agent, name: `${session}${again}${agent}` };
  return actor.command === undefined ? row : { ...row, command: actor.command };
}

/** Returns the row of who speaks in the step; null: the person of the machine whose log it is. */
export function speakerRow(state: BaseState, actor: Actor | null, { person }: Step): ActorRow | null {
  return actor === null ? person : actorRow(state, actor);
}

/** A file by its key, with the unfolded path if the key is case-folded. */
export interface Spelled {
  readonly key: string;
  readonly path?: string | undefined;
}

/** Returns the file's unfolded path, or the key's path if only the key is known. */
export function pathOf(file: Spelled): string {
  return file.path ?? (file.key.slice(file.key.indexOf(":") + 1) || "/");
}

/** Returns an event's file lists, cut at `limits.eventFilesMax`. */
export function fileLists(files: readonly Pick<FileRef, "file" | "key" | "path">[]): {
  readonly files: readonly string[];
  readonly paths: readonly string[];
  readonly more?: number;
} {
  const shown = files.slice(0, limits.eventFilesMax);
  const lists = { files: shown.map(f => f.file), paths: shown.map(f => pathOf(f)) };
  return files.length > shown.length ? { ...lists, more: files.length - shown.length } : lists;
}

export function grantReply(
  state: BaseState,
  request: { readonly files: readonly FileRef[]; readonly single: boolean },
  token: Token,
  fromQueue: boolean,
): Reply {
  const [first] = request.files;
  const named =
    request.single && first !== undefined
      ? { file: first.file, path: pathOf(first) }
      : { files: request.files.map(f => f.file), paths: request.files.map(f => pathOf(f)) };
  const reply = { ok: true as const, ...named, token: tokenText(state, token) };
  return fromQueue ? { ...reply, granted_from_queue: true } : reply;
}

/** Returns a refusal's fields about the blocker. `locked_ago` is in seconds; `yours`: a command of the requester's. */
function lockedBy(state: BaseState, requester: Actor, blocker: Blocker): Record<string, unknown> {
  const row = actorRow(state, blocker.actor);
  const since = blocker.by === "hold" ? blocker.hold.since : blocker.waiter.since;
  return {
    file: blocker.file.file,
    path: pathOf(blocker.file),
    locked_by: row.id,
    locked_by_name: row.name,
    locked_by_agent: row.agent,
    locked_ago: Math.floor((state.t - since) / 1000),
    queued: false,
    ...(sameActor(blocker.actor, requester) ? { yours: true } : {}),
  };
}

/** Refuses a request of `requester` that does not wait. */
export function lockHeld(state: BaseState, requester: Actor, blocker: Blocker): Refusal {
  if (sameActor(blocker.actor, requester)) {
    const does = blocker.by === "hold" ? "locked" : "waits for";
    const error = `another command of yours ${does} ${blocker.file.file}; ask again with waitMs to wait for its end`;
    return refuse("lock_held", error, lockedBy(state, requester, blocker));
  }
  if (blocker.by === "hold" && lentBy(blocker.hold, requester)) {
    const [file, user] = [blocker.file.file, actorRow(state, blocker.actor).name];
    return refuse(
      "lock_held",
      `your agent ${user} is using ${file} and will return it to you; ask again with waitMs to wait`,
      { ...lockedBy(state, requester, blocker), lent: true },
    );
  }
  return refuse(
    "lock_held",
    `${lockedWords(blocker)}; ask again with waitMs to wait for it`,
    lockedBy(state, requester, blocker),
  );
}

/** Returns the published beginning of a refusal: who has the file, by the beginning of an id. */
function lockedWords({ actor, file }: Blocker): string {
  return `${isResource(file.lexical) ? file.file : "file"} locked by ${actor.session.slice(0, 8)}`;
}

export function queueFull(state: BaseState, requester: Actor, blocker: Blocker): Refusal {
  return refuse(
    "lock_queue_full",
    `${lockedWords(blocker)}, queue full`,
    lockedBy(state, requester, blocker),
  );
}

export function waitOver(state: BaseState, waiter: Waiter, blocker: Blocker | null): Refusal {
  const by = blocker === null ? { queued: false } : lockedBy(state, waiter.actor, blocker);
  return refuse("lock_timeout", `lock queue timeout (${waiter.waitMs / 1000}s)`, by);
}

/** Returns how a cycle names the actor; two commands of one actor may be in it. */
function waiterName(state: BaseState, actor: Actor): string {
  const { name } = actorRow(state, actor);
  return actor.command === undefined ? name : `a command of ${name}`;
}

/** Refuses a request with the cycle: each actor, the file it waits for, and the actor it waits behind. */
export function deadlock(state: BaseState, cycle: readonly CycleStep[]): Refusal {
  const steps = cycle.map(({ actor, file, other }) => {
    return { waits: waiterName(state, actor), file, for: waiterName(state, other) };
  });
  const words = steps.map(s => `${s.waits} waits for ${s.file} behind ${s.for}`).join(", ");
  return refuse("lock_deadlock", `deadlock: ${words}; release what you hold first`, {
    cycle: steps,
    queued: false,
  });
}
