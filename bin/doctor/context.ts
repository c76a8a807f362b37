/** Names the shared values that go soon because nobody uses them, and how to keep them. */
import type { ContextRow } from "../../protocol/schemas/context.ts";
import { shellArgument } from "../../protocol/text.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { projectRoot } from "../view/places.ts";
import { clean, counted, duration, listed } from "../view/text.ts";
import { rowsOf } from "../with-daemon.ts";
import { warn } from "./advice.ts";
import { withDaemon } from "./with-daemon.ts";

const namesMax = 10;

/** Returns no check if no value goes. Needs a daemon. */
export function checkContext(world: ProcessContext): Promise<Check[]> {
  return withDaemon(world, async client => leaving(await rowsOf(client, "context")));
}

/** The values that go first are named. */
export function leaving(rows: readonly ContextRow[]): Check[] {
  const going = rows
    .flatMap(row => (row.leavesInMs === undefined ? [] : [{ ...row, leavesInMs: row.leavesInMs }]))
    .sort((a, b) => a.leavesInMs - b.leavesInMs);
  const [first] = going;
  if (first === undefined) return [];
  const names = going
    .slice(0, namesMax)
    .map(({ key, project, leavesInMs }) => `${key} of ${projectRoot(project)} in ${duration(leavesInMs)}`);
  const detail = `${counted(going.length, "shared value")} that nobody used for long will go: ${listed(names, going.length - names.length)}`;
  const line = `cd ${shellArgument(projectRoot(first.project))} && kite context get ${shellArgument(first.key)}`;
  return [warn("context", clean(detail), `to keep one, read it or set it again, such as: ${line}`)];
}
