/** The agents that the trail knows, for a name that it does not know. */
import { readTrail } from "../../daemon/trail/read.ts";
import { clean, listed } from "../view/text.ts";
import { isOf } from "./filter.ts";

/** Names that one sentence lists. */
const listedMax = 10;
/** Names that are kept. */
const keptMax = 1_000;

/**
 * Returns a sentence that lists the latest agents of the trail if it knows none called `agent`, else null. An empty trail
 * knows nobody, and there is nothing to say.
 */
export async function unknownAgent(dir: string, agent: string): Promise<string | null> {
  const names = new Set<string>();
  const [line] = await readTrail(dir, {
    limit: 1,
    filter: one => {
      if (one.name !== null && one.name !== "" && names.size < keptMax) names.add(one.name);
      return isOf(one, agent);
    },
  });
  if (line !== undefined || names.size === 0) return null;
  const shown = [...names].slice(0, listedMax).map(clean);
  return `the log knows no agent ${clean(agent)}; it knows ${listed(shown, names.size - shown.length)}`;
}
