/** An actor that is alone where it works reads nothing of HEAD: its edits cost not one call more. */
import { expect, it } from "vitest";
import type { HookEvent } from "../../daemon/hooks/event.ts";
import { lookAtHead } from "../../daemon/hooks/guard/heads.ts";
import { HeadLines } from "../../daemon/hooks/guard/memory.ts";
import { World } from "./core-world.ts";

/** An edit of session a; whatever of the outside is asked for is kept. */
function edit(w: World) {
  const asked: string[] = [];
  const proposed: unknown[] = [];
  const facts = new Proxy(
    {},
    {
      get: (_, name) => {
        asked.push(String(name));
        return async () => ({ unreachable: "not now" });
      },
    },
  );
  const event = {
    plan: { session: "a", agent: null, actions: [{ do: "inbox", session: "a", take: true }] },
    engine: { state: w.state, submitWithRetry: (command: unknown) => proposed.push(command) },
    presence: { rows: new Map() },
    clock: { now: () => 0 },
    actor: () => ({ session: "a", agent: null, incarnation: 0 }),
    facts,
  } as unknown as HookEvent;
  const parts = { guard: { heads: new HeadLines() } } as unknown as Parameters<typeof lookAtHead>[2];
  const answer = {} as Parameters<typeof lookAtHead>[1];
  return { asked, proposed, look: () => lookAtHead(event, answer, parts) };
}

it("alone", () => {
  const w = new World();
  w.begin("a");
  const { asked, proposed, look } = edit(w);
  expect(look()).toBeUndefined();
  expect([asked, proposed]).toEqual([[], []]);
});

it("alone after others: what was known of HEAD is forgotten, and nothing is read", () => {
  const w = new World();
  w.begin("a");
  const { worktree } = w.state.sessions.live.get("a") ?? { worktree: "" };
  const head = { ref: "refs/heads/main", commit: "c", operation: null, of: null };
  w.do({ type: "head_moved", row: { worktree, head, operation: null, moved: null }, tell: [], by: null });
  const { asked, proposed, look } = edit(w);
  expect(look()).toBeUndefined();
  expect(asked).toEqual([]);
  expect(proposed).toMatchObject([{ type: "head_moved", row: { worktree, head: null } }]);
});

it("beside another one in the same worktree it looks", async () => {
  const w = new World();
  w.begin("a");
  w.begin("b");
  const { asked, look } = edit(w);
  await look();
  expect(asked).toEqual(["repository"]);
});
