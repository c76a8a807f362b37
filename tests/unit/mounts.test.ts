/** Paths of a container, in requests and in views. */
import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { confined, isBelow, MountTable, MountView, readPairs } from "../../daemon/facts/mounts.ts";
import { inwardContext, inwardPlan } from "../../daemon/hooks/plan-filters.ts";
import { parseRequest } from "../../daemon/server/parse.ts";
import { inwardRequest } from "../../daemon/server/server.ts";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import { codex } from "../../hooks/clients/codex.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import { requests } from "../../protocol/schemas/requests.ts";

const host = `27 1 8:1 / / rw - ext4 /dev/sda1 rw
22 27 0:21 / /proc rw - proc proc rw
30 27 8:2 / /data rw - ext4 /dev/sda2 rw
31 27 8:1 /home/u/app /mnt/again rw - ext4 /dev/sda1 rw`;

const container = `500 400 0:57 / / rw - overlay overlay rw
501 500 0:60 / /proc rw - proc proc rw
502 500 8:1 /home/u/app /workspaces/app rw - ext4 /dev/sda1 rw
503 502 8:1 /var/lib/docker/volumes/nm/_data /workspaces/app/node_modules rw - ext4 /dev/sda1 rw
504 500 8:1 /home/u/.kite /home/vscode/.kite rw - ext4 /dev/sda1 rw
505 500 8:2 /with\\040blank /srv/with\\040blank rw - ext4 /dev/sda2 rw`;

function viewOf(pairs: string, inside: string | null = container, outside = host): MountView {
  const read = readPairs(pairs);
  if ("wrong" in read) throw new Error(read.wrong);
  const table = inside === null ? null : new MountTable(inside);
  // The overlay of its root is not this user's to see.
  const hidden = new Set(table?.rows.filter(({ device }) => device === "0:57"));
  return new MountView({
    ...{ name: "7", inside: table, hidden, outside: new MountTable(outside), pairs: read },
    hidesProcesses: true,
  });
}

describe("the view of a container", () => {
  it.each([
    ["/workspaces/app", "/home/u/app"],
    ["/workspaces/app/src/a.ts", "/home/u/app/src/a.ts"],
    ["/workspaces/app/src/", "/home/u/app/src/"],
    ["/workspaces/app/../app//b", "/home/u/app/b"],
    ["/workspaces/app/node_modules/x", "/var/lib/docker/volumes/nm/_data/x"],
    ["/home/vscode/.kite/kite.sock", "/home/u/.kite/kite.sock"],
    ["/srv/with blank/f", "/data/with blank/f"],
    ["/tmp/x", "/container:7/tmp/x"],
    ["/home/u/app/a.ts", "/container:7/home/u/app/a.ts"],
    ["/workspaces/app/../../etc/passwd", "/container:7/etc/passwd"],
    ["/workspaces/application", "/container:7/workspaces/application"],
    ["/proc/1/stat", "/container:7/proc/1/stat"],
    ["/", "/container:7"],
    ["src/a.ts", "src/a.ts"],
    ["@db", "@db"],
    ["", ""],
  ])("knows %s as %s", (inside, outside) => {
    const view = viewOf("");
    expect(view.inward(inside)).toBe(outside);
    if (inside.startsWith("/")) expect(view.outwardPath(outside)).toBe(posix.normalize(inside));
  });

  it("keeps a relative name that means the same from there, and no other", () => {
    const view = viewOf("");
    expect(view.inwardFrom("/workspaces/app", "src/a.ts")).toBe("src/a.ts");
    expect(view.inwardFrom("/workspaces/app/src", "../b.ts")).toBe("../b.ts");
    expect(view.inwardFrom("/workspaces/app", "../other/a.ts")).toBe("/container:7/workspaces/other/a.ts");
    expect(view.inwardFrom("/workspaces/app", "node_modules/x")).toBe("/var/lib/docker/volumes/nm/_data/x");
    expect(view.inwardFrom("", "../x")).toBe("../x");
  });

  it("words what it says in the container's paths", () => {
    const view = viewOf("");
    expect(view.outward("alice holds /home/u/app/src/a.ts, as '/home/u/app'.")).toBe(
      "alice holds /workspaces/app/src/a.ts, as '/workspaces/app'.",
    );
    expect(view.outward("/home/u/application and /x/home/u/app and /home/u/app.bak")).toBe(
      "/home/u/application and /x/home/u/app and /home/u/app.bak",
    );
    expect(view.outward("/container:7/tmp/x and /container:7")).toBe("/tmp/x and /");
    const row = { file: "/home/u/app/a", value: "/home/u/app/a", next: "/home/u/app/a", n: [1, null] };
    expect(view.outwardAll(row)).toEqual({ ...row, file: "/workspaces/app/a" });
    expect(view.outwardLine(`${JSON.stringify({ path: "/home/u/app" })}\n`)).toBe(
      '{"path":"/workspaces/app"}\n',
    );
    expect(view.outwardLine("\n")).toBe("\n");
  });

  it("takes pairs before the table, but not over another mount", () => {
    const view = viewOf("/workspaces/app=/data/clone:/tmp/shared=/data/shared");
    expect(view.inward("/workspaces/app/a")).toBe("/data/clone/a");
    expect(view.inward("/workspaces/app/node_modules/x")).toBe("/var/lib/docker/volumes/nm/_data/x");
    expect(view.inward("/tmp/shared/a")).toBe("/data/shared/a");
    expect(viewOf("/w=/home/u/app", null).inward("/w/a")).toBe("/home/u/app/a");
    expect(viewOf("/w=/home/u/app", null).inward("/x/a")).toBe("/container:7/x/a");
    // On this machine another filesystem covers a part of the folder.
    expect(viewOf("/w=/", null).inward("/w/data/a")).toBe("/container:7/w/data/a");
  });

  it("is the same paths where only the namespace is another one", () => {
    const view = viewOf("", host);
    expect(view.inward("/home/u/app/a")).toBe("/home/u/app/a");
    expect(view.inward("/mnt/again/a")).toBe("/home/u/app/a");
    expect(view.outward("/home/u/app/a")).toBe("/home/u/app/a");
  });
});

describe("pairs", () => {
  it.each([
    "x",
    "/a",
    "/a=b",
    "a=/b",
    "/a=/b/../c",
    "/a/./b=/c",
    "=/b",
    "/a=/b:/a=/c",
    Array(65).fill("/a=/b").join(":"),
  ])("%s are refused", text => {
    expect(readPairs(text)).toEqual({ wrong: expect.any(String) });
  });

  it("may end with slashes, and be the same twice", () => {
    const pair = { inside: "/a", outside: "/b" };
    expect(readPairs("/a/=/b:/a=/b/: :")).toEqual([pair]);
    expect(readPairs("")).toEqual([]);
  });
});

const word = fc.constantFrom(
  "a",
  "b",
  "home",
  "u",
  "app",
  "workspaces",
  "..",
  ".",
  "",
  "node_modules",
  "x y",
);
const path = fc.array(word, { maxLength: 7 }).map(words => `/${words.join("/")}`);

describe("whatever a container names", () => {
  it("is a file that its mounts show, or one that this machine does not have", () => {
    const view = viewOf("");
    const reached = ["/home/u/app", "/home/u/.kite", "/data/with blank", "/var/lib/docker/volumes/nm/_data"];
    fc.assert(
      fc.property(path, name => {
        const outside = view.inward(name);
        expect(posix.normalize(outside)).toBe(outside);
        expect(
          view.isPrivate(outside.replace(/(?<=.)\/$/, "")) || reached.some(at => isBelow(at, outside)),
        ).toBe(true);
        expect(view.outwardPath(outside)).toBe(posix.normalize(name));
      }),
    );
  });

  it("is the same file by a relative name", () => {
    const view = viewOf("");
    fc.assert(
      fc.property(path, path, (base, name) => {
        const from = view.inward(base);
        const named = view.inwardFrom(base, name.slice(1));
        const meant = name.slice(1).startsWith("/") ? name.slice(1) : posix.join(base, name.slice(1));
        expect(posix.resolve(from, named)).toBe(posix.resolve("/", view.inward(meant)));
      }),
    );
  });

  it("makes no table and no pairs throw", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), path, (table, pairs, name) => {
        const lines = `${table}\n1 2 8:1 ${table} /${table}\n2 1 8:1 / / rw\n1 1 8:1 / / rw`;
        expect(() => new MountTable(lines).placeOf(posix.normalize(name))).not.toThrow();
        expect(() => readPairs(pairs)).not.toThrow();
      }),
    );
  });
});

it("a mount over another one hides what is below it", () => {
  const table = new MountTable(`1 0 8:1 / / rw
2 1 8:2 / /a/b rw
3 1 8:3 / /a rw
4 3 8:4 /r /a rw
5 4 8:5 /gone//deleted /a/c rw`);
  expect(table.placeOf("/a/b/x")).toEqual({ device: "8:4", path: "/r/b/x" });
  expect(table.placeOf("/a")).toEqual({ device: "8:4", path: "/r" });
  expect(table.placeOf("/a/c/x")).toBeNull();
  expect(table.pathsOf({ device: "8:2", path: "/x" })).toEqual([]);
  expect(new MountTable("").placeOf("/a")).toBeNull();
});

const outside = new MountTable("1 0 8:1 / / rw");
const inside = new MountTable("2 0 0:9 / / rw\n3 2 8:1 /home/u/app /w/app rw\n4 2 8:1 /home/u/.kite /k rw");
const view = new MountView({
  name: "7",
  inside,
  hidden: new Set(),
  outside,
  pairs: [],
  hidesProcesses: true,
});

/** Every field that a schema has, with the longest text that it takes. */
function fieldsOf(schema: z.core.$ZodType, path: readonly string[] = []): [string, number | null][] {
  const { def } = schema._zod as unknown as { def: Record<string, unknown> };
  if (def["type"] === "object")
    return Object.entries(def["shape"] as Record<string, z.core.$ZodType>).flatMap(([name, one]) =>
      fieldsOf(one, [...path, name]),
    );
  for (const inner of ["innerType", "element", "in"]) {
    const one = def[inner];
    if (one !== undefined) return fieldsOf(one as z.core.$ZodType, path);
  }
  if (Array.isArray(def["options"]))
    return (def["options"] as z.core.$ZodType[]).flatMap(one => fieldsOf(one, path));
  const longest = schema instanceof z.ZodString ? schema.maxLength : null;
  return [[path.join("."), longest]];
}

/** Texts as long as a path that are none. */
const noPaths = new Set(
  (
    "register.branch whoami.typed hook.mounts.pairs hello.mounts.pairs spawn_create.base spawn_update.handle " +
    "spawn_update.branch spawn_update.output debate_open.question debate_open.hypotheses.claim debate_challenge.text debate_evidence.text " +
    "debate_answer.text debate_concede.text debate_close.because"
  ).split(" "),
);

describe("a request from a container", () => {
  it("has its paths where they are looked for", () => {
    const unknown: string[] = [];
    for (const [type, { params }] of Object.entries(requests)) {
      for (const [field, longest] of fieldsOf(params)) {
        if (longest !== limits.pathBytes || noPaths.has(`${type}.${field}`)) continue;
        const name = field.split(".").at(-1) ?? "";
        const mapped = inwardRequest(view, { [name]: "/w/app/a" } as never, null) as Record<string, unknown>;
        if (mapped[name] !== "/home/u/app/a") unknown.push(`${type}.${field}`);
      }
    }
    expect(unknown).toEqual([]);
  });

  it("is in this machine's paths, and names no process", () => {
    const parsed = parseRequest({
      text: JSON.stringify({
        type: "register",
        id: "s",
        cwd: "/w/app",
        pid: 7,
        project: "default",
        branch: "/w/app",
      }),
    });
    if (!parsed.ok) throw new Error(parsed.refusal.error);
    expect(inwardRequest(view, parsed.request, null)).toEqual({
      ...{ id: "s", cwd: "/home/u/app", project: "default", branch: "/w/app" },
    });
    const context = { id: "s", key: "k", value: { file: "/w/app/a" } } as never;
    expect(inwardRequest(view, context, null)).toEqual(context);
  });

  it.each([
    ["a.ts", "a.ts"],
    ["../x", "/container:7/w/x"],
    ["/w/app/a", "/home/u/app/a"],
    ["/etc/passwd", "/container:7/etc/passwd"],
  ])("names %s from the session's folder", (file, meant) => {
    expect(inwardRequest(view, { id: "s", file } as never, "/home/u/app")).toEqual({ id: "s", file: meant });
    expect(inwardRequest(view, { id: "s", files: [file] } as never, "/home/u/app")).toEqual({
      id: "s",
      files: [meant],
    });
  });
});

const context = {
  ...{
    env: { CLAUDE_PID: "12", HOME: "/home/dev" },
    ppid: 11,
    socket: "/home/u/.kite/kite.sock",
    home: "/home/u/.kite",
  },
  ...{ waitMs: 1, wake: false, calls: { begins: () => "c", ends: () => "c" } },
};

function plan(adapter: typeof claudeCode, event: object) {
  const payload = { session_id: "s", cwd: "/w/app/src", prompt_id: "p", tool_use_id: "t", ...event };
  return inwardPlan(view, adapter.plan(payload, inwardContext(view, context)));
}

function actionOf(of: ReturnType<typeof plan>, name: string) {
  return of.actions.find(action => action.do === name);
}

describe("the plan of an event from a container", () => {
  it("locks this machine's file, of no process", () => {
    const edit = {
      hook_event_name: "PreToolUse",
      tool_name: "Edit",
      tool_input: { file_path: "/w/app/a.ts" },
    };
    const made = plan(claudeCode, { ...edit, transcript_path: "/home/dev/.claude/projects/x/s.jsonl" });
    expect(made).toMatchObject({
      file: "/home/u/app/a.ts",
      transcript: "/container:7/home/dev/.claude/projects/x/s.jsonl",
    });
    expect(actionOf(made, "lock")).toMatchObject({ file: "/home/u/app/a.ts", cwd: "/home/u/app/src" });
    expect(actionOf(made, "lock")).not.toHaveProperty("pid");
    expect(actionOf(made, "begin")).not.toHaveProperty("pid");
  });

  it("answers in the container's paths", () => {
    const edit = {
      hook_event_name: "PreToolUse",
      tool_name: "Edit",
      tool_input: { file_path: "/w/app/a.ts" },
    };
    const refusal = { ok: false, code: "store_full", error: "/home/u/app/a.ts is not locked" } as const;
    const outcome = {
      did: "lock",
      ok: false,
      refusal,
      verdict: "allow",
      holder: null,
    } as unknown as HookOutcome;
    const { output } = plan(claudeCode, edit).answer([outcome]);
    expect(output).toContain("/w/app/a.ts is not locked");
    expect(output).not.toContain("/home/u");
    const begun = { did: "begin", ok: true, name: "n", project: "/home/u/app" } as unknown as HookOutcome;
    const start = plan(claudeCode, { hook_event_name: "SessionStart", source: "startup" });
    expect(start.answer([begun]).env).toContain("export KITE_SOCKET='/k/kite.sock'");
  });

  it("guards a shell line in this machine's folders", () => {
    const bash = (command: string) =>
      plan(claudeCode, { hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command } });
    expect(actionOf(bash("cd ../lib && git checkout -- ../../x /w/app/y z"), "guard")).toMatchObject({
      cwd: "/home/u/app/src",
      typed: "cd ../lib && git checkout -- ../../x /w/app/y z",
      commands: [{ dir: "/home/u/app/lib", paths: ["/container:7/w/x", "/home/u/app/y", "z"] }],
    });
    const wiped = actionOf(bash("rm /w/app/a /tmp/b ../../../c d"), "plain_files");
    expect(JSON.stringify(wiped)).toContain('"path":"/home/u/app/a"');
    expect(JSON.stringify(wiped)).toContain('"path":"/container:7/tmp/b"');
    expect(JSON.stringify(wiped)).toContain('"path":"/container:7/c"');
    expect(JSON.stringify(wiped)).toContain('"path":"/home/u/app/src/d"');
    const aliased = actionOf(bash("git co /w/app/a"), "guard") as unknown as {
      aliases: { dir: string; commandsOf(text: string): { dir: string; paths: string[] }[] }[];
    };
    expect(aliased.aliases[0]?.dir).toBe("/home/u/app/src");
    expect(aliased.aliases[0]?.commandsOf("checkout --")).toMatchObject([
      { dir: "/home/u/app/src", paths: ["/home/u/app/a"] },
    ]);
  });

  it("locks the files of a patch", () => {
    const patch = "*** Begin Patch\n*** Update File: /w/app/a.ts\n@@\n-a\n+/w/app/b\n*** End Patch";
    const made = plan(codex as typeof claudeCode, {
      hook_event_name: "PreToolUse",
      tool_name: "apply_patch",
      tool_input: { command: patch },
    });
    expect(actionOf(made, "lock")).toMatchObject({ file: "/home/u/app/a.ts" });
  });
});

describe("a link in a mount", () => {
  const leads: Readonly<Record<string, string>> = {
    "/home/u/app/out": "/etc/passwd",
    "/home/u/app/in": "/home/u/app/src/a.ts",
    "/home/u/app/kite": "/home/u/.kite/x",
  };
  const resolve = async (_cwd: string, file: string) => {
    const real = leads[file] ?? file;
    return { lexical: file, real, key: real, dir: false };
  };

  it.each([
    ["/w/app/out", "/container:7/w/app/out"],
    ["/w/app/in", "/home/u/app/in"],
    ["/w/app/kite", "/home/u/app/kite"],
    ["/tmp/x", "/container:7/tmp/x"],
  ])("%s is %s", async (file, meant) => {
    expect(await confined(view, resolve, names => names.inward(file))).toBe(meant);
  });

  it("counts by a relative name, too", async () => {
    const request = (file: string) =>
      confined(view, resolve, names => inwardRequest(view, { id: "s", file } as never, "/home/u/app", names));
    expect(await request("out")).toEqual({ id: "s", file: "/container:7/w/app/out" });
    expect(await request("in")).toEqual({ id: "s", file: "in" });
  });

  it("is left alone where it cannot be read", async () => {
    const late = async () => ({ unreachable: "late" });
    expect(await confined(view, late, names => names.inward("/w/app/out"))).toBe("/home/u/app/out");
  });
});
