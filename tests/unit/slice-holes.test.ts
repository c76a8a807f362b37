/** Compiles Kite with scratch slices: a whole one touches its own files and the lists, and a hole is named. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";

const root = join(import.meta.dirname, "../..");

/** The path of the one source in the folder that has the text. */
function fileWith(folder: string, text: string): string {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  const [path, ...others] = names
    .filter(name => name.endsWith(".ts"))
    .map(name => `${folder}/${name}`)
    .filter(path => readFileSync(join(root, path), "utf8").includes(text));
  if (path === undefined || others.length > 0)
    throw new Error(`"${text}" stands in ${[path, ...others].join(", ")}, not in one file of ${folder}`);
  return path;
}

/** Imports for a file at `path`, of what the folder's sources define by these words, a line each. */
function importsFor(path: string, folder: string, ...definitions: readonly string[]): string {
  return definitions
    .map(words => {
      const [, kind, name] = /^(\w+) (\w+)/.exec(words) ?? [];
      const isType = kind === "type" || kind === "interface";
      const target = posix.relative(dirname(path), fileWith(folder, `export ${words}`));
      return `import ${isType ? "type " : ""}{ ${name} } from "${target}";`;
    })
    .join("\n");
}

/** The slice's own files, by part: what a person writes for one request with its command, its table and its tool. */
const parts = {
  wire: {
    path: (name: string) => `protocol/lead/${name}.ts`,
    text: (name: string, path: string) => `
import * as z from "zod";
${importsFor(path, "protocol", "const once ", "type RequestTable ", "function reply<", "const baseShape ", "const idSchema ", "interface OkReply ")}

export const ${name}Requests = {
  ${name}_set: {
    params: z.object({ ...baseShape, id: idSchema, agent: idSchema.optional(), text: idSchema }),
    reply: reply<OkReply>(),
    traits: once,
  },
} as const satisfies RequestTable;
`,
  },
  table: {
    path: (name: string) => `daemon/core/lead/${name}/table.ts`,
    text: (name: string, path: string) => `
${importsFor(path, "daemon/core", "interface Actor ", "interface Retry ", "class Records<", "function sets<", "function valueList<")}

export interface Row {
  readonly session: string;
  readonly text: string;
}

export interface ${name}Commands {
  ${name}_set: { readonly actor: Actor; readonly text: string; readonly retry?: Retry };
}

declare module "${posix.relative(dirname(path), fileWith("daemon/core", "export interface Commands"))}" {
  interface Commands extends ${name}Commands {}
}

const records = new Records("all", (row: Row) => row.text, { bySession: sets(({ session }) => session) });

export type Table = ReturnType<typeof records.empty>;

export function put(table: Table, row: Row): void {
  records.put(table, row);
}

export function drop(table: Table, session: string): void {
  records.dropAll(table, table.bySession.get(session));
}

export function* ${name}Check(state: { readonly ${name}: Table }): Generator<string> {
  yield* records.check(state.${name}, "rows");
}

export const ${name}Rows = {
  empty: (): Table => records.empty(),
  lists: { ${name}: valueList(({ all }: Table) => all, put) },
};
`,
  },
  rules: {
    path: (name: string) => `daemon/core/lead/${name}/rules.ts`,
    text: (name: string, path: string) => `
${importsFor(path, "daemon/core", "const lasting ", "interface Meta ", "type CommandOf<", "class Step ", "interface Rules<", "interface State extends BaseState {")}
import { drop, put, type ${name}Commands } from "./table.ts";

function set(state: State, { actor, text }: CommandOf<"${name}_set">, _meta: Meta, step: Step): void {
  put(state.${name}, { session: actor.session, text });
  step.reply = { ok: true };
}

export const ${name}Rules: Rules<${name}Commands, State> = {
  commands: { ${name}_set: lasting(set) },
  points: { sessionEnds: (state, { id }) => drop(state.${name}, id) },
};
`,
  },
  handlers: {
    path: (name: string) => `daemon/lead/${name}/requests.ts`,
    text: (name: string, path: string) => `
import type { ${name}Requests } from "../../../protocol/lead/${name}.ts";
${importsFor(path, "daemon/requests", "function forward<", "type HandlersOf<")}

export const ${name}Handlers: HandlersOf<typeof ${name}Requests> = {
  ${name}_set: forward<"${name}_set">({
    command: ({ text }, { by: actor }) => ({ type: "${name}_set", actor, text }),
  }),
};
`,
  },
  verbs: {
    path: (name: string) => `bin/lead/${name}/verbs.ts`,
    text: (name: string, path: string) => `
${importsFor(path, "bin", "type Verbs ", "function verb<")}

export const ${name}Verbs = {
  set: verb({
    request: "${name}_set",
    says: "set a text",
    examples: ["$ kite ${name} set hello"],
    fields: { text: { form: "<text>" }, project: { form: "--project <project>" } },
    forPerson: () => ["set"],
    forAgent: () => ({ text: "Set.", data: {} }),
  }),
} satisfies Verbs;
`,
  },
} as const;

const listIn = (folder: string, at: string) => ({ path: fileWith(folder, at), at });

/** The slice's line of each list, after which line it stands, and what it names of which part. */
const lists = {
  requests: {
    ...listIn("protocol", "export const requests = {"),
    line: (name: string) => `...${name}Requests,`,
    names: (name: string) => `${name}Requests`,
    of: "wire",
  },
  leadState: {
    ...listIn("daemon/core", "export interface State extends BaseState {"),
    line: (name: string) => `readonly ${name}: TableOf<typeof ${name}Rows>;`,
    names: (name: string) => `type ${name}Rows`,
    of: "table",
  },
  state: {
    ...listIn("daemon/core", "const tables = {"),
    line: (name: string) => `${name}: ${name}Rows,`,
    names: (name: string) => `${name}Rows`,
    of: "table",
  },
  slices: {
    ...listIn("daemon/core", "const ruleList = ["),
    line: (name: string) => `${name}Rules,`,
    names: (name: string) => `${name}Rules`,
    of: "rules",
  },
  check: {
    ...listIn("daemon/core", "const checks: { readonly [N in TableName]: Check } = {"),
    line: (name: string) => `${name}: ${name}Check,`,
    names: (name: string) => `${name}Check`,
    of: "table",
  },
  handlers: {
    ...listIn("daemon/requests", "HandlersOf<Requests, HandlerServices> = {"),
    line: (name: string) => `...${name}Handlers,`,
    names: (name: string) => `${name}Handlers`,
    of: "handlers",
  },
} as const;

/** What a slice has wrong: a part with other text, or lists that it is missing in. */
type Hole =
  | { readonly of: keyof typeof parts; readonly from: string; readonly to: string }
  | { readonly notIn: readonly (keyof typeof lists)[] };

class Scratch {
  readonly folder = temporaryFolder();
  readonly #files = [lists.handlers.path, lists.check.path, fileWith("protocol", "export const repeatable ")];

  constructor() {
    for (const part of ["protocol", "client", "daemon", "hooks", "bin"])
      cpSync(join(root, part), join(this.folder, part), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(this.folder, "node_modules"));
    cpSync(join(root, "package.json"), join(this.folder, "package.json"));
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  /** Adds a slice: its own files, and its line in each list with the import. */
  add(name: string, hole: Hole = { notIn: [] }): void {
    for (const [part, { path, text }] of entriesOf(parts)) {
      const whole = text(name, path(name));
      const isHole = "of" in hole && hole.of === part;
      this.write(path(name), isHole ? replaced(whole, hole.from, hole.to) : whole);
    }
    this.#files.push(parts.verbs.path(name));
    for (const [list, { path, at, line, names, of }] of entriesOf(lists)) {
      if ("notIn" in hole && hole.notIn.includes(list)) continue;
      const text = replaced(this.read(path), at, `${at}\n  ${line(name)}`);
      const part = posix.relative(dirname(path), parts[of].path(name));
      this.write(path, `import { ${names(name)} } from "./${part}";\n${text}`);
    }
  }

  /** Returns the compiler's errors. */
  compile(): string {
    const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"));
    // The packages are those of the repository, whose own check must not begin where this one ends.
    const options = { ...compilerOptions, tsBuildInfoFile: "scratch.tsbuildinfo" };
    this.write("tsconfig.json", JSON.stringify({ compilerOptions: options, files: this.#files }));
    const run = spawnSync(join(this.folder, "node_modules/.bin/tsc"), ["-p", "."], {
      cwd: this.folder,
      encoding: "utf8",
    });
    expect(run.error).toBeUndefined();
    return run.stdout;
  }
}

function entriesOf<T extends object>(rows: T): [keyof T, T[keyof T]][] {
  return Object.entries(rows) as [keyof T, T[keyof T]][];
}

/** Returns the text with `to` in place of `from`, which it has. */
function replaced(text: string, from: string, to: string): string {
  expect(text).toContain(from);
  return text.replace(from, to);
}

it("a slice is its own files and one line a list", { timeout: 300_000 }, () => {
  const scratch = new Scratch();
  scratch.add("whole");
  expect(scratch.compile()).toBe("");
});

describe("a slice with a hole does not compile: the compiler names", () => {
  let errors = "";

  beforeAll(() => {
    const scratch = new Scratch();
    const { path, at } = listIn("protocol", '  "sessions",\n');
    scratch.write(path, replaced(scratch.read(path), at, `${at}  "ghosts",\n`));
    scratch.add("blind", { of: "wire", from: "    traits: once,\n", to: "" });
    scratch.add("mute", { of: "wire", from: "    reply: reply<OkReply>(),\n", to: "" });
    scratch.add("idle", { of: "handlers", from: "  idle_set: forward", to: "  idle_begin: forward" });
    scratch.add("lost", { notIn: ["handlers"] });
    scratch.add("nameless", { of: "table", from: "interface Commands extends namelessCommands {}", to: "" });
    scratch.add("hollow", { of: "rules", from: "hollow_set: lasting(set)", to: "" });
    scratch.add("vague", { of: "rules", from: "lasting(set)", to: "{ apply: set }" });
    scratch.add("unruly", { notIn: ["slices"] });
    scratch.add("homeless", { notIn: ["leadState", "state", "check"] });
    scratch.add("unkept", { of: "table", from: "  lists: {", to: "  list: {" });
    scratch.add("unchecked", { notIn: ["check"] });
    scratch.add("silent", { of: "verbs", from: 'text: { form: "<text>" }, ', to: "" });
    errors = scratch.compile();
  }, 300_000);

  it.each([
    ["a missing trait", /^protocol\/lead\/blind\.ts.*\n?.*'traits' is missing/m],
    ["a missing reply", /^protocol\/lead\/mute\.ts.*\n?.*'reply' is missing/m],
    ["a handler of another name", /^daemon\/lead\/idle\/requests\.ts.*'idle_begin' does not exist/m],
    ["a handler that no list has", /^daemon\/requests\/handlers\.ts.*'lost_set' is missing/m],
    ["a target of query without rows", /^daemon\/requests\/query\.ts.*'ghosts' is missing/m],
    ["a command that is not declared", /^daemon\/core\/lead\/nameless\/rules\.ts.*"nameless_set".*Commands/m],
    ["a command without a handler", /^daemon\/core\/lead\/hollow\/rules\.ts.*'hollow_set' is missing/m],
    ["a command without durability", /^daemon\/core\/lead\/vague\/rules\.ts.*\n.*: durable, frees/m],
    ["rules that no list has", /^daemon\/core\/\w+\.ts.*'unruly_set' is missing/m],
    ["a table that no list has", /^daemon\/core\/lead\/homeless\/rules\.ts.*'homeless' does not exist/m],
    ["a table without rows", /^daemon\/core\/state\.ts.*\n.*'unkept'.*\n.*'lists' is missing/m],
    ["a table without check", /^daemon\/core\/\w+\.ts.*'unchecked' is missing/m],
    ["a field that its verb does not have", /^bin\/lead\/silent\/verbs\.ts.*'text' is missing/m],
  ])("%s", (_, error) => {
    expect(errors).toMatch(error);
  });
});
