/** Events of Copilot and Gemini CLI as plans, and what their users read. */
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copilotEvents, geminiEvents } from "../../hooks/clients/clients.ts";
import { copilot } from "../../hooks/clients/copilot.ts";
import { gemini } from "../../hooks/clients/gemini.ts";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { hookSchema } from "../../protocol/schemas/hook.ts";
import { answerOf, begun, context, granted, looked, noteOf, type Payload, refused } from "./hook-events.ts";

// Recorded events of a client, as the daemon gets them.

const folderOf = (client: string) => new URL(`../fixtures/${client}/`, import.meta.url);

/** One recorded payload. */
function payloadOf(client: string, name: string): Payload {
  const text = readFileSync(new URL(`${name}.json`, folderOf(client)), "utf8");
  return hookSchema.parse({ event: JSON.parse(text) }).event;
}

/** Every recorded event that names itself, those of the sequences included. */
function recordedOf(client: string): { readonly name: string; readonly event: Payload }[] {
  return readdirSync(folderOf(client))
    .flatMap(name => {
      const text = readFileSync(new URL(name, folderOf(client)), "utf8");
      if (name.endsWith(".json")) return [{ name, event: JSON.parse(text) as Payload }];
      return text
        .trim()
        .split("\n")
        .map((line, i) => ({ name: `${name}:${i + 1}`, event: JSON.parse(line).payload as Payload }));
    })
    .filter(({ event }) => "hook_event_name" in event);
}

const payload = (name: string) => payloadOf("copilot", name);
const plan = (event: Payload, cx = context) => copilot.plan(event, cx);
const action = (event: Payload, does: string) => plan(event).actions.find(one => one.do === does);
const doing = (event: Payload) => plan(event).actions.map(one => one.do);

const edit = payload("PreToolUse--Edit");
const patch = payload("PreToolUse--Edit-patch-two-files");
const bash = payload("PreToolUse--Bash");

describe("an edit", () => {
  test.each([
    ["PreToolUse--Edit", "/home/ana/shop/src/a.ts"],
    ["PreToolUse--Edit-relative", "src/a.ts"],
    ["PreToolUse--Write", "/home/ana/shop/src/new.ts"],
  ])("%s asks for its file beside what the message asked for before", (name, file) => {
    expect(action(payload(name), "lock")).toMatchObject({
      file,
      cwd: "/home/ana/shop",
      promptId: null,
      pid: 40,
      beside: true,
      untoldMs: 600_000,
    });
  });

  test("a patch of a GPT model asks for all its files", () => {
    expect(action(patch, "lock")).toMatchObject({ file: "src/a.ts", moreFiles: ["src/new.ts"] });
  });

  test("its end is found by its words", () => {
    const id = (event: Payload) =>
      plan(event).actions.flatMap(one => ("toolUseId" in one ? [one.toolUseId] : []));
    for (const name of ["Edit", "Write", "Bash", "Edit-patch-two-files"]) {
      const [begin] = id({ ...payload(`PreToolUse--${name}`), ...(name === "Bash" ? stash : {}) });
      const [end] = id({ ...payload(`PostToolUse--${name}`), ...(name === "Bash" ? stash : {}) });
      expect(begin).toBeDefined();
      expect(end).toBe(begin);
    }
  });

  test("wrote its file, or failed and wrote nothing", () => {
    expect(action(payload("PostToolUse--Edit"), "flight_end")).toMatchObject({ wrote: true });
    const failed = payload("PostToolUseFailure--Edit-relative");
    expect(action(failed, "flight_end")).toMatchObject({ wrote: false, file: "src/a.ts" });
    expect(action(failed, "record_result")).toMatchObject({ error: "No match found" });
    const ends = plan(payload("PostToolUse--Edit-patch-two-files")).actions.filter(
      one => one.do === "flight_end",
    );
    expect(ends).toMatchObject([{ file: "src/a.ts" }, { file: "src/new.ts" }]);
  });

  test("is denied in the client's own form", () => {
    const held = refused("lock", refuse("lock_timeout", "held"), { holder: noteOf(), waitMs: 15_000 });
    const said = answerOf(plan(edit), begun, held);
    expect(said).toEqual({
      permissionDecision: "deny",
      permissionDecisionReason: expect.stringContaining("another agent holds the file"),
    });
  });

  test("a cycle is refused in words: one edit a message", () => {
    const cycle = refused("lock", refuse("lock_deadlock", "bob waits for you"), {
      holder: noteOf(),
      waitMs: 0,
    });
    const said = answerOf(plan(edit), begun, cycle);
    expect(said.permissionDecisionReason).toContain("Waiting for it would close a cycle of waits");
    expect(said.permissionDecisionReason).toContain("Make one edit a message");
  });
});

const stash = { tool_input: { command: "git stash" } };

test("a shell line is guarded", () => {
  expect(action({ ...bash, ...stash }, "guard")).toMatchObject({
    line: "git stash push",
    cwd: "/home/ana/shop",
  });
});

test("a call of Kite's tools shows what is new, and asks for nothing else", () => {
  expect(doing(payload("PreToolUse--kite-kite_inbox"))).toEqual(["begin", "heartbeat"]);
  const other = { ...payload("PreToolUse--kite-kite_inbox"), tool_name: "kite-kite_status" };
  expect(doing(other)).toEqual(["begin", "heartbeat", "inbox"]);
});

describe("sessions, turns and agents", () => {
  const main = payload("SessionStart--new")["session_id"];

  test("an agent is one of its parent's session, to which the main agent's locks pass", () => {
    const event = payload("PreToolUse--Write-in-subagent");
    expect(action(event, "lock")).toMatchObject({
      session: main,
      agent: event["agent_id"],
      ancestors: [null],
    });
    expect(doing(payload("UserPromptSubmit--subagent"))).not.toContain("turn_end");
    expect(action(payload("SubagentStop--subagent"), "heartbeat")).toMatchObject({
      session: main,
      agent: event["agent_id"],
      ended: true,
    });
  });

  test("a prompt ends the turn before, and so does Stop", () => {
    for (const name of ["UserPromptSubmit--main", "Stop--main"])
      expect(action(payload(name), "turn_end")).toMatchObject({ session: main });
  });

  test("what others do is told with the start, at the top of the answer", () => {
    const said = answerOf(plan(payload("SessionStart--new")), begun, looked);
    expect(said).toEqual({ additionalContext: expect.stringContaining("bob") });
  });

  test("a session ends by its own event", () => {
    expect(plan(payload("SessionEnd--complete")).actions).toEqual([
      expect.objectContaining({ do: "end", session: main, cause: "complete" }),
    ]);
  });
});

describe("over every recorded event", () => {
  const all = recordedOf("copilot");

  test.each(all)("$name says nothing of itself", ({ event }) => {
    expect(plan(event).event).toBe(event["hook_event_name"]);
    expect(plan(event).answer([begun])).toEqual({ output: "" });
  });

  test("nothing throws, allows or exits with a code, whatever the fields hold", () => {
    const value = fc.oneof(fc.constant(null), fc.string(), fc.integer(), fc.object());
    const changed = fc.tuple(fc.constantFrom(...all), fc.nat(20), value).map(([{ event }, at, put]) => {
      const names = Object.keys(event);
      return { ...event, [names[at % names.length] ?? "cwd"]: put };
    });
    const held = refused("lock", refuse("lock_held", "held"), { holder: noteOf() });
    fc.assert(
      fc.property(changed, event => {
        for (const outcomes of [[], [begun], [begun, held], [begun, granted()], [begun, looked]]) {
          const words = plan(event).answer(outcomes);
          expect(words.output).not.toContain('"allow"');
          expect(words).not.toHaveProperty("exitCode");
        }
      }),
    );
  });
});

test("a hook answers before its client lets the tool run, and a wait fits in", () => {
  for (const { budgetMs, timeoutMs } of copilotEvents) expect(timeoutMs).toBeGreaterThan(budgetMs);
  const before = copilotEvents.find(({ event }) => event === "PreToolUse");
  expect(before?.budgetMs).toBeGreaterThan(copilot.limits.lockWaitMaxMs);
  expect(copilot.limits.lockWaitMaxMs).toBeLessThanOrEqual(15_000);
  expect(limits.hookShortWaitMs).toBeLessThan(limits.hookWaitMs);
});

describe("Gemini CLI", () => {
  const payload = (name: string) => payloadOf("gemini", name);
  const plan = (event: Payload, cx = context) => gemini.plan(event, cx);
  const action = (event: Payload, does: string) => plan(event).actions.find(one => one.do === does);
  const doing = (event: Payload) => plan(event).actions.map(one => one.do);

  const replace = payload("BeforeTool--replace");

  describe("an edit", () => {
    test.each([
      ["BeforeTool--replace", "/home/ana/shop/src/auth.ts"],
      ["BeforeTool--replace-relative-path", "src/auth.ts"],
      ["BeforeTool--write_file", "/home/ana/shop/src/new.ts"],
    ])("%s asks for its file", (name, file) => {
      expect(action(payload(name), "lock")).toMatchObject({
        file,
        cwd: "/home/ana/shop",
        pid: 40,
        overwrites: [file],
        // A `replace` leaves the lines that it does not name.
        unchecked: { whole: name.includes("write_file") ? [file] : [] },
        untoldMs: 60_000,
      });
    });

    test("takes no messages, which the client would drop; they come after the call", () => {
      expect(doing(replace)).not.toContain("inbox");
      expect(doing(payload("AfterTool--replace"))).toContain("inbox");
    });

    test("its end is found by its words", () => {
      const id = (name: string) =>
        plan(payload(name)).actions.flatMap(one => ("toolUseId" in one ? [one.toolUseId] : []));
      for (const name of ["replace", "write_file"]) {
        const [begin] = id(`BeforeTool--${name}`);
        expect(begin).toBeDefined();
        expect(id(`AfterTool--${name}`)[0]).toBe(begin);
      }
    });

    test("wrote its file, or failed and wrote nothing", () => {
      expect(action(payload("AfterTool--replace"), "flight_end")).toMatchObject({ wrote: true });
      const failed = payload("AfterTool--replace-failed");
      expect(action(failed, "flight_end")).toMatchObject({ wrote: false });
      expect(action(failed, "record_result")).toMatchObject({
        error: expect.stringContaining("exact match"),
      });
    });

    test("is denied in the client's own form", () => {
      const held = refused("lock", refuse("lock_timeout", "held"), { holder: noteOf(), waitMs: 15_000 });
      const said = answerOf(plan(replace), begun, held);
      expect(said).toEqual({
        decision: "deny",
        reason: expect.stringContaining("another agent holds the file"),
      });
    });

    test("is denied when the file changed meanwhile: the client drops what is told before the call", () => {
      const changed = granted({
        changedWhileWaiting: true,
        changedBy: { name: "bob", lines: null },
        verdict: "deny",
        waitedMs: 2_000,
      });
      expect(answerOf(plan(replace), begun, changed)).toMatchObject({
        decision: "deny",
        reason: expect.stringContaining("read the file again"),
      });
    });
  });

  describe("a shell line", () => {
    const line = payload("BeforeTool--run_shell_command-dir_path");
    const stash = (more: object) => ({ ...line, tool_input: { command: "git stash", ...more } });

    test("is guarded where it runs", () => {
      expect(action(stash({ dir_path: "src" }), "guard")).toMatchObject({ cwd: "/home/ana/shop/src" });
      expect(action(stash({ dir_path: "/home/ana/other" }), "guard")).toMatchObject({
        cwd: "/home/ana/other",
      });
      expect(action(stash({}), "guard")).toMatchObject({ cwd: "/home/ana/shop", line: "git stash push" });
    });

    test("ends by its words, with success or not", () => {
      for (const name of ["run_shell_command", "run_shell_command-failing"])
        expect(action(payload(`AfterTool--${name}`), "shell_end")).toBeDefined();
    });
  });

  test("a call of Kite's tools registers its session", () => {
    expect(doing(payload("BeforeTool--mcp"))).toEqual(["begin", "heartbeat"]);
  });

  test("agents of a session are one owner: the client does not tell them apart", () => {
    const event = payload("BeforeTool--write_file-in-subagent");
    const lock = action(event, "lock");
    expect(lock).toMatchObject({ session: event["session_id"], ancestors: [] });
    expect(lock).not.toHaveProperty("agent");
    const said = plan(payload("SessionStart--startup")).answer([begun]).output;
    expect(said).toContain("cannot tell your subagents apart");
  });

  describe("turns and sessions", () => {
    test("a prompt ends the turn before, and so does the final answer", () => {
      for (const name of ["BeforeAgent--prompt", "AfterAgent--plain"])
        expect(action(payload(name), "turn_end")).toMatchObject({ session: payload(name)["session_id"] });
    });

    test("a dialog keeps the lock and asks for a person", () => {
      const event = payload("Notification--tool-permission");
      expect(doing(event)).toEqual(["release_index", "renew", "heartbeat"]);
      expect(action(event, "heartbeat")).toMatchObject({ attention: "permission for a command line" });
    });

    test("a session begins with what the others do, and ends by its own event", () => {
      const { hookSpecificOutput: said } = answerOf(plan(payload("SessionStart--startup")), begun, looked);
      expect(said).toEqual({
        hookEventName: "SessionStart",
        additionalContext: expect.stringContaining("bob"),
      });
      expect(plan(payload("SessionEnd--exit")).actions).toEqual([
        expect.objectContaining({ do: "end", cause: "exit" }),
      ]);
    });

    test("what comes before each request to the model is not asked for", () => {
      expect(geminiEvents.map(({ event }) => event)).not.toContain("PreCompress");
    });
  });

  describe("over every recorded event", () => {
    const all = recordedOf("gemini");

    test.each(all)("$name is of its session, and says nothing of itself", ({ event }) => {
      expect(plan(event).session).toBe(event["session_id"]);
      expect(plan(event).event).toBe(event["hook_event_name"]);
      if (event["hook_event_name"] !== "SessionStart")
        expect(plan(event).answer([begun])).toEqual({ output: "" });
    });

    test("nothing throws, allows, asks or exits with a code, whatever the fields hold", () => {
      const value = fc.oneof(fc.constant(null), fc.string(), fc.integer(), fc.object());
      const changed = fc.tuple(fc.constantFrom(...all), fc.nat(20), value).map(([{ event }, at, put]) => {
        const names = Object.keys(event);
        return { ...event, [names[at % names.length] ?? "cwd"]: put };
      });
      const held = refused("lock", refuse("lock_held", "held"), { holder: noteOf() });
      fc.assert(
        fc.property(changed, event => {
          for (const outcomes of [[], [begun], [begun, held], [begun, granted()], [begun, looked]]) {
            const words = plan(event).answer(outcomes);
            expect(words.output).not.toMatch(/"(?:allow|ask)"/);
            expect(words).not.toHaveProperty("exitCode");
          }
        }),
      );
    });
  });

  test("a hook answers before its client lets the tool run, and a wait fits in", () => {
    for (const { budgetMs, timeoutMs } of geminiEvents) expect(timeoutMs).toBeGreaterThan(budgetMs);
    const before = geminiEvents.find(({ event }) => event === "BeforeTool");
    expect(before?.budgetMs).toBeGreaterThan(gemini.limits.lockWaitMaxMs);
    expect(gemini.limits.lockWaitMaxMs).toBeLessThanOrEqual(15_000);
  });
});
