/** Compiles Kite with scratch slices: a whole one touches its own files and the lists, and a hole is named. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";

const root = join(import.meta.dirname, "../..");

/** The slice's own files, by part: what a person writes for one request with its command, its table and its tool. */
const parts = {
  wire: {
    path: (name: string) => `protocol/lead/${name}.ts`,
    text: (name: string) => `
import * as z from "zod";
import { once, type RequestTable, reply } from "../request-table.ts";
import { baseShape, idSchema, type OkReply } from "../session.ts";

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
    text: (name: string) => `
import type { Actor } from "../../actor.ts";
import type { Retry } from "../../origin.ts";
import { Records, sets } from "../../records.ts";
import { valueList } from "../../rows.ts";

export interface Row {
  readonly session: string;
  readonly text: string;
}

export interface ${name}Commands {
  ${name}_set: { readonly actor: Actor; readonly text: string; readonly retry?: Retry };
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
    text: (name: string) => `
import { lasting } from "../../durability.ts";
import type { Handler, Rules } from "../../rules.ts";
import type { State } from "../../state.ts";
import { drop, put, type ${name}Commands } from "./table.ts";

const set: Handler<"${name}_set", State> = (state, { actor, text }, _meta, step) => {
  put(state.${name}, { session: actor.session, text });
  step.reply = { ok: true };
};

export const ${name}Rules: Rules<${name}Commands, State> = {
  commands: { ${name}_set: lasting(set) },
  points: { sessionEnds: (state, { id }) => drop(state.${name}, id) },
};
`,
  },
  handlers: {
    path: (name: string) => `daemon/lead/${name}/requests.ts`,
    text: (name: string) => `
import type { ${name}Requests } from "../../../protocol/lead/${name}.ts";
import { forward } from "../../requests/forward.ts";
import type { HandlersOf } from "../../requests/handler.ts";

export const ${name}Handlers: HandlersOf<typeof ${name}Requests> = {
  ${name}_set: forward<"${name}_set">({
    command: ({ text }, { by: actor }) => ({ type: "${name}_set", actor, text }),
  }),
};
`,
  },
  verbs: {
    path: (name: string) => `bin/lead/${name}/verbs.ts`,
    text: (name: string) => `
import { type Verbs, verb } from "../../verbs/verb.ts";

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

/** The slice's line of each list, and after which line it stands. */
const lists = {
  requests: {
    path: "protocol/requests.ts",
    at: "export const requests = {",
    line: (name: string) => `...${name}Requests,`,
    from: (name: string) => `import { ${name}Requests } from "./lead/${name}.ts";`,
  },
  commands: {
    path: "daemon/core/commands.ts",
    at: "  extends SessionCommands,",
    line: (name: string) => `${name}Commands,`,
    from: (name: string) => `import { type ${name}Commands } from "./lead/${name}/table.ts";`,
  },
  state: {
    path: "daemon/core/state.ts",
    at: "const tables = {",
    line: (name: string) => `${name}: ${name}Rows,`,
    from: (name: string) => `import { ${name}Rows } from "./lead/${name}/table.ts";`,
  },
  slices: {
    path: "daemon/core/rule-list.ts",
    at: "export const ruleList = [",
    line: (name: string) => `${name}Rules,`,
    from: (name: string) => `import { ${name}Rules } from "./lead/${name}/rules.ts";`,
  },
  check: {
    path: "daemon/core/check.ts",
    at: "const checks: { readonly [N in TableName]: (state: State) => Iterable<string> } = {",
    line: (name: string) => `${name}: ${name}Check,`,
    from: (name: string) => `import { ${name}Check } from "./lead/${name}/table.ts";`,
  },
  handlers: {
    path: "daemon/requests/handlers.ts",
    at: "HandlersOf<Requests, HandlerServices> = {",
    line: (name: string) => `...${name}Handlers,`,
    from: (name: string) => `import { ${name}Handlers } from "../lead/${name}/requests.ts";`,
  },
} as const;

/** What a slice has wrong: a part with other text, or lists that it is missing in. */
type Hole =
  | { readonly of: keyof typeof parts; readonly from: string; readonly to: string }
  | { readonly notIn: readonly (keyof typeof lists)[] };

class Scratch {
  readonly folder = temporaryFolder();
  readonly #files = ["daemon/requests/handlers.ts", "daemon/core/check.ts", "protocol/repeatable.ts"];

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
    for (const [part, { path, text }] of entriesOf(parts))
      this.write(
        path(name),
        "of" in hole && hole.of === part ? replaced(text(name), hole.from, hole.to) : text(name),
      );
    this.#files.push(parts.verbs.path(name));
    for (const [list, { path, at, line, from }] of entriesOf(lists)) {
      if ("notIn" in hole && hole.notIn.includes(list)) continue;
      const text = replaced(this.read(path), at, `${at}\n  ${line(name)}`);
      this.write(path, `${from(name)}\n${text}`);
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
    const name = "protocol/daemon.ts";
    scratch.write(name, replaced(scratch.read(name), '  "sessions",\n', '  "sessions",\n  "ghosts",\n'));
    scratch.add("blind", { of: "wire", from: "    traits: once,\n", to: "" });
    scratch.add("mute", { of: "wire", from: "    reply: reply<OkReply>(),\n", to: "" });
    scratch.add("idle", { of: "handlers", from: "  idle_set: forward", to: "  idle_begin: forward" });
    scratch.add("lost", { notIn: ["handlers"] });
    scratch.add("nameless", { notIn: ["commands"] });
    scratch.add("hollow", { of: "rules", from: "hollow_set: lasting(set)", to: "" });
    scratch.add("vague", { of: "rules", from: "lasting(set)", to: "{ apply: set }" });
    scratch.add("unruly", { notIn: ["slices"] });
    scratch.add("homeless", { notIn: ["state", "check"] });
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
    ["a command that no list has", /^daemon\/core\/lead\/nameless\/rules\.ts.*"nameless_set".*Commands/m],
    ["a command without a handler", /^daemon\/core\/lead\/hollow\/rules\.ts.*'hollow_set' is missing/m],
    ["a command without durability", /^daemon\/core\/lead\/vague\/rules\.ts.*\n.*: durable, frees/m],
    ["rules that no list has", /^daemon\/core\/apply\.ts.*'unruly_set' is missing/m],
    ["a table that no list has", /^daemon\/core\/lead\/homeless\/rules\.ts.*'homeless' does not exist/m],
    ["a table without rows", /^daemon\/core\/state\.ts.*\n.*'unkept'.*\n.*'lists' is missing/m],
    ["a table without check", /^daemon\/core\/check\.ts.*'unchecked' is missing/m],
    ["a field that its verb does not have", /^bin\/lead\/silent\/verbs\.ts.*'text' is missing/m],
  ])("%s", (_, error) => {
    expect(errors).toMatch(error);
  });
});
