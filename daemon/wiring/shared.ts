/** Opens what this machine shares with others, if a store is set. */

import type { Clock } from "../engine/clock.ts";
import type { Engine, Log } from "../engine/engine.ts";
import { Listeners } from "../engine/listeners.ts";
import type { EventHub } from "../events/hub.ts";
import { inboxEvent } from "../events/inbox-event.ts";
import { eventsHere, isOfSameFile, toldElsewhere } from "../sharing/events.ts";
import { LostClaims } from "../sharing/lost-claims.ts";
import { MoveTries } from "../sharing/move-tries.ts";
import { SharedNames } from "../sharing/names.ts";
import { StoreNews } from "../sharing/news.ts";
import type { SharedSettings } from "../sharing/settings.ts";
import { SharedStore } from "../sharing/shared-store.ts";
import type { SharedStoreOptions } from "../sharing/shared-store-options.ts";
import { changeLines, joinedLine, movedLine, refusedLines, sameFileLines } from "../sharing/trail.ts";
import { TwoLogs } from "../sharing/two-logs.ts";
import { trailOf } from "../trail/from-events.ts";
import type { TrailLine } from "../trail/line.ts";
import type { Trail } from "../trail/trail.ts";

export interface Shared {
  readonly store: SharedStore;
  readonly engine: Log;
  /** They hear of each step of the shared log, with this machine's names. */
  readonly listeners: Listeners;
}

/** Returns the two logs as one; the shared one opens by itself, whenever the store can be reached. */
export function openShared(
  {
    own,
    clock,
    events,
    trail,
  }: { readonly own: Engine; readonly clock: Clock; readonly events: EventHub; readonly trail: Trail },
  settings: SharedSettings,
  { version, onTrouble, onCondition }: Pick<SharedStoreOptions, "version" | "onTrouble" | "onCondition">,
): Shared {
  const { node } = settings;
  const listeners = new Listeners();
  const names: SharedNames = new SharedNames({ node, own: () => own.state, shared: () => store.state });
  const store: SharedStore = new SharedStore({
    ...settings,
    own,
    clock,
    version,
    onTrouble,
    onCondition: (is, why) => {
      onCondition(is, why);
      news.look();
      if (is === "open") moves.begin();
      claims.changed(is);
    },
    onStep: (entry, step) => {
      claims.stepped(entry, step);
      // What nodes say of themselves; who falls silent is seen when another one says that it is there.
      if (entry.command.type.startsWith("node_")) news.look();
      for (const event of toldElsewhere(entry, names, node, store.state))
        events.tell({ ...event }, [event.session], event.project);
      const read = store.state === null ? null : inboxEvent(entry, store.state);
      if (read !== null)
        for (const project of names.projectsOf(read.project))
          events.tell({ ...names.outward(read, project) }, [], project);
      write(refusedLines(entry, step.reply, store.state, clock.wall()));
      const here = eventsHere(step.events, names, node);
      if (here.length > 0) events.publishBeside(here);
      // Each machine's trail has what its own sessions did, and what others do to their files.
      const isOwn = entry.origin.node === node;
      const told = step.events.filter(({ event }) => isOwn || isOfSameFile(event));
      const once = here.length === 0 || told.length === 0 ? [] : eventsHere(told, names, node, true);
      if (isOwn) write(trailOf(once, clock.wall()));
      write(once.flatMap(({ event }) => sameFileLines(event, own.state, clock.wall())));
      listeners.tell(entry, { ...step, events: [...here] });
    },
  });
  const moves = new MoveTries(store, {
    clock,
    onTrouble,
    onMoved: (sharing, copied) => write(movedLine(sharing, copied, clock.wall())),
    onEnded: () => news.look(),
  });
  const claims = new LostClaims({ store, names, clock, path: settings.claimsPath, onTrouble });
  const write = (lines: readonly TrailLine[]) => {
    for (const line of lines) trail.write(line);
  };
  let before: string | null = own.state.outbox.node;
  const news = new StoreNews(store, (state, was) => {
    events.tell({ event: "store_changed", store: state }, [], "");
    if (state.is === "open" && before !== null) {
      if (before !== node) write([joinedLine(state, before, clock.wall())]);
      before = null;
    }
    write(changeLines(was, state, clock.wall()));
  });
  store.start();
  return { store, engine: new TwoLogs({ own, store, names, clock }), listeners };
}
