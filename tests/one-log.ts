import { type Logs, type LogView, ownView } from "../daemon/engine/log-view.ts";

/** A machine that shares no log, over a state in the test's hand. */
export function oneLog(log: Pick<LogView, "state" | "now">): Logs {
  const view = ownView(log);
  return {
    get state() {
      return log.state;
    },
    get now() {
      return log.now;
    },
    logOf: () => view,
    logs: [view],
  };
}
