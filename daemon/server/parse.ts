/** Parses a line into a valid request, or into the refusal that says why it is invalid. */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { type RequestOf, type RequestType, requests } from "../../protocol/schemas/requests.ts";
import { nearest } from "../../protocol/text.ts";
import { isObject, type Line, nestingWithin } from "../../protocol/wire.ts";
import { jsonWithinBounds } from "./json-bounds.ts";
import { plainLock } from "./plain-locks.ts";

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
