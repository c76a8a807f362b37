/** The numbers of the tasks that a text names: which of them are of the reader's project, the daemon says. */

import { LocalError } from "../../client/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { inNumbers, type Numbers, named, numbersOf } from "../view/task-names.ts";
import type { Client, ProcessContext } from "./process-context.ts";
import { ownProject } from "./project.ts";

/** Returns the numbers of the first tasks that a text names, as far as they are of `project`; asks the daemon for each. */
export async function numbersIn(
  client: Pick<Client, "request">,
  project: string,
  text: string,
  max: number = limits.idsNamedMax + 1,
): Promise<Numbers> {
  const ids = [...new Set([...text.matchAll(named)].map(([, , id = ""]) => id))];
  const requests = ids.slice(0, max).map(task => client.request("task_get", { task, project }));
  const rows = (await Promise.all(requests)).flatMap(answer => (answer.ok ? [answer.task] : []));
  return numbersOf(rows, project);
}

/** Ids of a screen for which the daemon is asked. */
const screenIdsMax = 100;

/**
 * Returns what puts the numbers of tasks into texts of a screen, of which `all` has the words. The ids stay if no
 * daemon runs, and for tasks of another project than the working directory's.
 */
export async function numbering(world: ProcessContext, client: Client | null, all: string): Promise<Worded> {
  if (all.match(named) === null) return asIs;
  const project = await ownProject(world);
  if (project === null) return asIs;
  const found = client ?? (await connectedTo(world));
  if (found === null) return asIs;
  try {
    const numbers = await numbersIn(found, project, all, screenIdsMax);
    return text => inNumbers(text, numbers);
  } catch (error) {
    // The screen is what the person needs to read, also if the connection is lost meanwhile.
    if (!(error instanceof LocalError)) throw error;
    return asIs;
  } finally {
    if (found !== client) found.close();
  }
}

export type Worded = (text: string) => string;

const asIs: Worded = text => text;

async function connectedTo(world: ProcessContext): Promise<Client | null> {
  try {
    return await world.connect({ name: "kite", reconnect: false });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return null;
  }
}
