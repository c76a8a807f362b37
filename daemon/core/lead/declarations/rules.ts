/** What is said of declarations when they are made: see `core/slices.ts`. */
import type { Rules } from "../../handler.ts";
import { compareAgain } from "./compare.ts";

export const comparisonRules: Rules<object> = {
  commands: {},
  points: { agentIsNamed: compareAgain },
};
