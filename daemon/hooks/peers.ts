/**
 * What an agent is told at its start: who works in its project, what they declared, what was finished there. A prompt tells
 * what of that changed.
 * Invariant: however many sessions and keys there are, only those are looked at that can be shown or whose work is compared.
 */

import type { CodeViewNote, FinishedNote, PeerLock } from "../../hooks/seam/outcomes.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import { least } from "../bounded-map.ts";
import type { FileRef } from "../core/frame/actors.ts";
import { useOf, waitersOver } from "../core/locks/blockers.ts";
import { countPresent, isPresent } from "../core/sessions/room.ts";
import type { State } from "../core/state.ts";
import type { Hold, Session } from "../core/tables/base-state.ts";
import { countItems, itemsOf, itemsSince, latestItem } from "../core/tables/context.ts";
import { type DeclaredFile, declarationsOf } from "../core/tables/declarations.ts";
import { rowsOfSession } from "../core/tables/locks.ts";
import { pathOf } from "../core/tables/naming.ts";
import { latestFinished, listOf } from "../core/tables/tasks.ts";
import { idIn } from "../engine/log-view.ts";
import type { Services } from "../options.ts";
import { elsewhereRows } from "../views/elsewhere.ts";
import { lookAtHeads, nameOf, sessionRow, workedOn } from "../views/sessions.ts";
import { keptBy } from "./edits/edit-lock.ts";
import type { ActionOf, HookEvent } from "./event.ts";
import { unreadOf } from "./inbox.ts";
import type { HookParts, Needs } from "./parts.ts";
import { marksOf, Nearness, type PeerMarks, withSlash } from "./session-work.ts";

type PeerKnowledge = HookParts["peers"];

/** The event of whoever asks. */
type Asking = Services & Pick<HookEvent, "delivery">;

const nobody = {
  ...{ sessions: [], moreSessions: 0, own: null, views: [], locks: [], finished: [], keys: [], moreKeys: 0 },
  ...{ readyTasks: 0, ownTasks: [], unread: 0, changes: null },
} as const;

/** Lists them when the connection has its turn: many agents may start at the same time. */
export async function listPeersInTurn(
  event: HookEvent,
  action: ActionOf<"list_peers">,
  parts: Needs<"peers">,
): Promise<HookOutcome | null> {
  const self = event.engine.state.sessions.live.get(action.session);
  if (self !== undefined && countPresent(event.engine.state.sessions, self.project) > 1)
    await lookAtHeads(event, self.project);
  const outcome = await event.call.inTurn(() => listPeers(event, action, parts), limits.peersEffort);
  return outcome ?? { did: "list_peers", ok: true, self: "", ...nobody };
}

export function listPeers(
  event: Asking,
  action: ActionOf<"list_peers">,
  { peers }: Needs<"peers">,
): HookOutcome {
  const { session, agent = null, changesOnly } = action;
  const { engine } = event;
  const self = engine.state.sessions.live.get(session);
  const silent = (name: string) => ({ did: "list_peers", ok: true, self: name, ...nobody }) as const;
  if (self === undefined) return silent(session.slice(0, 8));
  const isFull = self.agents.size >= limits.agentsPerSessionMax;
  // A teammate starts each time it wakes: only at its first start is it unknown.
  if (agent !== null && (self.agents.has(agent) || isFull)) return silent(self.name);
  if (agent !== null)
    return {
      ...silent(self.name),
      ...known(event, peers, self, null, null),
      own: sessionRow(event, self),
    };
  const changes = changesFor(event, peers, self);
  if (changesOnly === true) {
    const { changed, gone, before } = changes;
    const news = known(event, peers, self, changed, before ?? toldNothing);
    return { ...silent(self.name), ...news, changes: { gone, isFirst: before === null } };
  }
  const log = engine.logOf(self.project);
  const readyTasks = listOf(log.state.tasks, "ready", self.project).size;
  const own = { readyTasks, ownTasks: workedOn(engine, session), unread: unreadOf(engine, session) };
  const all = known(event, peers, self, null, null);
  return { ...silent(self.name), ...all, ...own, ...elsewhere(event, self) };
}

/** Sessions of the project on other machines, as many as can be shown. */
function elsewhere({ engine, clock }: Services, { project }: Session) {
  if (engine.logs.length === 1) return {};
  const { asOfMs } = engine.logOf(project);
  const storeAgoMs = asOfMs == null ? asOfMs : Math.max(0, clock.wall() - asOfMs);
  const rows = [...elsewhereRows(engine, project)];
  const shown = rows.slice(0, limits.noteRowsMax).map(({ row }) => row());
  const known = storeAgoMs === undefined ? {} : { storeAgoMs };
  return { elsewhere: shown, moreElsewhere: rows.length - shown.length, ...known };
}

/** What changed since the session was told last. It counts as told when this answer is delivered. */
function changesFor(event: Asking, { memory, works }: PeerKnowledge, self: Session) {
  const { engine, delivery } = event;
  const { project } = self;
  const log = engine.logOf(project);
  const now: PeerMarks = {
    sessions: marksOf(event, works, self),
    finishedAt: latestFinished(log.state.tasks, project, 1)[0]?.updatedAt ?? 0,
    sharedAt: latestItem(log.state.context, project, log.now)?.at ?? 0,
  };
  delivery.whenTold(isDelivered => {
    if (isDelivered) memory.told(self.id, now);
  });
  return memory.changes(self.id, now, id => engine.state.sessions.live.has(id));
}

const toldNothing: PeerMarks = { sessions: new Map(), finishedAt: 0, sharedAt: 0 };

/**
 * Returns what is known of the nearest sessions, of all or of those in `only`, and of the project. With `before`, only what
 * others finished or shared since counts.
 */
function known(
  services: Services,
  peers: PeerKnowledge,
  self: Session,
  only: ReadonlySet<string> | null,
  before: PeerMarks | null,
) {
  const near = new Nearness(services, peers.works, self);
  const { sorted, more } = nearest(services, self, near, only);
  const viewed = before === null ? [self, ...sorted] : sorted;
  return {
    sessions: sorted.map(one => sessionRow(services, one)),
    moreSessions: more,
    views: viewed.flatMap(one => viewsOf(services, one, near)),
    locks: sorted.flatMap(one => locksOf(services, peers, one, near)),
    finished: finishedLately(services, self, before),
    ...keysOf(services, self, before),
  };
}

/** As many sessions as can be shown, the nearest first, and how many there are besides. */
function nearest(
  services: Services,
  self: Session,
  near: Nearness,
  only: ReadonlySet<string> | null,
): { readonly sorted: readonly Session[]; readonly more: number } {
  const { sessions } = services.engine.state;
  const found = only === null ? null : [...only].filter(id => isOther(services, self, id));
  const count =
    found?.length ?? countPresent(sessions, self.project) - Number(isPresent(services.engine.state, self));
  const latest = found === null ? latestOthers(services, self, count) : latestOf(services, found);
  const sorted = near.sort(latest.flatMap(id => sessions.live.get(id) ?? [])).slice(0, limits.noteRowsMax);
  return { sorted, more: count - sorted.length };
}

/** The ids of those of the `count` others that gave the latest signs of life. */
function latestOthers(services: Services, self: Session, count: number): string[] {
  const latest: string[] = [];
  const max = Math.min(count, limits.nearSessionsMax);
  if (max === 0) return latest;
  for (const id of services.presence.latestIn(self.project))
    if (isOther(services, self, id) && latest.push(id) === max) break;
  return latest;
}

function latestOf({ presence }: Services, ids: readonly string[]): string[] {
  const seen = ids.map(id => ({ id, seenAt: presence.of(id).seenAt }));
  return least(seen, limits.nearSessionsMax, (a, b) => b.seenAt - a.seenAt).map(({ id }) => id);
}

/** Whether the id is that of another session that is there in the project; of lost ones only those with a lock are. */
function isOther({ engine: { state } }: Services, self: Session, id: string): boolean {
  const one = state.sessions.live.get(id);
  return one !== undefined && one !== self && one.project === self.project && isPresent(state, one);
}

function viewsOf({ engine }: Services, session: Session, near: Nearness): CodeViewNote[] {
  return declarationsOf(engine.state.declarations, session.id).flatMap(({ session: id, agent, files }) => {
    const pathOf = ({ path, dir }: DeclaredFile) => withSlash(path, dir);
    const shown = near.nearestFiles(files, session, { max: limits.startFilesMax, pathOf });
    const more = files.length - shown.length;
    return files.length === 0 ? [] : [{ id, agent, files: shown.map(pathOf), more }];
  });
}

function locksOf(services: Services, { works }: PeerKnowledge, session: Session, near: Nearness): PeerLock[] {
  const { state, now } = services.engine;
  const { holds } = works.of(services, session);
  const nameOf = (hold: Hold) => withSlash(pathOf(hold), hold.dir);
  return near.nearestFiles(holds, session, { max: limits.startFilesMax, pathOf: nameOf }).map(hold => ({
    session: session.id,
    file: pathOf(hold),
    heldMs: Math.max(0, now - (keptBy(hold) ?? hold).since),
    waiters: [...waitersOver(state.locks, hold)].length,
    isDirectory: hold.dir,
    stays: keptBy(hold)?.stays ?? useOf(hold),
  }));
}

function finishedLately(
  { engine, clock }: Services,
  self: Session,
  before: PeerMarks | null,
): FinishedNote[] {
  const since = clock.wall() - limits.startTasksMs;
  const log = engine.logOf(self.project);
  return latestFinished(log.state.tasks, self.project, limits.startTasksMax).flatMap(
    ({ updatedAt, description, state }) => {
      if (updatedAt < since || state.status !== "done") return [];
      const { by } = state;
      if (before !== null && (updatedAt <= before.finishedAt || by?.id === idIn(log, self.id))) return [];
      return [{ description, by: by?.name ?? null, result: state.result }];
    },
  );
}

/** The keys of the project; with `before` those that others set since. */
function keysOf(services: Services, self: Session, before: PeerMarks | null) {
  if (before === null || before === toldNothing) return allKeysOf(services, self, before !== null);
  const log = services.engine.logOf(self.project);
  const id = idIn(log, self.id);
  let count = 0;
  function* fresh(since: number) {
    for (const { key, from } of itemsSince(log.state.context, self.project, since, log.now)) {
      if (from?.id === id) continue;
      count += 1;
      yield key;
    }
  }
  const keys = least(fresh(before.sharedAt), limits.startKeysMax, (a, b) => (a < b ? -1 : 1));
  return { keys, moreKeys: count - keys.length };
}

/** The first keys of the project, without its own if `ofOthers`; these may be among the keys that are only counted. */
function allKeysOf({ engine }: Services, self: Session, ofOthers: boolean) {
  const { project } = self;
  const log = engine.logOf(project);
  const { context } = log.state;
  const keys: string[] = [];
  const id = idIn(log, self.id);
  let own = 0;
  for (const { key, from } of itemsOf(context, project, log.now)) {
    if (keys.length === limits.startKeysMax) break;
    if (ofOthers && from?.id === id) own += 1;
    else keys.push(key);
  }
  return { keys, moreKeys: Math.max(0, countItems(context, project) - own - keys.length) };
}

// What a session's status line shows.

/** Reads the state alone. It looks at no more than `glanceLocksMax` locks, since it runs at each turn of the client. */
export function glance(event: HookEvent, { session }: ActionOf<"glance">): HookOutcome {
  const { engine } = event;
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
      if (origin !== null && actor.session !== session) waiters.add(nameOf(event, actor));
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
      waitsFor: waited === undefined ? null : { file: waited.file, holder: holderOf(event, waited) },
      readyTasks: listOf(log.state.tasks, "ready", self.project).size,
      unread: unreadOf(engine, session),
    },
  };
}

function waitedFile({ locks }: State, ticket: number): readonly FileRef[] {
  const waiter = locks.waiters.get(ticket);
  return waiter === undefined || waiter.origin === null ? [] : waiter.files.slice(0, 1);
}

function holderOf(services: Services, { key, dir }: FileRef): string | null {
  const { holds, heldPaths } = services.engine.state.locks;
  const [held] = heldPaths.overlapping(key, dir);
  const hold = held === undefined ? undefined : holds.get(held);
  return hold === undefined ? null : nameOf(services, hold.actor);
}
