/** Parses a line into a valid request, or into the refusal that says why it is invalid. */

import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { type RequestOf, type RequestType, requests } from "../../protocol/schemas/requests.ts";
import { noControl } from "../../protocol/schemas/session.ts";
import { nearest } from "../../protocol/text.ts";
import { isObject, type Line, nestingWithin } from "../../protocol/wire.ts";

// Checks the nesting and size of JSON text without parsing it.

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Whether JSON text is nested at most `depthMax` deep and has at most `containersMax` objects and lists. One
 * pass; for text that is no JSON the result is arbitrary. (A parser needs seconds and 1 GB for 32 MiB of brackets.)
 */
function jsonWithinBounds(text: string, depthMax: number, containersMax: number): boolean {
  let depth = 0;
  let containers = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit === quote) {
      i = endOfString(text, i);
      if (i === -1) return true;
    } else if (unit === openBracket || unit === openBrace) {
      depth += 1;
      containers += 1;
      if (depth > depthMax || containers > containersMax) return false;
    } else if (unit === closeBracket || unit === closeBrace) depth -= 1;
  }
  return true;
}

/** Index of the closing quote of the string that opens at `start`; -1 if it is missing. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return -1;
}

// The fast way of validation: `file_lock` and `file_unlock` of one file, without further fields.

/** A request of this form means the same to both types. */
type PlainLock = RequestOf<"file_lock"> & RequestOf<"file_unlock">;

/**
 * Returns the request if it has a valid `id` and `file`, perhaps a valid `rid`, and no other field. Else returns null, and
 * the schema decides. Nearly all lock requests have this form. Without this, a pipelined lock request takes 1.37 times the
 * processor time.
 *
 * The plain way is the two schemas in `protocol/schemas/lock.ts`; `tests/unit/plain-locks.test.ts` holds them equal.
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

const types: ReadonlySet<string> = new Set(Object.keys(requests));

type Rid = string | number | undefined;

/** A valid request or a refusal, both with the `rid` for the reply. */
export type Parsed =
  | {
      readonly ok: true;
      readonly rid: Rid;
      readonly type: RequestType;
      readonly request: RequestOf<RequestType>;
    }
  | { readonly ok: false; readonly rid: Rid; readonly refusal: Refusal };

export function parseRequest(line: Line): Parsed {
  if ("fault" in line) return { ok: false, rid: undefined, refusal: faults[line.fault] };
  if (
    line.text.length > limits.lineBytes &&
    !jsonWithinBounds(line.text, hookDepthMax, limits.containersMax)
  ) {
    return bad(undefined, tooDeep);
  }
  let value: unknown;
  try {
    value = JSON.parse(line.text);
  } catch {
    // The protocol has one published refusal for every invalid JSON.
    return bad(undefined, refuse("invalid_json", "invalid json"));
  }
  if (!isObject(value)) return bad(undefined, refuse("invalid_json", "invalid json"));
  const rid = typeof value["rid"] === "string" || typeof value["rid"] === "number" ? value["rid"] : undefined;
  const type = value["type"];
  if (type === "file_lock" || type === "file_unlock") {
    const request = plainLock(value);
    if (request !== null) return { ok: true, rid, type, request };
  }
  if (!isType(type)) return bad(rid, unknownType(type));
  if (!nested(type, value)) {
    return bad(rid, tooDeep);
  }
  const parsed = requests[type].params.safeParse(value);
  if (parsed.success) return { ok: true, rid, type, request: parsed.data };
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") || "request";
  return bad(
    rid,
    refuse("invalid_request", `${type}: ${where}: ${issue?.message ?? "not valid"}`, { path: where }),
  );
}

const faults = {
  line_too_long: refuse(
    "line_too_long",
    `the line is longer than ${limits.lineBytes} bytes (${limits.hookLineBytes} for a hook) and was thrown away`,
  ),
  invalid_utf8: refuse("invalid_utf8", "the line is not UTF-8; send JSON encoded as UTF-8"),
};

const tooDeep = refuse(
  "nesting_too_deep",
  `a request is nested at most ${limits.nestingMax} deep (${limits.hookNestingMax} within event), and a long one ` +
    `has at most ${limits.containersMax} objects and lists`,
);

/** Depth of the whole line: `event` is one level down. */
const hookDepthMax = limits.hookNestingMax + 1;

function bad(rid: Rid, refusal: Refusal): Parsed {
  return { ok: false, rid, refusal };
}

function unknownType(type: unknown): Refusal {
  if (typeof type !== "string")
    return refuse("unknown_type", 'a request needs a type, for example {"type":"ping"}');
  const near = nearest(type, types);
  const hint = near === null ? `the types are ${[...types].join(", ")}` : `did you mean ${near}?`;
  return refuse("unknown_type", `unknown type ${JSON.stringify(type.slice(0, 80))}; ${hint}`, {
    nearest: near,
  });
}

function isType(type: unknown): type is RequestType {
  return typeof type === "string" && types.has(type);
}

/** Whether the nesting is allowed: an event may be nested deeper than other requests. */
function nested(type: RequestType, value: { readonly [field: string]: unknown }): boolean {
  if (type !== "hook") return nestingWithin(value, limits.nestingMax);
  const { event, ...envelope } = value;
  return nestingWithin(envelope, limits.nestingMax) && nestingWithin(event, limits.hookNestingMax);
}
