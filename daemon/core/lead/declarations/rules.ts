/** What is said of declarations when they are made: see `core/slices.ts`. */

import { compareAgain } from "../../declarations/compare.ts";
import type { Rules } from "../../handler.ts";

export const comparisonRules: Rules<object> = {
  commands: {},
  points: { agentIsNamed: compareAgain },
};
