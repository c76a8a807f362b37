/** The fast way to encode replies: a template for those to locks and unlocks, which are most of all replies. */
import { jsonNumber, jsonText } from "../json-text.ts";

/** Fields of a reply to `file_lock`, and to `file_unlock`, in the order in which the core makes them. */
const grantFields = ["ok", "file", "path", "token"] as const;
const releaseFields = ["ok", "released"] as const;

type Maybe = { readonly [F in (typeof grantFields)[number] | (typeof releaseFields)[number]]?: unknown };

/**
 * Returns a reply as a line, with the request's `rid` as its first field. The plain way is `plainReplyLine`;
 * `tests/unit/reply-line.test.ts` holds the two equal.
 */
export function replyLine(rid: string | number | undefined, reply: Maybe): string {
  if (reply.ok !== true) return plainReplyLine(rid, reply);
  const { file, path, token, released } = reply;
  if (typeof file === "string" && typeof path === "string" && typeof token === "string") {
    if (!hasOnly(reply, grantFields)) return plainReplyLine(rid, reply);
    return `${head(rid)}"ok":true,"file":${jsonText(file)},"path":${jsonText(path)},"token":${jsonText(token)}}\n`;
  }
  if (!Array.isArray(released) || released.length !== 1) return plainReplyLine(rid, reply);
  const [first] = released;
  if (typeof first !== "string" || !hasOnly(reply, releaseFields)) return plainReplyLine(rid, reply);
  return `${head(rid)}"ok":true,"released":[${jsonText(first)}]}\n`;
}

/** As `replyLine`, for any reply with fields. */
export function plainReplyLine(rid: string | number | undefined, reply: object): string {
  return jsonReplyLine(rid, JSON.stringify(reply));
}

/** As `replyLine`, for a reply that is JSON already. The `rid` is added as text: a copy of the object would cost more. */
export function jsonReplyLine(rid: string | number | undefined, json: string): string {
  return rid === undefined ? `${json}\n` : `${head(rid)}${json.slice(1)}\n`;
}

function head(rid: string | number | undefined): string {
  if (rid === undefined) return "{";
  return `{"rid":${typeof rid === "number" ? jsonNumber(rid) : jsonText(rid)},`;
}

/** Whether the reply, an object literal, has exactly these fields in this order. */
function hasOnly(reply: object, fields: readonly string[]): boolean {
  let count = 0;
  for (const field in reply) {
    if (field !== fields[count]) return false;
    count += 1;
  }
  return count === fields.length;
}
