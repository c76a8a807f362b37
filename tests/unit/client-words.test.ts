/** What agents and people read of clients that are not Claude Code, and of what each client cannot do. */
import { expect, it } from "vitest";
import { sessionsView } from "../../bin/view/sessions.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { claudeCodeClient } from "../../hooks/claude-code/adapter.ts";
import { type EventForm, readEvent } from "../../hooks/plans/event.ts";
import { preEdit } from "../../hooks/plans/tool-events.ts";
import { sessionStart } from "../../hooks/plans/turn-events.ts";
import type { ClientLimits } from "../../hooks/seam/plan.ts";
import { refuse } from "../../protocol/codes.ts";
import { codexPayload, codexPlan } from "./codex-events.ts";
import { World } from "./core-world.ts";
import { answerOf, begun, context, looked, noteOf, refused, row } from "./hook-events.ts";
import { screen, session } from "./view-rows.ts";

const worker = { isSubagent: true, isTeammate: false, teammate: null, parentFile: null };

function eventOf(limits: Partial<ClientLimits>) {
  const form: EventForm = {
    client: { ...claudeCodeClient, limits: { ...claudeCodeClient.limits, ...limits } },
    steps: { Before: "before" },
    names: {
      ...{ name: "name", session: "session", agent: "agent", prompt: "prompt", toolUseId: "call" },
      ...{ tool: "tool", reason: "reason", cwd: "cwd", transcript: "transcript" },
    },
  };
  const raw = { name: "Before", session: "s", call: "c", tool: "edit", cwd: "/p" };
  return readEvent(raw, form, () => worker);
}

it("a session keeps the client that its entries name, over a snapshot and its next events", () => {
  const w = new World();
  w.begin("a", { client: "codex" });
  w.begin("a");
  w.begin("b");
  const again = readState(writeState(w.state)).sessions.live;
  expect([again.get("a")?.client, again.get("b")?.client]).toEqual(["codex", undefined]);
});

it("status names the client of a session where its entries name one", () => {
  const view = (client: object) =>
    sessionsView({ sessions: [session("bob", client)], locks: [] }, screen(100)).join("\n");
  expect(view({ client: "codex" })).toMatch(/now {2}codex$/m);
  expect(view({ client: "codex" })).toContain(", codex, pid ");
  expect(view({})).not.toContain("codex");
});

it("a start is told of whose client another session is", () => {
  const peer = { ...looked, sessions: [{ ...row, client: "codex" }] };
  const start = codexPlan(codexPayload("SessionStart--startup"));
  expect(answerOf(start, begun, peer).hookSpecificOutput.additionalContext).toContain(
    '- "bob" (codex), branch',
  );
});

it("a refused edit is told of whose client the holder is", () => {
  const patch = codexPlan(codexPayload("PreToolUse--apply_patch-move"));
  const held = {
    ...refused("lock", refuse("lock_timeout", "lock queue timeout")),
    holder: { ...noteOf({}), client: "opencode" },
  };
  expect(answerOf(patch, begun, held).hookSpecificOutput.permissionDecisionReason).toContain(
    " (opencode), for ",
  );
});

it("a session whose subagents cannot be told apart is told that they share its locks, and no other", () => {
  const told = (limits: Partial<ClientLimits>) =>
    sessionStart(eventOf(limits), { session: "s" }, context).answer?.([begun, looked]).context;
  expect(told({ tellsSubagents: false })).toMatch(/bob[\s\S]*share your locks/);
  expect(told({})).not.toContain("share your locks");
});

it("whoever closes a cycle is told to make one edit a message, where its client asks about all first", () => {
  const file = { file: "/p/a", overwrites: false, isOwn: false };
  const told = (limits: Partial<ClientLimits>) =>
    preEdit(eventOf(limits), { session: "s" }, context, file).answer?.([
      begun,
      refused("lock", refuse("lock_deadlock", "a waits for b")),
    ]).denial;
  expect(told({ asksAllFirst: true })).toContain("Make one edit a message");
  expect(told({})).not.toContain("one edit a message");
  expect(told({})).toContain("cycle");
});

it("a write is on the terms of its client", () => {
  const file = { file: "/p/a", overwrites: false, isOwn: false };
  const terms = (limits: Partial<ClientLimits>) =>
    preEdit(eventOf(limits), { session: "s" }, context, file).actions.find(({ do: act }) => act === "lock");
  expect(terms({})).not.toMatchObject({ untoldMs: expect.anything() });
  expect(terms({ untoldWriteMs: 7, asksAllFirst: true })).toMatchObject({ untoldMs: 7, beside: true });
  const line = codexPlan(codexPayload("PreToolUse--Bash-heredoc-patch")).actions;
  expect(line.find(({ do: act }) => act === "plain_files")).toMatchObject({ untoldMs: 5_000 });
  const patch = codexPlan(codexPayload("PreToolUse--apply_patch-move")).actions;
  expect(patch.find(({ do: act }) => act === "lock")).not.toHaveProperty("untoldMs");
});
