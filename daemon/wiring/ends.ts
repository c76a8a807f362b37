/** Takes what hooks left of ends while no daemon served them, and watches agents of before the start. */
import { turnOver } from "../hooks/session-actions.ts";
import { takeUnheardEnds } from "../hooks/unheard-ends.ts";
import type { DaemonOptions } from "../options.ts";
import { UnseenWatch } from "../sessions/unseen-watch.ts";
import type { Troubles } from "./log.ts";
import type { Built } from "./services.ts";

/** Returns what takes them once more: those of hooks that found no socket while this daemon started. */
export async function takeEnds(
  { paths, log }: DaemonOptions,
  { services }: Built,
  { onTrouble }: Troubles,
): Promise<() => Promise<void>> {
  const take = async () => {
    try {
      const lines = await takeUnheardEnds(services, paths.unheardEnds);
      if (lines > 0) log.info({ lines }, "took ends that no daemon had taken");
    } catch (error) {
      onTrouble("ends that no daemon had taken cannot be read", error);
    }
  };
  await take();
  new UnseenWatch(services, {
    turnOver: session => turnOver(services, session),
    onTrouble: error => onTrouble("agents of before the start cannot be watched", error),
  }).begin();
  return take;
}
