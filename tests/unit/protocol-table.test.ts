/**
 * The table of requests in protocol/WIRE.md is made of the schemas and the comments above them: `UPDATE=1` writes it. Its last
 * column, what a success reply has, is written by hand, because replies have no schema.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import { requests } from "../../protocol/schemas/requests.ts";
import { baseShape, idSchema, pathSchema } from "../../protocol/schemas/session.ts";

const folder = fileURLToPath(new URL("../../protocol", import.meta.url));
const path = `${folder}/WIRE.md`;
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter(name => name.endsWith(".ts"))
  .map(name => readFileSync(`${folder}/${name}`, "utf8"));

/** Returns the first sentence of the comment at the request's row, else of that at its schema. */
function sentenceOf(request: string): string {
  for (const source of sources) {
    const row = new RegExp(`^((?:  /\\*\\*.*\\*/\\n)?)  ${request}: \\{\\s+params: (\\w+)`, "m").exec(source);
    if (row === null) continue;
    const [, own = "", schema] = row;
    const above = new RegExp(`(/\\*\\*(?:(?!\\*/)[^])*\\*/)\\n(?:export )?const ${schema} `).exec(source);
    const comment = own === "" ? (above?.[1] ?? "") : own;
    const text = comment.replace(/^\s*\/\*\*[\s*]*|\s*\*\/\s*$/g, "").replace(/\s*\n \* ?/g, " ");
    return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, ".") ?? "";
  }
  return "";
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

it("has a row for each request, as its schema and its comment say", () => {
  const text = readFileSync(path, "utf8");
  const table = /^\| Request .*(?:\n\|.*)*/m.exec(text)?.[0] ?? "";
  const cells = table.split("\n").map(line => line.split("|").map(cell => cell.trim()));
  const replies = new Map(cells.map(row => [row[1]?.replaceAll("`", "") ?? "", row.at(-2) ?? ""]));
  const rows = Object.entries(requests).map(([name, { params }]) => {
    const all = paramsOf(ownParams(params)).join("; ");
    return `| \`${name}\` | ${sentenceOf(name)} | ${all} | ${replies.get(name) ?? ""} |`;
  });
  const head = ["| Request | What it does | Parameters | Success |", "| --- | --- | --- | --- |"];
  const made = [...head, ...rows].join("\n");
  const now = text.replace(table, () => made);
  if (process.env["UPDATE"] === "1") writeFileSync(path, now);
  expect(text).toBe(now);
});

it("says what the table's words mean", () => {
  const text = readFileSync(path, "utf8");
  const [ids, paths] = [limits.idBytes, limits.pathBytes].map(max => max.toLocaleString("en"));
  expect(text).toContain(`An \`id\` is text of 1 to ${ids} characters`);
  expect(text).toContain(`a \`path\` text of 1 to ${paths}`);
});

it("says what each request does in a sentence", () => {
  const without = Object.keys(requests).filter(name => !/^[A-Z].*\.$/.test(sentenceOf(name)));
  expect(without).toEqual([]);
});
