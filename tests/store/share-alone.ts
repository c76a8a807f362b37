/** Shares a machine's project with the others before its daemon's first start. */
import { systemClock } from "../../daemon/engine/clock.ts";
import { Engine } from "../../daemon/engine/engine.ts";
import { FileJournal } from "../../daemon/journal/file-journal.ts";
import type { Machine } from "./machines.ts";

/** Enters into the machine's own log that its clone is shared. No daemon may run there. */
export async function shareAlone({ home, node, clone }: Machine): Promise<void> {
  const fail = (what: unknown) => {
    throw new Error(String(what));
  };
  const engine = await Engine.start({
    journal: new FileJournal({ dir: home.paths.journal }),
    clock: systemClock(),
    node: "local",
    storeId: "0123456789",
    onStep: () => {},
    onTrouble: fail,
    onFatal: fail,
  });
  await engine.submitAndWait({ type: "sharing_set", node, projects: [[clone, "example.com/team/app"]] });
  await engine.close();
}
