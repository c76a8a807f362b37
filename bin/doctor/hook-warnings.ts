/** What `kite status` says of hooks. It loads the checks of doctor only if there is something to say. */
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { dist } from "../version.ts";
import { copiesProblem } from "./hooks.ts";

/** Returns a sentence for copies of another version, and one for all directories where sessions work without hooks. */
export async function hookWarnings(
  world: ProcessContext,
  sessions: readonly SessionRow[],
): Promise<string[]> {
  const found: string[] = [];
  if (copiesProblem(world, dist) !== null) {
    const { checkCopies } = await import("./hooks.ts");
    found.push(...checkCopies(world, dist).map(({ detail, todo }) => `${detail}; ${todo}`));
  }
  if (sessions.length > 0) {
    const { placesIn, unhooked } = await import("./hooks.ts");
    const bare = unhooked(world, sessions);
    if (bare.length > 0) found.push(`Sessions work in ${placesIn(bare)} without hooks: see kite doctor.`);
  }
  return found;
}
