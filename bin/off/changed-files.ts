/** What `kite config` and `kite check --trust --list` say of a file that no command of Kite changed. `now.ts` has the words of `kite status`. */
import { isChanged, markSeen, type SeenFile } from "../../daemon/config/off-switch.ts";
import { seemsAgents } from "../person.ts";
import { type ProcessContext, print, screenOf } from "../process-context.ts";
import { tilde } from "../view/places.ts";
import { clean, wrap } from "../view/text.ts";

/** Says that something else changed the file that was just shown; from then on it counts as seen, if a person reads it. */
export async function sawFile(
  world: ProcessContext,
  file: SeenFile,
  isAgent: (world: ProcessContext) => Promise<boolean> = seemsAgents,
): Promise<void> {
  const { paths } = world;
  if (!isChanged(paths, file)) return;
  const { width, home } = screenOf(world);
  const isPersons = !(await isAgent(world));
  const path = tilde(paths[file], home);
  const end = isPersons ? ". Now you have seen it, kite status says so no more" : "; your user looks at it";
  print(world, wrap(clean(`! ${path} was changed by no command of Kite${end}.`), width, 2));
  if (isPersons) markSeen(paths, file);
}
