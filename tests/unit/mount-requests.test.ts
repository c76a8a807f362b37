import { describe, expect, it } from "vitest";
import * as z from "zod";
import { confined, MountTable, MountView } from "../../daemon/facts/mounts.ts";
import { inwardContext, inwardPlan } from "../../daemon/hooks/plan-filters.ts";
import { parseRequest } from "../../daemon/server/parse.ts";
import { inwardRequest } from "../../daemon/server/server.ts";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import { codex } from "../../hooks/clients/codex.ts";
import type { HookOutcome } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import { requests } from "../../protocol/schemas/requests.ts";

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
