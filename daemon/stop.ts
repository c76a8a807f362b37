/** Ends a daemon: closes its parts in the opposite order of their start. */
import { limits } from "../protocol/limits.ts";
import type { KitePaths } from "../protocol/paths.ts";
import type { Log } from "./engine/engine.ts";
import type { EventHub } from "./events/hub.ts";
import { saveEvents } from "./events/ring-file.ts";
import type { UnhookedWatch } from "./hooks/unhooked-watch.ts";
import type { Instance } from "./instance/instance.ts";
import type { Listening } from "./instance/socket.ts";
import { writeStoreMark } from "./journal/store-mark.ts";
import type { Rescue } from "./rescue/services.ts";
import type { Server } from "./server/server.ts";
import type { Life } from "./sessions/liveness.ts";
import type { PresenceFile } from "./sessions/presence-file.ts";
import type { Trail } from "./trail/trail.ts";

export interface Parts {
  readonly paths: KitePaths;
  readonly kept: PresenceFile;
  readonly instance: Instance;
  readonly life: Life;
  readonly unhooked: Pick<UnhookedWatch, "close">;
  readonly listening: Listening;
  readonly engine: Log;
  /** What closes before the own log, if anything is shared. */
  readonly shared: { close(): Promise<void> } | null;
  readonly events: EventHub;
  readonly server: Server;
  readonly trail: Trail;
  readonly rescue: Rescue | null;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** Resolves when every part is closed and another daemon may start. */
export async function stopAll(parts: Parts): Promise<void> {
  const {
    paths,
    kept,
    instance,
    life,
    unhooked,
    listening,
    engine,
    shared,
    events,
    server,
    trail,
    rescue,
    onTrouble,
  } = parts;
  life.close();
  unhooked.close();
  instance.watchSocket(null);
  const closed = listening.close();
  await shared?.close();
  try {
    await engine.close();
  } catch (error) {
    // Every acknowledged entry is in the journal already; the next start replays it.
    onTrouble("the journal could not be closed in order", error);
  }
  try {
    // If the folder is no longer this daemon's, another daemon may keep its own file there.
    if (instance.stillOurs()) {
      writeStoreMark(paths, engine.state, onTrouble);
      saveEvents(paths.events, events.kept);
      kept.save();
    }
  } catch (error) {
    // Subscribers that come back get `lagged`.
    onTrouble("the events for returning subscribers could not be saved", error);
  }
  server.endAll();
  const force = setTimeout(() => server.destroyAll(), limits.shutdownMs / 4);
  await closed;
  clearTimeout(force);
  await rescue?.close();
  await trail.close();
  await instance.release();
}
