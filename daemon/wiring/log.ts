/** Opens the log: its journal and engine, and who hears of its steps. */
import { randomBytes } from "node:crypto";
import { limits } from "../../protocol/limits.ts";
import { personName } from "../../protocol/names.ts";
import type { Entry, Step } from "../core/tables/entries.ts";
import { systemClock } from "../engine/clock.ts";
import { Engine, type Log } from "../engine/engine.ts";
import { Listeners } from "../engine/listeners.ts";
import { EventHub } from "../events/hub.ts";
import { loadEvents } from "../events/ring-file.ts";
import { FileJournal } from "../journal/file-journal.ts";
import { journalBefore, olderStoreText, shortStart, writeStoreMark } from "../journal/store-mark.ts";
import type { DaemonOptions } from "../options.ts";
import { Server } from "../server/server.ts";
import { Turns } from "../server/turns.ts";
import { type ClaimLog, claimWatch } from "../sessions/claim-watch.ts";
import { ownEvents } from "../sharing/events.ts";
import { sharedSettings } from "../sharing/settings.ts";
import { trailOf } from "../trail/from-events.ts";
import { Trail } from "../trail/trail.ts";
import { openShared } from "./shared.ts";

/** The name in the log of this machine's sessions, keys and anchors; other machines would have their own. */
export const node = "local";

/** What hears of the daemon's troubles. */
export interface Troubles {
  readonly onTrouble: (message: string, error: unknown) => void;
  /** The daemon cannot go on. */
  readonly onFatal: (error: Error) => void;
}

export type OpenLog = Awaited<ReturnType<typeof openLog>>;

/** Replays the journal; `listeners` may grow while the daemon runs. */
export async function openLog(options: DaemonOptions, { onTrouble, onFatal }: Troubles) {
  const { paths, config, version } = options;
  const settings = options.shared ?? sharedSettings(config.values.store, paths);
  const clock = options.clock ?? systemClock();
  const trail = new Trail(paths.trail, { onError: error => onTrouble("the trail cannot be written", error) });
  const known = journalBefore(paths);
  const journal = options.journal ?? new FileJournal({ dir: paths.journal, epochAfter: known.epoch });
  const server = new Server(onTrouble);
  const turns = new Turns();
  const events = new EventHub(() => server.connections, turns);
  // Where machines share a log, nobody can tell what came of it between two starts: clients that come back ask anew.
  const before = settings === null ? loadEvents(paths.events) : null;
  if (before !== null) events.take(before);
  const listeners = new Listeners();
  let isShared: (project: string) => boolean = () => false;
  listeners.add({
    events: "all",
    stepped: (_entry, { events }) => {
      for (const line of trailOf(events, clock.wall())) trail.write(line);
    },
  });
  let flush: (() => void) | null = null;
  const onStep = (entry: Entry, step: Step, epoch: number, replayed: boolean) => {
    if (replayed) return settings === null ? events.recall(epoch, entry.seq, step) : undefined;
    const told = settings === null ? step : ownEvents(step, isShared);
    events.publish(epoch, entry.seq, told);
    listeners.tell(entry, told);
    // The entry may have left something in the outbox.
    flush?.();
  };
  const storeId = randomBytes(5).toString("hex");
  const { snapshotEntries = limits.snapshotEntries } = options;
  const parts = { journal, clock, node, storeId, snapshotEntries };
  const onCondition = (is: string, why: string) =>
    options.log[is === "open" ? "info" : "warn"](
      { why },
      is === "opening" ? "the shared store is not reached" : `the shared store is ${is}`,
    );
  const own = await Engine.start({ ...parts, onStep, onTrouble, onFatal });
  // A store that was taken out of the settings by hand has nothing: what is shared is here alone meanwhile.
  if (settings !== null) isShared = project => own.state.outbox.projects.has(project);
  listeners.add(claimWatch({ own, clock }, ownClaims(own, isShared)));
  const short = options.journal === undefined ? shortStart(known, own.found, clock.wall()) : undefined;
  writeStoreMark(paths, own.state, onTrouble, short);
  const older = olderStoreText(paths, clock.wall(), at => new Date(at).toISOString());
  if (older !== null) options.log.warn(older);
  const shared =
    settings === null
      ? null
      : openShared({ own, clock, events, trail }, settings, { version, onTrouble, onCondition });
  if (shared !== null) flush = () => shared.store.flush();
  const engine: Log = shared?.engine ?? own;
  return { clock, trail, journal, server, turns, events, listeners, engine, shared };
}

/** The claims of projects that this machine shares with none. */
function ownClaims(own: Engine, isShared: (project: string) => boolean): ClaimLog {
  return {
    get state() {
      return own.state;
    },
    hasProject: project => !isShared(project),
    actorHere: actor => (own.state.sessions.live.has(actor.session) ? actor : null),
    personOf: () => personName("agent"),
  };
}
