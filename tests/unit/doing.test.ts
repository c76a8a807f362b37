/** What a list of sessions says that an agent does: from the event to the row and the view. */
import { describe, expect, it } from "vitest";
import { sessionsView } from "../../bin/view/sessions.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { plan } from "./hook-events.ts";
import { screen, session } from "./view-rows.ts";

const doingOf = (name: string, tool: string, input: object) => {
  const call = { tool_name: tool, tool_use_id: "t", tool_input: input };
  return plan({ hook_event_name: name, session_id: "s", cwd: "/p", ...call }).doing;
};

describe("an event", () => {
  it("says which file is written, before and after", () => {
    expect(doingOf("PreToolUse", "Edit", { file_path: "/p/a.ts" })).toEqual({
      verb: "writes",
      what: "/p/a.ts",
    });
    expect(doingOf("PostToolUse", "NotebookEdit", { notebook_path: "/p/n.ipynb" })).toEqual({
      verb: "wrote",
      what: "/p/n.ipynb",
    });
    expect(doingOf("PreToolUse", "Read", { file_path: "/p/a.ts" })).toBeNull();
    expect(doingOf("Stop", "Edit", { file_path: "/p/a.ts" })).toBeNull();
  });

  it("says how a call ended that did not do what it should", () => {
    const failed = (more: object) =>
      plan({
        hook_event_name: "PostToolUseFailure",
        ...{ session_id: "s", cwd: "/p", tool_name: "Bash", tool_use_id: "t", error: "Exit code 1", ...more },
        tool_input: { command: "git stash" },
      }).doing;
    expect(failed({ is_interrupt: false })).toEqual({ verb: "failed", what: "git" });
    expect(failed({ is_interrupt: true })).toEqual({ verb: "interrupted", what: "git" });
  });

  it.each([
    ["npm test -- --secret=abc", "npm"],
    ["cd /p && TOKEN=abc ./bin/build.sh --fast", "build.sh"],
    ["/usr/bin/make -j2; rm x", "make"],
    ["\n  git status", "git"],
    ["$(cat secret)", null],
    ["", null],
  ])("names of %j the program alone", (command, what) => {
    expect(doingOf("PreToolUse", "Bash", { command })?.what ?? null).toBe(what);
  });
});

describe("presence", () => {
  it("keeps what a turn does, not what comes late or after its end", () => {
    const clock = new SimulatedClock(1_000);
    const presence = new PresenceTable(clock);
    const doing = () => presence.of("s").doing;
    presence.did("s", null, { verb: "runs", what: "npm" });
    expect(doing() ?? null).toBeNull();
    presence.seen("s");
    presence.turn("s", null, true);
    presence.did("s", null, { verb: "writes", what: "/p/a" });
    clock.pass(1_000);
    presence.did("s", null, { verb: "ran", what: "npm" });
    expect(doing()).toEqual({ verb: "writes", what: "/p/a", at: 1_000 });
    presence.did("s", null, { verb: "wrote", what: "/p/a" });
    expect(doing()).toEqual({ verb: "wrote", what: "/p/a", at: 2_000 });
    presence.turn("s", null, false);
    expect(doing()).toBeNull();
  });

  it("forgets what an interrupted turn did once another prompt comes", () => {
    const presence = new PresenceTable(new SimulatedClock(1_000));
    presence.seen("s");
    presence.prompted("s", "p1");
    presence.turn("s", null, true);
    presence.did("s", null, { verb: "runs", what: "git" });
    presence.prompted("s", "p1");
    expect(presence.of("s").doing).toMatchObject({ verb: "runs" });
    presence.prompted("s", "p2");
    expect(presence.of("s").doing).toBeNull();
  });
});

describe("the row of a session", () => {
  const noteOf = (more: object) => {
    const lines = sessionsView({ sessions: [session("ann", more)], locks: [] }, screen(120));
    return lines[1]?.replace(/^.*now */, "") ?? "";
  };
  const doing = (verb: string, what: string, forMs: number) => ({ doing: { verb, what, forMs } });

  it("says what it does, or did last", () => {
    expect(noteOf(doing("writes", "/home/ana/code/shop/src/auth.ts", 50_000))).toBe("writes src/auth.ts");
    expect(noteOf(doing("runs", "npm", 50_000))).toBe("runs npm");
    expect(noteOf(doing("ran", "npm", 1_000))).toBe("ran npm");
    expect(noteOf(doing("ran", "npm", 50_000))).toBe("ran npm 50s ago");
    expect(noteOf(doing("refused", "git", 11_000))).toBe("git refused 11s ago");
    expect(noteOf(doing("failed", "/home/ana/code/shop/src/auth.ts", 0))).toBe("edit of src/auth.ts failed");
    expect(noteOf({ ...doing("ran", "npm", 1_000), status: "idle" })).toBe("");
  });
});
