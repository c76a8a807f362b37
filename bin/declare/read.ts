/** Reads a declaration from YAML or JSON, and says where in the text something is wrong. */
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import {
  type DeclarationParts,
  declarationFields,
  declarationSchema,
} from "../../protocol/schemas/declaration.ts";
import { nearest } from "../../protocol/text.ts";

/** The parts, or in a sentence why the text is no declaration. */
export type Read = { readonly parts: DeclarationParts } | { readonly error: string };

type Path = readonly (string | number)[];

/**
 * Returns the parts in `text`; `from` names its source in errors. JSON is read as YAML, of which it is a part. A field
 * without a value counts as absent.
 */
export function partsIn(text: string, from: string): Read {
  const lines = new LineCounter();
  const options = {
    lineCounter: lines,
    prettyErrors: false,
    resolveKnownTags: false,
    logLevel: "error",
  } as const;
  const document = parseDocument(text, options);
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${from}, line ${line}, column ${col}`;
  };
  const [broken] = document.errors;
  if (broken !== undefined) return { error: `${at(broken.pos[0])}: ${firstLine(broken.message)}` };
  const value = plainValue(document);
  if (value === undefined) return { error: `${from} has too many aliases (*name); write their values out` };
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const error = `${from} is no declaration: it has to have fields such as understanding; see kite declare --example`;
    return { error };
  }
  const where = (path: Path) => at(offsetOf(document, path));
  const [unknown] = unknownFields(value);
  if (unknown !== undefined) return { error: `${where(unknown.path)}: ${unknown.error}` };
  const parsed = declarationSchema.safeParse(value);
  if (parsed.success) return { parts: parsed.data };
  const [issue] = parsed.error.issues;
  const path = (issue?.path ?? []).map(key => (typeof key === "symbol" ? String(key) : key));
  return { error: `${where(path)}: ${path.join(".")}: ${issue?.message ?? "is wrong"}` };
}

/** The document as plain values, without fields that are null; undefined if its aliases would make it huge. */
function plainValue(document: Document): unknown {
  try {
    return withoutNulls(document.toJS());
  } catch (error) {
    // The package says so of too many aliases.
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}

interface Unknown {
  readonly path: Path;
  readonly error: string;
}

/** Yields the fields that a declaration does not have: of the whole, of its parts, and of the items of its lists. */
function* unknownFields(value: object): Generator<Unknown, void> {
  yield* unknownIn(value, "", []);
  for (const [part, field] of Object.entries(value)) {
    const items: [Path, unknown][] = Array.isArray(field)
      ? field.map((item, i): [Path, unknown] => [[part, i], item])
      : [[[part], field]];
    for (const [path, item] of items)
      if (typeof item === "object" && item !== null) yield* unknownIn(item, part, path);
  }
}

function* unknownIn(value: object, part: string, path: Path): Generator<Unknown, void> {
  const known = declarationFields.get(part) ?? [];
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const near = nearest(name, known);
    const hint = near === null ? `known: ${known.join(", ")}` : `did you mean ${near}?`;
    yield { path: [...path, name], error: `unknown field ${JSON.stringify(name)}; ${hint}` };
  }
}

/** Returns where the field or the item at `path` begins, or what is nearest above it. */
function offsetOf(document: Document, path: Path): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent: unknown = document.getIn(path.slice(0, length - 1), true);
    const last = path[length - 1];
    const node = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && key.value === last)?.key
      : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return 0;
}

function firstLine(text: string): string {
  return text.split("\n")[0] ?? text;
}
