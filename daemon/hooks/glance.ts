/** What a session's status line shows. */
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import type { FileRef } from "../core/frame/actors.ts";
import { waitersOver } from "../core/locks/blockers.ts";
import type { State } from "../core/state.ts";
import { rowsOfSession } from "../core/tables/locks.ts";
import { listOf } from "../core/tables/tasks.ts";
import { nameOf } from "../views/sessions-and-locks.ts";
import type { ActionOf, Run } from "./action.ts";
import type { HookServices } from "./hook-services.ts";
import { unreadOf } from "./inbox.ts";

/** Reads the state alone. It looks at no more than `glanceLocksMax` locks, since it runs at each turn of the client. */
export function glance({ services }: Run, { session }: ActionOf<"glance">): HookOutcome {
  const { engine } = services;
  const { state } = engine;
  const self = state.sessions.live.get(session);
  if (self === undefined) return { did: "glance", ok: true, glance: null };
  const log = engine.logOf(self.project);
  const rows = rowsOfSession(state.locks.actors, session, null);
  const keys = rows.flatMap(({ holds }) => [...holds]).reverse();
  const holds = keys.slice(0, limits.glanceLocksMax).flatMap(key => state.locks.holds.get(key) ?? []);
  const waiters = new Set<string>();
  for (const hold of holds) {
    for (const { actor, origin } of waitersOver(state.locks, hold)) {
      if (origin !== null && actor.session !== session) waiters.add(nameOf(services, actor));
    }
  }
  const [waited] = rows.flatMap(({ waits }) => [...waits].flatMap(ticket => waitedFile(state, ticket)));
  return {
    did: "glance",
    ok: true,
    glance: {
      name: self.name,
      holds: holds.map(({ file }) => file),
      moreHolds: keys.length - holds.length,
      waiters: [...waiters],
      waitsFor: waited === undefined ? null : { file: waited.file, holder: holderOf(services, waited) },
      readyTasks: listOf(log.state.tasks, "ready", log.project(self.project)).size,
      unread: unreadOf(engine, session),
    },
  };
}

function waitedFile({ locks }: State, ticket: number): readonly FileRef[] {
  const waiter = locks.waiters.get(ticket);
  return waiter === undefined || waiter.origin === null ? [] : waiter.files.slice(0, 1);
}

function holderOf(services: HookServices, { key, dir }: FileRef): string | null {
  const { holds, heldPaths } = services.engine.state.locks;
  const [held] = heldPaths.overlapping(key, dir);
  const hold = held === undefined ? undefined : holds.get(held);
  return hold === undefined ? null : nameOf(services, hold.actor);
}
