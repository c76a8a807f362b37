/** What a session is called that neither a person nor its client named, and whose branch says nothing. */
import { pairsFor } from "../daemon/core/sessions/names.ts";

/** Returns the name of the session with this id; if another one in its project has it, it gets another. */
export function nameOfId(id: string): string {
  const [pair = ""] = pairsFor(id, 1);
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}/i.test(id) ? pair : id.slice(0, 8);
}
