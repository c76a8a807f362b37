/**
 * The tables of pages that sources make: the requests in protocol/WIRE.md, of their schemas and the comments above these, the codes of refusals there, and the
 * settings in bin/man/settings.md, of the settings themselves. `npm run docs` writes them; tests/unit/docs.test.ts finds stale ones.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { settings } from "../daemon/config/settings.ts";
import { codes, codesOnWire } from "../protocol/codes.ts";
import { requests } from "../protocol/schemas/requests.ts";
import { baseShape, idSchema, pathSchema } from "../protocol/schemas/session.ts";

/** A page as it is, and as its sources make it. */
export interface Page {
  readonly path: string;
  readonly now: string;
  readonly made: string;
}

/** Returns the pages of the clone at `root` that have a made table. */
export function pagesOf(root: string): Page[] {
  return [
    pageOf(root, "protocol/WIRE.md", {
      Request: table => requestTable(root, table),
      Code: () => tableOf(["Code", "When"], Object.entries({ ...codes, ...codesOnWire })),
    }),
    pageOf(root, "bin/man/settings.md", { Key: settingTable }),
  ];
}

/** `tables`: what makes each, by the head of its first column, of the table as it is. */
function pageOf(root: string, name: string, tables: Record<string, (now: string) => string>): Page {
  const path = join(root, name);
  const now = readFileSync(path, "utf8");
  let made = now;
  for (const [head, make] of Object.entries(tables)) {
    const table = new RegExp(`^\\| ${head} .*(?:\\n\\|.*)*`, "m");
    if (!table.test(now)) throw new Error(`${name} has no table that begins with ${head}`);
    made = made.replace(table, make);
  }
  return { path, now, made };
}

/** A table whose first column has names as they are on the wire. */
function tableOf(
  [name, text]: readonly [string, string],
  rows: readonly (readonly [string, string])[],
): string {
  const lines = rows.map(([key, value]) => `| \`${key}\` | ${value} |`);
  return [`| ${name} | ${text} |`, "| --- | --- |", ...lines].join("\n");
}

/** The last column, what a success reply has, is written by hand and stays: replies have no schema. */
function requestTable(root: string, table: string): string {
  const cells = table.split("\n").map(line => line.split("|").map(cell => cell.trim()));
  const replies = new Map(cells.map(row => [row[1]?.replaceAll("`", "") ?? "", row.at(-2) ?? ""]));
  const sentences = sentencesOf(root);
  const rows = Object.entries(requests).map(([name, { params }]) => {
    const all = paramsOf(ownParams(params)).join("; ");
    return `| \`${name}\` | ${sentences.get(name)} | ${all} | ${replies.get(name) ?? ""} |`;
  });
  return ["| Request | What it does | Parameters | Success |", "| --- | --- | --- | --- |", ...rows].join(
    "\n",
  );
}

/** Returns for each request the first sentence of the comment at its row, else of that at its schema. */
function sentencesOf(root: string): Map<string, string> {
  const folder = join(root, "protocol");
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter(name => name.endsWith(".ts"))
    .map(name => readFileSync(join(folder, name), "utf8"));
  return new Map(Object.keys(requests).map(name => [name, sentenceOf(name, sources)]));
}

function sentenceOf(request: string, sources: readonly string[]): string {
  for (const source of sources) {
    const row = new RegExp(`^((?:  /\\*\\*.*\\*/\\n)?)  ${request}: \\{\\s+params: (\\w+)`, "m").exec(source);
    if (row === null) continue;
    const [, own = "", schema] = row;
    const above = new RegExp(`(/\\*\\*(?:(?!\\*/)[^])*\\*/)\\n(?:export )?const ${schema} `).exec(source);
    const comment = own === "" ? (above?.[1] ?? "") : own;
    const text = comment.replace(/^\s*\/\*\*[\s*]*|\s*\*\/\s*$/g, "").replace(/\s*\n \* ?/g, " ");
    const sentence = /^[A-Z].*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, ".");
    if (sentence !== undefined) return sentence;
  }
  throw new Error(`the comment at ${request}, or at its schema, says in no sentence what it does`);
}

interface Field {
  /** What a value of one of the schemas that many share is called. */
  readonly title?: string;
  readonly pattern?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Field[];
  readonly items?: Field;
  readonly properties?: Readonly<Record<string, Field>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** What a value of the field is, with its bounds. */
function kindOf(name: string, field: Field): string {
  if (field.anyOf !== undefined) return field.anyOf.map(one => kindOf(name, one)).join(" or ");
  if (field.const !== undefined) return String(field.const);
  if (field.enum !== undefined) return field.enum.map(String).join(", ");
  if (field.items !== undefined) {
    const { minItems = 0, maxItems } = field;
    return `${rangeOf(minItems, maxItems)} × (${kindOf(name, field.items)})`;
  }
  if (field.properties !== undefined) return `{${paramsOf(field).join("; ")}}`;
  if (field.type === "string") {
    if (field.title !== undefined) return field.title;
    if (field.pattern === "^\\/") return "absolute path";
    return field.maxLength === undefined ? "text" : `text ${rangeOf(field.minLength ?? 0, field.maxLength)}`;
  }
  if (field.type === "integer" || field.type === "number") {
    const { minimum = field.exclusiveMinimum === undefined ? undefined : field.exclusiveMinimum + 1 } = field;
    const unit = name.endsWith("Ms") ? " ms" : "";
    return `${field.type} ${rangeOf(minimum, field.maximum)}${unit}`.replace(/ +/g, " ").trim();
  }
  return { boolean: "true or false", null: "null", object: "object" }[field.type ?? ""] ?? "JSON";
}

function rangeOf(min: number | undefined, max: number | undefined): string {
  const from = min === undefined || min <= -Number.MAX_SAFE_INTEGER ? "" : min.toLocaleString("en");
  if (max === undefined || max >= Number.MAX_SAFE_INTEGER) return from === "" ? "" : `${from}…`;
  return `${from}…${max.toLocaleString("en")}`;
}

/** The fields, those that may be left out in italics. */
function paramsOf({ properties = {}, required = [] }: Field): string[] {
  return Object.entries(properties)
    .sort(([a], [b]) => Number(required.includes(b)) - Number(required.includes(a)))
    .map(([name, field]) => {
      const shown = required.includes(name) ? `\`${name}\`` : `_${name}_`;
      return `${shown} ${kindOf(name, field)}`;
    });
}

/** What every request may carry stands above the table. */
function ownParams(params: z.ZodType): Field {
  const { properties = {}, ...rest } = z.toJSONSchema(params, {
    io: "input",
    unrepresentable: "any",
    reused: "inline",
    override: ({ zodSchema, jsonSchema }) => {
      const shared = zodSchema === idSchema ? "id" : zodSchema === pathSchema ? "path" : null;
      if (shared !== null) jsonSchema.title = shared;
    },
  }) as Field;
  const own = Object.entries(properties).filter(([name]) => !Object.hasOwn(baseShape, name));
  return { ...rest, properties: Object.fromEntries(own) };
}

// The settings.

/** Texts of defaults that are no number and no word. */
const defaults: Readonly<Record<string, string>> = {
  clientLockWaitMs: "",
  gates: "off",
  health: "tell",
  ignore: "",
  notify: "",
  spawn: "",
  store: "",
};

function settingTable(): string {
  const rows = Object.entries(settings).map(
    ([name, { variable, initial, says }]) =>
      `| \`${name}\` | ${variable === null ? "" : `\`${variable}\``} | ${defaults[name] ?? String(initial)} | ${says} |`,
  );
  return ["| Key | Variable | Default | |", "| --- | --- | --- | --- |", ...rows].join("\n");
}
