/** Checks a tool's parameters, and words what is wrong with them: by their own names, as the tool's list has them. */
import type { z } from "zod";
import { nearest } from "../../protocol/text.ts";

/** Wrong parameters that one refusal names. */
const namedMax = 5;

type RawIssue = z.core.$ZodRawIssue;

/** A call's parameters are not those of its tool. Its message says which, and what to give. */
export class WrongInput extends Error {
  override readonly name = "WrongInput";
  /** The first parameter that is wrong; null: they are wrong together. */
  readonly path: string | null;

  constructor(message: string, path: string | null) {
    super(message);
    this.path = path;
  }
}

/** Returns the parameters as `input` reads them. Throws `WrongInput`. */
export function checkedInput<I extends z.ZodObject>(tool: string, input: I, given: unknown): z.output<I> {
  const unknown = unknownNames(tool, input, given);
  const parsed = input.safeParse(given, { error: issueText });
  const issues = parsed.error?.issues ?? [];
  const all = [...new Set([...unknown, ...issues.map(({ path, message }) => placed(place(path), message))])];
  if (parsed.success && all.length === 0) return parsed.data;
  const [first] = issues;
  throw new WrongInput(
    all.slice(0, namedMax).join("; "),
    first === undefined ? null : place(first.path) || null,
  );
}

/** A parameter that a tool does not have would change nothing, and whoever gave it would not know. */
function unknownNames(tool: string, { shape }: z.ZodObject, given: unknown): string[] {
  const names = Object.keys(shape);
  if (typeof given !== "object" || given === null) return [];
  const unknown = Object.keys(given).filter(name => !names.includes(name));
  return unknown.map(name => {
    const near = nearest(name, names);
    const has = names.length === 0 ? "it takes none" : `it takes ${names.join(", ")}`;
    return `${tool} has no parameter ${name}; ${near === null ? has : `did you mean ${near}?`}`;
  });
}

/** Names a place as code does: `codeView[0].file`. */
function place(path: readonly PropertyKey[]): string {
  return path.reduce<string>((before, key) => {
    if (typeof key === "number") return `${before}[${key}]`;
    return before === "" ? String(key) : `${before}.${String(key)}`;
  }, "");
}

function placed(at: string, message: string): string {
  if (at === "") return message;
  return message.startsWith(itself) ? `${at} ${message.slice(itself.length)}` : `${at}: ${message}`;
}

/** A sentence that begins so has the parameter's name there. */
const itself = "it ";

/** What a parameter has to be; undefined: the schema's own sentence says it. */
function issueText(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type": {
      const wanted = typeWords[issue.expected] ?? `a value of the type ${issue.expected}`;
      return issue.input === undefined
        ? `it is missing; give ${wanted}`
        : `give ${wanted}, not ${typeOf(issue.input)}`;
    }
    case "too_small":
      return bound(issue.origin, Number(issue.minimum), "at least");
    case "too_big":
      return bound(issue.origin, Number(issue.maximum), "at most");
    case "invalid_value":
      return `give one of ${issue.values.map(String).join(", ")}`;
    case "unrecognized_keys":
      return `there is no ${issue.keys.join(", ")} here; leave it out`;
    case "invalid_union":
      return "it has none of the forms that it may have";
    case "custom":
      return undefined;
    default:
      return "it has not the form that it must have";
  }
}

const typeWords: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  nonoptional: "a value",
};

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  const words: Readonly<Record<string, string>> = { ...typeWords, boolean: String(value) };
  return words[typeof value] ?? "that";
}

function bound(origin: string, number: number, how: "at least" | "at most"): string {
  if (origin === "string")
    return how === "at least" && number <= 1 ? "it must not be empty" : `give ${how} ${number} characters`;
  if (origin === "array") return `give ${how} ${number} ${number === 1 ? "item" : "items"}`;
  return `give ${how} ${number}`;
}
