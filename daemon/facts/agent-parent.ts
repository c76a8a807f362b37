import type { AgentFile } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "./filesystem.ts";

/**
 * The agent that began another one, as the client's own file about it says; null where it says none, is not there or
 * is not such a file.
 */
export async function parentAgent(
  outside: BudgetedFs,
  { isOne, parentIn }: AgentFile,
  file: string,
): Promise<string | null | Unreachable> {
  if (!isOne(file)) return null;
  const text = await outside.fact(budget =>
    outside.look(file, null, budget, (prober, path) => prober.readSmall(path, limits.smallFileBytes), {
      maybeElsewhere: true,
    }),
  );
  return typeof text === "string" ? parentIn(text) : text;
}
