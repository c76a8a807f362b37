import { identityMissing } from "../declarations/missing.ts";
import type { WriteFacts } from "./facts.ts";

/** An agent says what it is in its team before it writes. */
export function identity({ declaration }: WriteFacts): readonly string[] {
  return identityMissing(declaration);
}
