import type { AgentFile } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "./filesystem.ts";

/**
 * Returns the parent agent that the client's file names; null if the file names none, is missing or has another form.
 */
export async function parentAgent(
  outside: BudgetedFs,
  clients: readonly AgentFile[],
  file: string,
): Promise<string | null | Unreachable> {
  const own = clients.find(({ isOne }) => isOne(file));
  if (own === undefined) return null;
  const text = await outside.fact(budget =>
    outside.look(file, null, budget, (prober, path) => prober.readSmall(path, limits.smallFileBytes), {
      maybeElsewhere: true,
    }),
  );
  return typeof text === "string" ? own.parentIn(text) : text;
}
