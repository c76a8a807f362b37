/** The fast way of validation: `file_lock` and `file_unlock` of one file, without further fields. */
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import { noControl } from "../../protocol/schemas/session.ts";

/** A request of this form means the same to both types. */
type PlainLock = RequestOf<"file_lock"> & RequestOf<"file_unlock">;

/**
 * Returns the request if it has an `id`, a `file`, perhaps a `rid`, and no other field, all of them valid; else null,
 * and the schema decides. Nearly all lock requests are like that, and a schema costs more than the lock.
 *
 * The plain way is the two schemas in `protocol/lock.ts`; `tests/unit/plain-locks.test.ts` holds them equal.
 */
export function plainLock(value: Readonly<Record<string, unknown>>): PlainLock | null {
  // `in` finds a field named `__proto__` too, which JSON makes a field like any other.
  for (const field in value) {
    if (field !== "type" && field !== "rid" && field !== "id" && field !== "file") return null;
  }
  const { rid, id, file } = value;
  if (typeof id !== "string" || id.length === 0 || id.length > limits.idBytes || !noControl.test(id))
    return null;
  if (typeof file !== "string" || file.length === 0 || file.length > limits.pathBytes) return null;
  if (rid === undefined) return { id, file };
  const isShort = typeof rid === "string" && rid.length <= limits.idBytes;
  return isShort || Number.isFinite(rid) ? { rid: rid as string | number, id, file } : null;
}
