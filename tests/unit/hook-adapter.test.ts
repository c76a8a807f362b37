import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventTable } from "../../hooks/claude-code/events.ts";
import { eventGroups } from "../../hooks/claude-code/settings/entries.ts";
import { toolSlices } from "../../hooks/claude-code/slices.ts";
import type { HookContext, HookPlan } from "../../hooks/seam/plan.ts";
import type { HookAction, HookOutcome } from "../../hooks/seam/slices.ts";
import { type Code, codes, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { fitsRule } from "./client-rules.ts";
import {
  begun,
  context,
  gated,
  granted,
  looked,
  noteOf,
  payload,
  plan,
  recorded,
  refused,
  team,
} from "./hook-events.ts";

const isACode = (name: string): name is Code => Object.hasOwn(codes, name);

const refusals: HookOutcome[] = Object.keys(codes)
  .filter(isACode)
  .flatMap(code =>
    (["begin", "lock", "list_peers", "heartbeat", "turn_end", "end"] as const).flatMap(did => {
      const refusal = refuse(code, `why: ${code}`, { locked_ago: 3 });
      const note = noteOf({ heldMs: 125_000, waiters: 2, doing: "edits", yieldsInMs: 5 });
      return [refused(did, refusal), refused(did, refusal, { holder: note, place: 2 })];
    }),
  );

/** Every way the daemon may answer, whether it fits the plan or not. */
const manyOutcomes: readonly (readonly HookOutcome[])[] = [
  [],
  [begun],
  [begun, granted()],
  [begun, granted({ waitedMs: 900, changedWhileWaiting: true, before: "bob" })],
  [begun, granted({ changedWhileWaiting: true, changedBy: { name: "bob", lines: "line 1" } })],
  [begun, looked],
  ...(["allow", "allow_with_note", "deny"] as const).map(verdict => [begun, team(verdict)]),
  ...(["gate_write", "gate_files", "gate_stop", "gate_complete"] as const).flatMap(did =>
    (["allow", "allow_with_note", "deny"] as const).flatMap(verdict => [
      [begun, gated(did, verdict), granted()],
      [begun, gated(did, verdict, true)],
    ]),
  ),
  ...["trusted.json", "journal/a", "", "off"].map(name => [
    begun,
    { did: "check_own_files", ok: true, verdict: "deny", name, path: `/home/dev/.kite/${name}` } as const,
  ]),
  ...refusals.map(refused => [begun, refused]),
  ...refusals.map(refused => [refused]),
];

/** Returns what is wrong: an answer is nothing, or one JSON object of the kind the client understands; it never allows. */
function faultsOf(p: HookPlan, outcomes: readonly HookOutcome[]): readonly string[] {
  const { exitCode = 0, stderr = "", env = [], output } = p.answer(outcomes);
  const lines = env.filter(line => !/^export KITE_[A-Z]+='.*'$/.test(line));
  const faults = [
    ...(exitCode === 0 ? [] : [`exit code ${exitCode}`]),
    ...(stderr === "" ? [] : [stderr]),
    ...lines,
  ];
  if (output === "") return faults;
  if (output.includes("\n") || output.includes('"allow"')) faults.push(output);
  const said: Record<string, unknown> = JSON.parse(output);
  faults.push(...Object.keys(said).filter(key => !understood.has(key)));
  const specific = said["hookSpecificOutput"] as { hookEventName?: unknown } | undefined;
  if (specific !== undefined && specific.hookEventName !== p.event) faults.push(output);
  return faults;
}

const understood = new Set(["hookSpecificOutput", "systemMessage", "decision", "reason"]);

/** The events that the client waits for. */
const entries = eventGroups({ program: "/k/hook.cjs", node: "/k/node", home: null, everyEvent: true });
const waiting = new Set(entries.filter(([, g]) => g.hooks[0]?.async !== true).map(([event]) => event));
const asyncActions = new Set([
  "record_result",
  "flight_end",
  "shell_end",
  "release_index",
  "release_line_files",
  "turn_end",
  "heartbeat",
  "renew",
  "reconcile",
  "notes",
]);
const kindsOf = (p: HookPlan) => p.actions.map(a => a.do);

/** What must hold for every event there is, or may come to be. */
function checkPlan(event: Record<string, unknown>): void {
  const p = plan(event);
  const isEdit = p.event === "PreToolUse" && /^(Edit|Write|NotebookEdit)$/.test(`${event["tool_name"]}`);
  const isTeam =
    p.event === "PreToolUse" &&
    /^(TaskUpdate|SendMessage|Agent|EnterWorktree|ExitWorktree)$/.test(`${event["tool_name"]}`);
  // A line that is looked at waits as an edit does.
  const isGuarded = kindsOf(p).some(name => name === "guard" || name === "plain_files");
  for (const action of p.actions) {
    expect(action.session).toBe(event["session_id"]);
    // Whatever else its row does with it: the client waits for each `PreToolUse` that starts a hook.
    const hears = action.do === "inbox" && p.event === "PreToolUse";
    if (!hears && (!waiting.has(p.event) || (p.event === "PreToolUse" && !isEdit && !isTeam && !isGuarded))) {
      expect(asyncActions).toContain(action.do);
      // Nobody begins by an event that may come late; who has ended may be told by name.
      if (action.do === "heartbeat") expect(action.active).toBeUndefined();
      if (action.do === "heartbeat" && action.ended !== true) expect(action.agentName).toBeUndefined();
    }
    if (action.do === "lock") {
      expect(isEdit).toBe(true);
      expect(action.agent).toBe(event["agent_id"] ?? undefined);
    }
    // Nobody's turn ends but that of who acts, or of an agent that an Agent or TaskStop call names.
    const isNamed = p.event === "PostToolUse" && /^(Agent|TaskStop)$/.test(`${event["tool_name"]}`);
    if (action.do === "turn_end" && !isNamed) expect(action.agent).toBe(event["agent_id"] ?? undefined);
  }
}

describe("every recorded payload", () => {
  const all = recorded();

  test("there are many", () => expect(all.length).toBeGreaterThan(500));

  test.each(all)("$name", ({ event }) => {
    const p = plan(event);
    expect(p.event).toBe(event["hook_event_name"]);
    expect(p.session).toBe(event["session_id"]);
    expect(p.agent).toBe(event["agent_id"] ?? null);
    const isHelper = p.event === "SubagentStop" && event["agent_type"] === "";
    expect(p.actions.length > 0).toBe(!isHelper);
    checkPlan(event);
  });

  test("gives a sign of life of each session that it begins", () => {
    for (const { event } of all) {
      const { actions } = plan(event);
      const begun = actions.flatMap(action => (action.do === "begin" ? [action.session] : []));
      const alive = actions.flatMap(action => (action.do === "heartbeat" ? [action.session] : []));
      expect(alive).toEqual(expect.arrayContaining(begun));
    }
  });

  test("answers what the client understands", () => {
    const kinds = new Map(
      all.map(({ event }) => [`${event["hook_event_name"]} ${event["tool_name"]}`, event]),
    );
    for (const p of [...kinds.values()].map(event => plan(event)))
      expect(manyOutcomes.flatMap(outcomes => faultsOf(p, outcomes))).toEqual([]);
  });

  test("every edit takes a lock, in the name of its actor", () => {
    const edits = all.filter(
      ({ event }) =>
        event["hook_event_name"] === "PreToolUse" &&
        /^(Edit|Write|NotebookEdit)$/.test(`${event["tool_name"]}`),
    );
    expect(edits.length).toBeGreaterThan(10);
    for (const { event } of edits)
      expect(kindsOf(plan(event))).toEqual([
        "begin",
        "heartbeat",
        "check_own_files",
        "gate_write",
        "lock",
        "inbox",
      ]);
  });
});

describe("rows", () => {
  const cwd = "/home/dev/project";

  /** What the event of that name does, each action without the session's id and the process. */
  const acts = (event: Record<string, unknown>) =>
    plan(event).actions.map(({ session, ...action }) => {
      expect(session).toBe(event["session_id"]);
      if (!("pid" in action)) return action;
      const { pid, ...rest } = action;
      expect(pid).toBe(41);
      return rest;
    });
  type Act = HookAction extends infer A ? (A extends HookAction ? Omit<A, "session" | "pid"> : never) : never;

  const begin = (revive = false) => ({ do: "begin", cwd, revive }) as const;
  const over = (agent?: string) => {
    const who = agent === undefined ? {} : { agent };
    return [
      { do: "turn_end", ...who },
      { do: "heartbeat", ...who, active: false, attention: null },
    ] as const;
  };
  const failed = (agent?: string) => {
    const [end, rest] = over(agent);
    return [end, { ...rest, failed: true }] as const;
  };
  const gone = (agent: string) =>
    [
      { do: "turn_end", agent },
      { do: "heartbeat", agent, ended: true, attention: null },
    ] as const;
  const reconcile = { do: "reconcile", isGone: expect.any(Function) };
  /** What was shown before is read; `take`: what is unread is shown now. */
  const inbox = (take: boolean, agent?: string) =>
    ({ do: "inbox", ...(agent === undefined ? {} : { agent }), take }) as const;
  const starts = [
    begin(true),
    { do: "heartbeat", active: false, attention: null },
    { do: "list_peers" },
    inbox(false),
  ] as const;
  const gate = (file: string, agent?: string) =>
    ({ do: "gate_write", ...(agent === undefined ? {} : { agent }), file, cwd, isOwn: false }) as const;
  const ownFiles = (file: string, agent?: string) =>
    ({ do: "check_own_files", ...(agent === undefined ? {} : { agent }), cwd, files: [file] }) as const;
  const gateStop = (agent?: string) =>
    ({ do: "gate_stop", ...(agent === undefined ? {} : { agent }) }) as const;
  const result = (tool: string, error: string | null = null, agent?: string) =>
    ({ do: "record_result", ...(agent === undefined ? {} : { agent }), tool, error }) as const;
  const wentOn = { do: "heartbeat", attention: null } as const;
  const notes = { do: "notes" } as const;
  const shellEnd = (toolUseId: string, ranMs: number, program: string) =>
    ({ do: "shell_end", toolUseId, cwd, ranMs, program, ancestors: [] }) as const;
  const sent = (chars: number) => ({ chars, text: expect.any(Function) });
  const alice = "aalice-5d0b10a1332e636f";
  const bob = "abob-339db4d1bd440138";

  test.each<[string, readonly (Act | typeof reconcile)[]]>([
    ["SessionStart--startup-print", starts],
    ["SessionStart--pane-teammate", starts],
    ["SessionStart--clear", starts],
    ["SessionStart--resume", starts],
    [
      "SessionStart--compact",
      [begin(true), wentOn, { do: "context_lost" }, { do: "list_peers" }, inbox(false)],
    ],
    [
      "UserPromptSubmit--print",
      [
        begin(),
        { do: "turn_end", keepPrompt: "86b3ab47-4100-472d-b139-65b8b1505389" },
        { do: "heartbeat", active: true, attention: null },
        { do: "prompt_submitted", promptId: "86b3ab47-4100-472d-b139-65b8b1505389", byPerson: true },
        { do: "list_peers", changesOnly: true },
        inbox(true),
      ],
    ],
    [
      "PreToolUse--Edit",
      [
        begin(),
        { do: "heartbeat", active: true, attention: null },
        ownFiles("/home/dev/project/a.txt"),
        gate("/home/dev/project/a.txt"),
        {
          do: "lock",
          file: "/home/dev/project/a.txt",
          cwd,
          promptId: "86b3ab47-4100-472d-b139-65b8b1505389",
          toolUseId: "toolu_main_2_0_3",
          waitMs: 50_000,
          ancestors: [],
          parentFile: null,
          overwrites: [],
        },
        inbox(true),
      ],
    ],
    [
      "PreToolUse--Write-in-subagent",
      [
        begin(),
        {
          do: "heartbeat",
          agent: "a0954b2b04fdf61ec",
          active: true,
          attention: null,
          agentName: "general-purpose",
          descends: true,
        },
        ownFiles("/home/dev/project/p1.txt", "a0954b2b04fdf61ec"),
        gate("/home/dev/project/p1.txt", "a0954b2b04fdf61ec"),
        {
          do: "lock",
          agent: "a0954b2b04fdf61ec",
          file: "/home/dev/project/p1.txt",
          cwd,
          promptId: "e9809de7-75c2-4ad7-b797-901b1f7a8d55",
          toolUseId: "toolu_p1_1_0_4",
          waitMs: 50_000,
          ancestors: [null],
          parentFile:
            "/home/dev/.claude/projects/-home-dev-project/25b58948-0ed1-4a1a-9f3d-c60689cda457/subagents/agent-a0954b2b04fdf61ec.meta.json",
          overwrites: ["/home/dev/project/p1.txt"],
        },
        inbox(true, "a0954b2b04fdf61ec"),
      ],
    ],
    ["PreToolUse--Read", [{ do: "heartbeat" }]],
    [
      "PostToolUse--Edit",
      [
        result("Edit"),
        {
          do: "flight_end",
          toolUseId: "toolu_main_2_0_3",
          wrote: true,
          file: "/home/dev/project/a.txt",
          cwd,
          lines: "line 2",
          sent: sent(17),
          ancestors: [],
        },
        wentOn,
        notes,
      ],
    ],
    [
      "PostToolUse--NotebookEdit",
      [
        result("NotebookEdit"),
        {
          do: "flight_end",
          toolUseId: "toolu_main_5_0_6",
          wrote: true,
          file: "/home/dev/project/n.ipynb",
          cwd,
          lines: null,
          sent: sent(209),
          ancestors: [],
        },
        wentOn,
        notes,
      ],
    ],
    ["PostToolUse--Bash", [result("Bash"), shellEnd("toolu_main_6_0_7", 50, "echo"), wentOn, notes]],
    ["PostToolUse--Agent-foreground", [result("Agent"), ...gone("a0954b2b04fdf61ec"), wentOn, notes]],
    ["PostToolUse--Agent-background", [result("Agent"), wentOn, notes]],
    [
      "PostToolUse--Agent-spawn-in-process-teammate",
      [
        result("Agent"),
        { do: "heartbeat", agent: alice, teammate: { name: "alice", team: "session-6de28969" } },
        wentOn,
        notes,
      ],
    ],
    ["PostToolUse--Agent-spawn-pane-teammate", [result("Agent"), wentOn, notes]],
    ["PostToolUse--TaskStop", [result("TaskStop"), ...gone("a51d5ab064a282b91"), wentOn, notes]],
    [
      "PostToolUseFailure--Agent-api-error",
      [result("Agent", expect.stringContaining("API error")), wentOn, inbox(true)],
    ],
    [
      "PostToolUseFailure--Bash-exit-code",
      [result("Bash", "Exit code 3"), shellEnd("toolu_main_7_0_8", 10, "exit"), wentOn, inbox(true)],
    ],
    [
      "PostToolBatch--three-writes",
      [
        ...["toolu_main_0_0_1", "toolu_main_0_1_1", "toolu_main_0_2_1"].map(
          toolUseId =>
            ({
              do: "flight_end",
              toolUseId,
              wrote: false,
              file: null,
              cwd,
              lines: null,
              ancestors: [],
            }) as const,
        ),
        wentOn,
      ],
    ],
    ["PostToolBatch--two-calls", [wentOn]],
    [
      "PermissionRequest--Write",
      [{ do: "renew" }, { do: "heartbeat", attention: 'permission for Write of "new.txt"' }],
    ],
    [
      "PermissionRequest--Bash",
      [{ do: "release_index" }, { do: "renew" }, { do: "heartbeat", attention: "permission for Bash" }],
    ],
    [
      "SubagentStart--in-process-teammate",
      [
        begin(),
        { do: "list_peers", agent: alice },
        {
          ...{ do: "heartbeat", agent: alice, active: true, attention: null, agentName: "alice" },
          teammate: { name: "alice", team: "session-6de28969" },
        },
        inbox(false, alice),
      ],
    ],
    [
      "SubagentStop--foreground",
      [
        begin(),
        gateStop("aec9c40fb4fbda323"),
        ...over("aec9c40fb4fbda323"),
        inbox(false, "aec9c40fb4fbda323"),
      ],
    ],
    ["SubagentStop--in-process-teammate", [begin(), gateStop(alice), ...over(alice), inbox(false, alice)]],
    ["SubagentStop--compaction-no-agent-type", []],
    ["Stop--plain", [begin(), gateStop(), ...over(), reconcile, inbox(false)]],
    ["Stop--teammates-running", [begin(), gateStop(), ...over(), inbox(false)]],
    ["Stop--background-agent-running", [begin(), gateStop(), ...over(), inbox(false)]],
    ["StopFailure--in-subagent", gone("aa0469b4b25f04c03")],
    ["StopFailure--invalid-request", failed()],
    [
      "TeammateIdle--in-process",
      [
        begin(),
        { do: "heartbeat", agent: bob, teammate: { name: "bob", team: "session-6de28969" } },
        gateStop(bob),
        ...over(bob),
        { do: "client_idle", team: "session-6de28969", agent: bob },
        inbox(false, bob),
      ],
    ],
    [
      "TeammateIdle--pane",
      [
        begin(),
        { do: "heartbeat", teammate: { name: "alice", team: "session-7f4090af" } },
        gateStop(),
        ...over(),
        { do: "client_idle", team: "session-7f4090af" },
        inbox(false),
      ],
    ],
    [
      "TaskCreated--by-lead",
      [
        begin(),
        { do: "heartbeat" },
        {
          do: "client_task",
          list: "session-6de28969",
          isOwnList: true,
          task: "1",
          subject: "first task",
          owner: null,
          state: "created",
        },
      ],
    ],
    [
      "TaskCreated--by-pane-teammate",
      [
        begin(),
        { do: "heartbeat" },
        { do: "heartbeat", teammate: { name: "bob", team: "session-7f4090af" } },
        {
          do: "client_task",
          list: "session-7f4090af",
          isOwnList: false,
          task: "3",
          subject: "task by bob",
          owner: null,
          state: "created",
        },
      ],
    ],
    ["SessionEnd--clear", [{ do: "suspend" }]],
    ["SessionEnd--print-other", [{ do: "end", cause: "other" }]],
    ["SessionEnd--prompt-input-exit", [{ do: "end", cause: "prompt_input_exit" }]],
    ["Notification--permission-prompt", [{ do: "heartbeat" }]],
    [
      "TaskCompleted--by-in-process-teammate",
      [
        begin(),
        { do: "heartbeat" },
        { do: "heartbeat", agent: alice, teammate: { name: "alice", team: "session-6de28969" } },
        { do: "gate_complete", agent: alice, cwd: "/home/dev/project" },
        {
          do: "client_task",
          agent: alice,
          list: "session-6de28969",
          isOwnList: true,
          task: "1",
          subject: "first task",
          owner: "alice",
          state: "completed",
        },
      ],
    ],
    ["PreCompact--manual", [{ do: "heartbeat" }]],
  ])("%s", (name, actions) => {
    expect(acts(payload(name))).toEqual(actions);
  });

  test("a session that is resumed in the same process goes on, too", () => {
    expect(acts({ ...payload("SessionEnd--clear"), reason: "resume" })).toEqual([{ do: "suspend" }]);
  });

  test("a failed write ends its flight and wrote nothing", () => {
    const event = { ...payload("PostToolUse--Edit"), hook_event_name: "PostToolUseFailure" };
    expect(acts(event)[0]).toMatchObject({ do: "flight_end", wrote: false, lines: null });
  });

  test("a call that a person interrupted is no failure to deal with", () => {
    const failed = payload("PostToolUseFailure--Bash-exit-code");
    expect(acts(failed)[0]).toMatchObject({ do: "record_result" });
    expect(acts({ ...failed, is_interrupt: true })[0]).toMatchObject({ do: "shell_end" });
  });

  test("of a failed call's error the end is kept, which says what failed", () => {
    const failed = payload("PostToolUseFailure--Bash-exit-code");
    const kept = (error: string) => acts({ ...failed, error })[0];
    const lines = Array.from({ length: 40 }, (_, n) => `  File "test_sum.py", line ${n}, in test`);
    const end = "AssertionError: 10 != 12";
    const trace = ["Exit code 1", ...lines, end, ""].join("\n");
    expect(kept(trace)).toEqual(result("Bash", `…${[...lines.slice(-7), end].join("\n")}`));
    expect(kept(`Exit code 1\n${end}`)).toEqual(result("Bash", `Exit code 1\n${end}`));
    expect(kept("x".repeat(400))).toEqual(result("Bash", `…${"x".repeat(limits.failureChars - 1)}`));
  });

  test("an agent that goes on because a hook said so is asked for nothing when it stops again", () => {
    const again = { ...payload("Stop--plain"), stop_hook_active: true };
    expect(acts(again)).toEqual([begin(), ...over(), reconcile, inbox(false)]);
  });

  test("the client's own files are nobody's code", () => {
    const write = payload("PreToolUse--Write");
    for (const [file_path, isOwn] of [
      ["/home/dev/.claude/plans/a.md", true],
      ["/home/dev/project/.claude/settings.json", false],
      ["/home/dev/.claude/plans/../../project/a.ts", false],
    ] as const)
      expect(acts({ ...write, tool_input: { file_path, content: "" } })).toContainEqual(
        expect.objectContaining({ isOwn }),
      );
  });

  test("a teammate whose turn fails is still there", () => {
    expect(acts({ ...payload("StopFailure--in-subagent"), agent_id: alice })).toEqual(failed(alice));
  });

  test("a teammate is nobody's descendant", () => {
    const { actions } = plan(payload("PreToolUse--Write-in-in-process-teammate"));
    const lock = actions.find(action => action.do === "lock");
    expect(lock).toMatchObject({ do: "lock", agent: alice, ancestors: [], parentFile: null });
  });

  test("an agent's call may be stopped by others; a shell that is stopped is no agent", () => {
    const stop = payload("PostToolUse--TaskStop");
    expect(acts({ ...stop, agent_id: alice })).toEqual([
      result("TaskStop", null, alice),
      ...gone("a51d5ab064a282b91"),
      { do: "heartbeat", agent: alice, attention: null },
    ]);
    for (const task_id of ["b07lsyy1k", "a51d5ab064a282b9", "", 7, null]) {
      const event = { ...stop, tool_input: { task_id }, tool_response: { task_id } };
      expect(acts(event)).toEqual([result("TaskStop"), wentOn, notes]);
    }
  });

  test("a teammate of the same process ends if it agreed to shut down, or if it was stopped by its name", () => {
    const agreed = payload("PostToolUse--SendMessage-shutdown-response");
    const over = { do: "heartbeat", agent: alice, ended: true, attention: null };
    const sent = result("SendMessage", null, alice);
    expect(acts(agreed)).toEqual([sent, over, { do: "heartbeat", agent: alice, attention: null }]);
    const said = (message: object, tool_response: object) =>
      acts({ ...agreed, tool_input: { to: "team-lead", message }, tool_response });
    for (const [message, response] of [
      [{ type: "shutdown_response", approve: false }, { success: true }],
      [{ type: "shutdown_response", approve: true }, { success: false }],
      [{ type: "shutdown_request", approve: true }, { success: true }],
      ["shutdown_response", { success: true }],
    ] as const) {
      expect(said(Object(message), response)).toEqual([
        sent,
        { do: "heartbeat", agent: alice, attention: null },
      ]);
    }
    expect(acts(payload("PostToolUse--TaskStop-in-process-teammate"))).toEqual([
      result("TaskStop"),
      { do: "heartbeat", agentName: "alice", ended: true, stopped: true },
      wentOn,
      { do: "notes" },
    ]);
  });

  test.each(["UserPromptSubmit--task-notification", "UserPromptSubmit--message-from-teammate"])(
    "a prompt made by a machine frees nothing of an agent: %s",
    name => {
      const ends = plan(payload(name)).actions.filter(a => a.do === "turn_end");
      expect(ends).toHaveLength(1);
      for (const end of ends) expect(end).not.toHaveProperty("agent");
    },
  );

  test("a prompt without id ends no turn: it may have been typed into a running one", () => {
    const { prompt_id: _, ...event } = payload("UserPromptSubmit--print");
    expect(kindsOf(plan(event))).toEqual(["begin", "heartbeat", "prompt_submitted", "list_peers", "inbox"]);
  });

  test("which agents are gone at a Stop", () => {
    const judge = (background_tasks: unknown) => {
      const { actions } = plan({ ...payload("Stop--plain"), background_tasks });
      return actions.find(action => action.do === "reconcile")?.isGone ?? null;
    };
    for (const tasks of [[], [{ id: "b07lsyy1k", type: "shell" }]]) {
      expect(judge(tasks)?.("a0954b2b04fdf61ec")).toBe(true);
      expect(judge(tasks)?.(alice)).toBe(false);
    }
    // Whoever runs may wait for agents of its own, which are not listed.
    for (const type of ["subagent", "teammate", "something-new"]) {
      expect(
        judge([
          { id: "b07lsyy1k", type: "shell" },
          { id: "t9m7fschg", type },
        ]),
      ).toBeNull();
    }
    for (const unusable of [undefined, null, {}, "none", [null], [7]]) expect(judge(unusable)).toBeNull();
  });

  test("the parent stands in where the client does not name its process", () => {
    const first = (cx: HookContext) => plan(payload("SessionStart--startup-print"), cx).actions[0];
    expect(first({ ...context, env: {} })).toMatchObject({ pid: 40 });
    for (const CLAUDE_PID of ["", "0", "-1", "1e3", " 7", "99999999999"]) {
      expect(first({ ...context, env: { CLAUDE_PID } })).toMatchObject({ pid: 40 });
    }
    expect(first({ ...context, env: {}, ppid: null })).not.toHaveProperty("pid");
  });
});

describe("where a write changed its file", () => {
  const linesOf = (...structuredPatch: unknown[]) => {
    const event = { ...payload("PostToolUse--Edit"), tool_response: { structuredPatch } };
    const end = plan(event).actions.find(action => action.do === "flight_end");
    return end?.do === "flight_end" ? end.lines : undefined;
  };
  const hunk = (newStart: number, text: string) => {
    const lines = text.split("|");
    return { newStart, newLines: lines.filter(l => /^[ +]/.test(l)).length, lines };
  };

  test.each<[string, unknown[], string | null]>([
    ["one line", [hunk(8, " a| b|-c|+C| d")], "line 10"],
    ["several", [hunk(8, " a| b|-c|+C|+D|+E| d")], "lines 10-12"],
    ["lines that went", [hunk(8, " a|-b|-c| d")], "line 9"],
    ["lines that came, at the top", [hunk(1, "+a|+b")], "lines 1-2"],
    ["apart within one hunk", [hunk(1, "+a| b| c|+d| e")], "lines 1-4"],
    ["no newline at the end", [hunk(3, " a|-b|\\ No newline|+B|\\ No newline")], "line 4"],
    ["several places", [hunk(1, "+a"), hunk(5, "+a|+b"), hunk(9, "-c|+C")], "lines 1, 5-6, 9"],
    ["many places", Array.from({ length: 9 }, (_, i) => hunk(10 * i + 1, "+a")), "lines 1, 11, 21 and more"],
    ["a new file", [], null],
    ["what is no patch", [{ newStart: "1", newLines: 1, lines: ["+a"] }], null],
    ["what has no change", [hunk(1, " a")], null],
    ["what is nothing", [null], null],
  ])("%s", (_, patch, lines) => {
    expect(linesOf(...patch)).toBe(lines);
  });
});

describe("payloads that are not what they should be", () => {
  const nothing = [
    {},
    { hook_event_name: "SessionStart" },
    { hook_event_name: "SessionStart", session_id: "s" },
    { hook_event_name: "SessionStart", session_id: 5, cwd: "/p" },
    { hook_event_name: ["Stop"], session_id: "s" },
    { hook_event_name: "Stop", session_id: "" },
    { hook_event_name: "Stop", session_id: "s".repeat(limits.idBytes + 1) },
    { hook_event_name: "Stop", session_id: "s", agent_id: 7 },
    { hook_event_name: "Stop", session_id: "a\0b" },
    { ...payload("PreToolUse--Edit"), tool_input: null },
    { ...payload("PreToolUse--Edit"), tool_input: "a.txt" },
    { ...payload("PreToolUse--Edit"), tool_input: {} },
    { ...payload("PreToolUse--Edit"), tool_input: { file_path: ["a.txt"] } },
    { ...payload("PreToolUse--Edit"), tool_input: { file_path: "x".repeat(limits.pathBytes + 1) } },
    { ...payload("PreToolUse--Edit"), tool_use_id: undefined },
    { ...payload("PreToolUse--Edit"), tool_use_id: 5 },
    { ...payload("PreToolUse--Edit"), cwd: undefined },
    { ...payload("PreToolUse--Edit"), prompt_id: {} },
  ];

  test.each(nothing.map(event => ({ event })))("does nothing: %#", ({ event }) => {
    const p = plan(event);
    expect(p.actions).toEqual([]);
    for (const outcomes of manyOutcomes) expect(p.answer(outcomes)).toEqual({ output: "" });
  });

  test("an end that does not say of what is a sign of life alone", () => {
    const event = { ...payload("PostToolUse--Edit"), tool_use_id: undefined };
    expect(kindsOf(plan(event))).toEqual(["record_result", "heartbeat", "notes"]);
    for (const hook_event_name of ["SubagentStart", "SubagentStop"]) {
      const { agent_id: _, ...rest } = payload("SubagentStop--foreground");
      expect(kindsOf(plan({ ...rest, hook_event_name }))).toEqual(["begin", "heartbeat"]);
    }
  });

  test("a batch ends so many writes and no more", () => {
    const tool_calls = Array.from({ length: 1_000 }, (_, i) => ({ tool_name: "Edit", tool_use_id: `t${i}` }));
    const { actions } = plan({ ...payload("PostToolBatch--one-call"), tool_calls });
    expect(actions).toHaveLength(limits.batchWritesMax + 1);
  });

  test("a call that the client's own check refused is over, as nothing else tells", () => {
    const denied = { hook_event_name: "PermissionDenied", reason: "not now" };
    const shell = plan({ ...payload("PreToolUse--Bash"), ...denied });
    expect(kindsOf(shell)).toEqual(["release_index", "release_line_files", "heartbeat"]);
    expect(plan({ ...payload("PreToolUse--Write"), ...denied }).actions).toMatchObject([
      { do: "flight_end", wrote: false },
      { do: "heartbeat" },
    ]);
    expect(kindsOf(plan({ ...payload("PreToolUse--Read"), ...denied }))).toEqual(["heartbeat"]);
  });

  test("what people read of a tool stays on its line", () => {
    const event = { ...payload("PermissionRequest--Bash"), tool_name: 'a"\n<b>' };
    expect(plan(event).actions).toMatchObject([{ do: "heartbeat", attention: `permission for "a' ‹b›"` }]);
  });

  test("names that objects have by nature are events like any other", () => {
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      expect(plan({ hook_event_name: name, session_id: "s" }).actions).toEqual([
        { do: "heartbeat", session: "s" },
      ]);
      const tool = { ...payload("PreToolUse--Edit"), tool_name: name };
      expect(kindsOf(plan(tool))).toEqual(["heartbeat"]);
    }
  });

  test("nothing throws, nothing allows, and what may come late takes nothing, whatever the fields hold", () => {
    const others = fc.constantFrom(...entries.map(([event]) => event), "Other", "__proto__");
    const rich = fc.constantFrom(
      "SessionStart",
      "Stop",
      "PreToolUse",
      "PostToolUse",
      "PermissionRequest",
      "SessionEnd",
    );
    const tools = ["Edit", "Write", "NotebookEdit", "Agent", "TaskStop", "Bash"];
    const id = fc.constantFrom("a0954b2b04fdf61ec", "aalice-5d0b10a1332e636f", "toolu_1", "completed");
    const value = fc.oneof({ weight: 3, arbitrary: fc.string() }, id, fc.jsonValue(), fc.constant(undefined));
    const likely = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 30, arbitrary }, value);
    const text = likely(fc.stringMatching(/^[a-z]{1,8}$/));
    const patch = fc.array(
      fc.record({ newStart: fc.integer(), newLines: fc.integer(), lines: fc.array(fc.string()) }),
    );
    const event = fc.record(
      {
        hook_event_name: fc.oneof(rich, others),
        session_id: text,
        agent_id: likely(fc.option(id, { nil: undefined })),
        agent_type: value,
        prompt_id: text,
        cwd: text,
        source: likely(fc.constantFrom("startup", "compact", "clear")),
        reason: likely(fc.constantFrom("clear", "resume", "other")),
        transcript_path: text,
        tool_use_id: text,
        tool_name: likely(fc.constantFrom(...tools)),
        tool_input: likely(fc.record({ file_path: text, notebook_path: text, task_id: likely(id) })),
        tool_response: likely(
          fc.record({ status: value, agentId: likely(id), task_id: value, structuredPatch: likely(patch) }),
        ),
        tool_calls: likely(fc.array(fc.record({ tool_name: fc.constantFrom(...tools), tool_use_id: text }))),
        background_tasks: likely(
          fc.array(fc.record({ id: value, type: fc.constantFrom("shell", "x") }), { maxLength: 2 }),
        ),
      },
      { requiredKeys: ["hook_event_name"] },
    );
    const done = new Set<string>();
    fc.assert(
      fc.property(event, fields => {
        checkPlan(fields);
        const p = plan(fields);
        for (const kind of kindsOf(p)) done.add(kind);
        const outputs = manyOutcomes.slice(0, 12).map(outcomes => p.answer(outcomes).output);
        expect(outputs.filter(output => output.includes('"permissionDecision":"allow"'))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
    // Otherwise nothing was looked at.
    const all: HookAction["do"][] = ["begin", "heartbeat", "lock", "flight_end", "renew", "turn_end"];
    expect([...done]).toEqual(expect.arrayContaining([...all, "reconcile", "suspend", "end", "list_peers"]));
  });
});

describe("the entries that are installed", () => {
  const usual = eventGroups({ program: "/k/hook.cjs", node: "/k/node", home: null });
  const shown = (groups: typeof usual) =>
    groups.map(([event, { matcher = "", hooks }]) => {
      const [hook] = hooks;
      const only = hook?.if === undefined ? "" : ` if ${hook.if}`;
      const how = hook?.async ? ", async" : hook?.asyncRewake ? ", rewake" : "";
      return `${event}${matcher && ` ${matcher}`}${only}${how}, ${hook?.args[6]} of ${hook?.timeout}`;
    });

  test("an event has one row, and beside it at most one that wakes", () => {
    const rows = eventTable.map(({ event, how }) => `${event}${how === "waking" ? " waking" : ""}`);
    expect([...new Set(rows)]).toEqual(rows);
    for (const { registrations } of eventTable) {
      expect(registrations).not.toEqual([]);
      for (const { budgetMs, timeoutMs } of registrations) expect(budgetMs).toBeLessThan(timeoutMs);
    }
  });

  test("each tool that a slice has a row for starts a hook", () => {
    const [before] = eventTable.filter(({ event }) => event === "PreToolUse");
    const matchers = before?.registrations.flatMap(({ matcher = "" }) => matcher.split("|"));
    expect(matchers).toEqual(expect.arrayContaining(toolSlices.flatMap(({ tools }) => tools)));
  });

  test("which events, which wait, and for how long", () => {
    expect(shown(usual)).toEqual([
      "SessionStart, 3000 of 6",
      "UserPromptSubmit, 1000 of 3",
      "PreToolUse Edit|Write|NotebookEdit, 52000 of 75",
      "PreToolUse Bash if Bash(*git*), 52000 of 75",
      "PreToolUse Bash if Bash(*bash), 52000 of 75",
      "PreToolUse Bash if Bash(bash -*), 52000 of 75",
      "PreToolUse Bash if Bash(sh *), 52000 of 75",
      "PreToolUse Bash if Bash(zsh *), 52000 of 75",
      "PreToolUse Bash if Bash(rm *), 52000 of 75",
      "PreToolUse Bash if Bash(mv *), 52000 of 75",
      "PreToolUse Bash if Bash(sed -i*), 52000 of 75",
      "PreToolUse Bash if Bash(*--write*), 52000 of 75",
      "PreToolUse Bash if Bash(*install*), 52000 of 75",
      "PreToolUse Bash if Bash(* add *), 52000 of 75",
      "PreToolUse Bash if Bash(* remove *), 52000 of 75",
      "PreToolUse Bash if Bash(kite *), 1000 of 3",
      "PreToolUse Bash if Bash(setsid *), 1000 of 3",
      "PreToolUse Bash if Bash(nohup *), 1000 of 3",
      "PreToolUse mcp__(plugin_.+_)?kite__.*, 1000 of 3",
      "PreToolUse TaskUpdate|SendMessage|Agent|EnterWorktree|ExitWorktree, 1000 of 3",
      "PostToolUse Edit|Write|NotebookEdit|Bash|Agent|TaskStop|SendMessage, async, 5000 of 7",
      "PostToolUseFailure Edit|Write|NotebookEdit|Bash|Agent|TaskStop|SendMessage, 1000 of 3",
      "PermissionRequest, async, 5000 of 7",
      "SubagentStart, 1000 of 3",
      "SubagentStop, 1000 of 3",
      "Stop, 1000 of 3",
      "Stop, rewake, 14405000 of 14410",
      "StopFailure, 1000 of 3",
      "TeammateIdle, 1000 of 3",
      "TaskCreated, 1000 of 3",
      "TaskCompleted, 1000 of 3",
      "SessionEnd, 1000 of 3",
      "Setup, async, 5000 of 7",
      "InstructionsLoaded, async, 5000 of 7",
      "UserPromptExpansion, async, 5000 of 7",
      "PermissionDenied, async, 5000 of 7",
      "Notification, async, 5000 of 7",
      "PreCompact, async, 5000 of 7",
      "PostCompact, async, 5000 of 7",
      "Elicitation, async, 5000 of 7",
      "ElicitationResult, async, 5000 of 7",
      "ConfigChange, async, 5000 of 7",
      "CwdChanged, async, 5000 of 7",
      "FileChanged, async, 5000 of 7",
      "WorktreeRemove, async, 5000 of 7",
    ]);
  });

  const waits = (command: string) =>
    usual
      .filter(([event, { matcher }]) => event === "PreToolUse" && matcher === "Bash")
      .flatMap(([, { hooks }]) => hooks.flatMap(hook => hook.if ?? []))
      .filter(rule => fitsRule(rule, command));

  // As the client sees them: a command of a line, without its redirections and its quotes.
  test.each([
    "git stash",
    "git",
    "/usr/bin/git stash",
    "~/bin/git stash",
    "FOO=1 git stash",
    "env -i git stash",
    "sudo git stash",
    "find . -name a1.txt -exec git checkout -- {} ;",
    "find . -execdir /usr/bin/git checkout {} +",
    "xargs -n1 /usr/bin/git",
    "eval cd x;git stash",
    "alias g=git",
    "bash",
    "/bin/bash",
    "sudo bash",
    "bash -s",
    "bash -euo pipefail",
    "sh",
    "sh -e",
    "zsh",
    "zsh -s",
    "rm -rf dist",
    "mv a.ts b.ts",
    "sed -i s/a/b/ a.ts",
    "npx prettier --write a.ts",
  ])("one process waits for: %s", command => {
    expect(waits(command)).toHaveLength(1);
  });

  test.each([
    "ls -la",
    "npm test",
    "cd src",
    "echo hello",
    "cat src/auth.ts",
    "grep -rn TODO src",
    "make -j4",
    "VAR=1 make",
    "./build.sh",
    "bash script.sh",
    "bash ./build.sh --fast",
    "chmod +x run.sh",
    "ssh host ls",
    "python3 -",
    "docker run --rm x",
    "find . -name *.ts",
    "xargs grep foo",
    "sed -n 1,20p a.ts",
    "cp a.ts b.ts",
    "tee a.ts",
    "truncate -s 0 a.ts",
    "perl -pi -e s/a/b/ a.ts",
    "node x.js",
  ])("nothing waits for: %s", command => {
    expect(waits(command)).toEqual([]);
  });

  test("every event: also those that come with each message and each batch", () => {
    expect(shown(entries)).toEqual([
      ...shown(usual),
      "PostToolBatch, async, 5000 of 7",
      "MessageDisplay, async, 5000 of 7",
    ]);
  });

  test("none that the oldest client does not know, or that would take over the client's work", () => {
    for (const event of ["PreModelSwitch", "PostModelSwitch", "DirectoryAdded", "WorktreeCreate"]) {
      expect(entries.map(([name]) => name)).not.toContain(event);
    }
  });
});
