/** Words that what a line wipes is not kept yet. */
import { nearPath, quote } from "../../../protocol/text.ts";
import type { HookOutcome } from "../../seam/slices.ts";
import { type Answer, deny, withContext } from "./answer.ts";
import { outcomeOf } from "./outcome.ts";

/** A denial, else what `rest` says, perhaps with a word beside it. */
export function keepWorkAnswer(cwd: string, outcomes: readonly HookOutcome[], rest: () => Answer): Answer {
  const found = outcomeOf(outcomes, "keep_work");
  if (found === undefined || found.verdict === "allow") return rest();
  const { files, more } = found;
  const names = files.map(file => quote(nearPath(file, cwd))).join(", ");
  const what = `${names}${more === 0 ? "" : ` and ${more} more`}`;
  if (found.verdict === "allow_with_note")
    return withContext(rest(), `Kite: this line wipes ${what}, and Kite has no copy of it yet.`);
  return deny(
    [
      `Kite: this command line did not run yet: it wipes uncommitted work in ${what}, and Kite has not stored a copy of it yet.`,
      "What to do: send exactly the same command again: it will run.",
    ].join("\n"),
  );
}
