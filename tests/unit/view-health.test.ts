import { describe, expect, it } from "vitest";
import { healthText } from "../../bin/lead/view/features.ts";
import { eventSentence } from "../../bin/view/event-lines.ts";
import { sessionsView } from "../../bin/view/sessions.ts";
import { statusView } from "../../bin/view/status.ts";
import { widthOf } from "../../bin/view/text.ts";
import type { HealthRow } from "../../protocol/lead/team.ts";
import type { AgentRow } from "../../protocol/session-rows.ts";
import { busy, screen, session } from "./view-rows.ts";

const min = 60_000;
const quiet: HealthRow = { state: "quiet", forMs: 6 * min };
const stalled: HealthRow = { state: "stalled", forMs: 18 * min };
const stopped: HealthRow = { state: "stopped", forMs: 2 * min, why: "SIGSTOP" };

const agent = (name: string, health: HealthRow): AgentRow => ({
  agent: `a${name}-5d0b10a1332e636f`,
  name,
  status: "active",
  locks: 0,
  waitingFor: null,
  waitingForPath: null,
  health,
});

const sessions = [
  session("ann", { health: { state: "working", forMs: 3 * min } }),
  session("bob", { health: stalled }),
  session("cyd", { health: stopped }),
  session("dan", {
    health: quiet,
    agents: [agent("eve", stalled), agent("fay", { state: "working", forMs: 1 })],
  }),
];

describe("the health of agents", () => {
  it.each<[HealthRow, string]>([
    [quiet, "quiet for 6m"],
    [stopped, "stopped (SIGSTOP) for 2m"],
    [
      { state: "waiting", on: "person", why: "permission for Bash", forMs: 180 * min },
      "waiting on a person for 3h",
    ],
    [{ state: "waiting", on: "service", forMs: 1000 }, "waiting on the model's service for 1s"],
    [{ state: "idle", forMs: 0 }, "idle for 0s"],
  ])("is said with its time: %j", (row, text) => {
    expect(healthText(row)).toBe(text);
  });

  it("stands with the agent that spawned it, if an agent did", () => {
    const spawned = [
      session("tom", { health: stalled, spawn: { id: "a-1-1", parent: "Ann" } }),
      session("una", { health: stalled, spawn: { id: "a-1-2", parent: null } }),
    ];
    const data = { ...busy, sessions: spawned, locks: [], stats: { ...busy.stats, sessions: 2 } };
    const text = statusView(data, screen(100)).join("\n");
    expect(text).toMatch(/tom .*stalled for 18m .*kite release tom, kite agents replace tom, spawned by Ann/);
    expect(text.match(/spawned by/g)).toHaveLength(1);
  });

  it("stands in the list of sessions, those that need a look first, with what to do", () => {
    const lines = statusView(
      { ...busy, sessions, locks: [], stats: { ...busy.stats, sessions: 4 } },
      screen(80),
    );
    const from = lines.findIndex(line => line.startsWith("Sessions"));
    expect(lines.slice(from, from + 9)).toMatchInlineSnapshot(`
      [
        "Sessions: 4, 3 stalled or stopped",
        "  shop  ~/code/shop",
        "    bob    main  stalled for 18m           now  kite release bob",
        "    cyd    main  stopped (SIGSTOP) for 2m  now  kill -CONT 4800",
        "    dan    main  quiet for 6m              now",
        "    └ eve        stalled for 18m                kite release dan/eve",
        "    └ fay        active",
        "    ann    main  active                    now",
        "",
      ]
    `);
  });

  it("is part of the details, and no line is wider than the screen", () => {
    for (const width of [40, 80, 120])
      for (const line of sessionsView({ sessions, locks: [] }, screen(width)))
        expect(widthOf(line)).toBeLessThanOrEqual(width);
    const text = sessionsView({ sessions, locks: [] }, screen(120)).join("\n");
    expect(text).toContain("working for 3m");
    expect(text).toContain("stalled for 18m");
  });

  it("is told in the live view, once when it begins and once when it is over", () => {
    const who = { id: "b", agent: null, name: "bob" };
    const event = {
      event: "agent_stalled",
      agent: who,
      project: "/p",
      state: "stalled",
      forMs: 18 * min,
      why: "",
    } as const;
    const todo = ["kite explain bob", "kite release bob"];
    expect(eventSentence({ type: "event", ...event, tasks: [], locks: 0, todo }, String)).toBe(
      "stalled   bob for 18m: kite explain bob, kite release bob",
    );
    expect(
      eventSentence({ type: "event", event: "agent_recovered", agent: who, project: "/p" }, String),
    ).toBe("back      bob gave a sign of life");
  });
});
