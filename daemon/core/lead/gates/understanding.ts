import { understandingMissing } from "../declarations/missing.ts";
import type { WriteFacts } from "./facts.ts";

/** An agent says how it understands its task, how sure it is, and its plan, before it writes. */
export function understanding({ declaration }: WriteFacts): readonly string[] {
  return understandingMissing(declaration);
}
