/** Compiles the daemon with scratch slices: a whole one touches its own files and the lists, and a hole is named. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";

const root = join(import.meta.dirname, "../..");

/** What a person writes for a slice with one request that becomes a command of the log, a line for each part. */
const wire = (name: string) => `
import * as z from "zod";
import { once, type RequestTable, reply } from "../request-table.ts";
import { baseShape, idSchema, type OkReply } from "../session.ts";

export const ${name}Requests = {
  ${name}_end: {
    params: z.object({ ...baseShape, id: idSchema.optional(), hold: idSchema.optional() }),
    reply: reply<OkReply>(),
    traits: once,
  },
} as const satisfies RequestTable;
`;

const handlers = (name: string) => `
import type { ${name}Requests } from "../../../protocol/lead/${name}.ts";
import { forward } from "../../requests/forward.ts";
import type { HandlersOf } from "../../requests/handler.ts";

export const ${name}Handlers: HandlersOf<typeof ${name}Requests> = {
  ${name}_end: forward<"${name}_end">({
    command: ({ hold = null }, { by: actor, project }) => ({ type: "resume", actor, project, hold }),
  }),
};
`;

interface Hole {
  /** The file of the slice without the line, or with it once more under another name. */
  readonly of: "wire" | "handlers" | "list";
  readonly from: string;
  readonly to: string;
}

class Scratch {
  readonly folder = temporaryFolder();

  constructor() {
    for (const part of ["protocol", "daemon", "hooks"])
      cpSync(join(root, part), join(this.folder, part), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(this.folder, "node_modules"));
    cpSync(join(root, "package.json"), join(this.folder, "package.json"));
    const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"));
    const files = ["daemon/requests/handlers.ts", "protocol/repeatable.ts"];
    this.write("tsconfig.json", JSON.stringify({ compilerOptions, files }));
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }

  /** Adds a slice: its two files, and its line in the two lists (the import apart). */
  add(name: string, hole?: Hole): void {
    const made = (of: Hole["of"], text: string) => {
      if (hole?.of !== of) return text;
      expect(text).toContain(hole.from);
      return text.replace(hole.from, hole.to);
    };
    this.write(`protocol/lead/${name}.ts`, made("wire", wire(name)));
    mkdirSync(join(this.folder, "daemon/lead", name));
    this.write(`daemon/lead/${name}/requests.ts`, made("handlers", handlers(name)));
    this.list("protocol/requests.ts", "export const requests = {", `${name}Requests`, `./lead/${name}.ts`);
    const spread = made("list", `${name}Handlers`);
    if (spread === "") return;
    const from = `../lead/${name}/requests.ts`;
    this.list("daemon/requests/handlers.ts", "HandlersOf<Requests, HandlerServices> = {", spread, from);
  }

  /** Adds a line to a list, after `at`. */
  list(path: string, at: string, name: string, from: string): void {
    const text = readFileSync(join(this.folder, path), "utf8");
    expect(text).toContain(at);
    this.write(path, `import { ${name} } from "${from}";\n${text.replace(at, `${at}\n  ...${name},`)}`);
  }

  /** Returns the compiler's errors. */
  compile(): string {
    const run = spawnSync(join(this.folder, "node_modules/.bin/tsc"), ["-p", "."], {
      cwd: this.folder,
      encoding: "utf8",
    });
    expect(run.error).toBeUndefined();
    return run.stdout;
  }
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
    scratch.add("blind", { of: "wire", from: "    traits: once,\n", to: "" });
    scratch.add("mute", { of: "wire", from: "    reply: reply<OkReply>(),\n", to: "" });
    scratch.add("idle", { of: "handlers", from: "  idle_end: forward", to: "  idle_begin: forward" });
    scratch.add("lost", { of: "list", from: "lostHandlers", to: "" });
    const targets = readFileSync(join(root, "protocol/daemon.ts"), "utf8");
    scratch.write("protocol/daemon.ts", targets.replace('  "sessions",\n', '  "sessions",\n  "ghosts",\n'));
    errors = scratch.compile();
  }, 300_000);

  it.each([
    ["a missing trait", /^protocol\/lead\/blind\.ts.*\n?.*'traits' is missing/m],
    ["a missing reply", /^protocol\/lead\/mute\.ts.*\n?.*'reply' is missing/m],
    ["a handler of another name", /^daemon\/lead\/idle\/requests\.ts.*'idle_begin' does not exist/m],
    ["a handler that no list has", /^daemon\/requests\/handlers\.ts.*'lost_end' is missing/m],
    ["a target of query without rows", /^daemon\/requests\/query\.ts.*'ghosts' is missing/m],
  ])("%s", (_, error) => {
    expect(errors).toMatch(error);
  });
});
