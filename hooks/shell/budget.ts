/** How much of a line is followed. */
import { limits } from "../../protocol/limits.ts";

/** The steps and characters that are left for a line and for its aliases. */
export interface Budget {
  steps: number;
  chars: number;
}

export function wholeBudget(): Budget {
  return { steps: limits.shellStepsMax, chars: limits.shellTextChars };
}
