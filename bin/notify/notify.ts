/** `kite notify`: shows notices until it is ended. */
import { LocalError } from "../../client/errors.ts";
import type { NotifySetting } from "../../daemon/config/base-settings.ts";
import { notifyDefaults } from "../../daemon/config/base-settings.ts";
import { streamCode, streamEnd } from "../live.ts";
import { type Client, type ProcessContext, print } from "../process-context.ts";
import { ask, exitCodes, fail, Refused, rowsOf, withDaemon } from "../with-daemon.ts";
import { eventNotice, type Notice, NoticeWatch, type Projects } from "./notices.ts";
import type { Notifier } from "./notifier.ts";

const tickMs = 5_000;
/** How long it waits for a daemon that went away: a day, since somebody starts the next one some time. */
const absenceMs = 86_400_000;

/**
 * Runs until `until` is aborted or the daemon is gone for good; `endsWithDaemon`: until its connection ends. A notifier that
 * fails is reported, and tried again.
 */
export function notify(
  world: ProcessContext,
  { personMs = notifyDefaults.personMs, waitMs = notifyDefaults.waitMs }: NotifySetting,
  notifier: Notifier,
  until: AbortSignal,
  endsWithDaemon = false,
): Promise<number> {
  const show = async (notice: Notice) => {
    print(world, [`${notice.title}: ${notice.text}`]);
    try {
      await notifier(notice);
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
      fail(world, false, "notifier_failed", error.message);
    }
  };
  const work = async (client: Client) => {
    await ask(client, "subscribe", { events: ["work_taken", "work_wiped", "lost_update"] });
    const watch = new NoticeWatch({ personMs, waitMs });
    let projects: Projects = new Map();
    let isBusy = false;
    const look = async () => {
      if (isBusy) return;
      isBusy = true;
      try {
        const [sessions, locks] = await Promise.all([rowsOf(client, "sessions"), rowsOf(client, "locks")]);
        projects = new Map(sessions.map(({ id, project }) => [id, project]));
        for (const notice of watch.look(sessions, locks, world.now())) await show(notice);
      } catch (error) {
        // The daemon is away: the next tick asks again, or the client's end ends this.
        if (!(error instanceof LocalError) && !(error instanceof Refused)) throw error;
      } finally {
        isBusy = false;
      }
    };
    const stops = [
      client.onEvent(event => {
        const notice = eventNotice(event, projects);
        if (notice !== null) void show(notice);
      }),
      world.every(tickMs, () => void look()),
    ];
    print(world, ["watching: somebody who needs you, long waits, work that was wiped; Ctrl-C ends it"]);
    await look();
    const why = await streamEnd(client, until);
    for (const stop of stops) stop();
    return endsWithDaemon ? exitCodes.done : streamCode(world, false, why);
  };
  // The `kite notify` that began with the daemon does not keep it.
  const lasts = endsWithDaemon ? { onlooker: true as const } : { reconnect: true, reconnectMs: absenceMs };
  return withDaemon(world, false, work, lasts);
}
