/** The timeline's drawing, and its names of tasks. */
import { h } from "preact";
import { render } from "preact-render-to-string";
import { describe, expect, it } from "vitest";
import type { Lane, Mark, Span, Timeline } from "../../bin/web/timeline.ts";
import type { ViewState } from "../../bin/web/views/state.ts";
import {
  around,
  drawingOf,
  moved,
  numbered,
  queryOf,
  rangeIn,
  rowsOf,
  ticksOf,
  zoomed,
} from "../../bin/web/views/timeline/model.ts";
import { timeline } from "../../bin/web/views/timeline/screen.tsx";
import { bounds } from "../../bin/web/wire.ts";
import { task } from "./view-rows.ts";

// The timeline's drawing: ranges, ticks, rows and figures, and the view of a snapshot.

const now = new Date(2026, 4, 20, 14, 0, 0).getTime();
const hour = 3_600_000;
const stretch = { fromMs: now - hour, untilMs: now };
const screen = { nowMs: now, widthPx: 1_000 };
const rest = { who: null, says: "", why: null };

function span(n: number, fromS: number, untilS: number | null, more: Partial<Span> = {}): Span {
  const untilMs = untilS === null ? null : stretch.fromMs + untilS * 1000;
  return { n, kind: "hold", file: "/a.ts", fromMs: stretch.fromMs + fromS * 1000, untilMs, ...rest, ...more };
}

function mark(n: number, atS: number, kind: Mark["kind"]): Mark {
  return { n, kind, atMs: stretch.fromMs + atS * 1000, file: null, task: null, ...rest };
}

function drawn(spans: readonly Span[], marks: readonly Mark[] = []) {
  const lane = { spans, marks };
  return drawingOf(lane, rowsOf(lane), stretch, screen);
}

describe("a range", () => {
  it("is the last hour, goes along with now, and leaves room for what happens now", () => {
    const { fromMs, untilMs, last } = rangeIn({}, now);
    expect(last).toBe("1h");
    expect(untilMs - fromMs).toBe(hour);
    expect(untilMs).toBeGreaterThan(now);
    expect(untilMs).toBeLessThan(now + hour / 30);
    expect(rangeIn({ last: "nonsense" }, now)).toEqual(rangeIn({}, now));
  });

  it("is what the address says, by times or milliseconds, and comes back from it", () => {
    const chosen = { fromMs: now - 5_000_123, untilMs: now - 1_000_000 };
    const query = queryOf(chosen) as Record<string, string>;
    expect(rangeIn(query, now)).toEqual({ ...chosen, last: null });
    expect(rangeIn({ from: String(chosen.fromMs), until: String(chosen.untilMs) }, now)).toMatchObject(
      chosen,
    );
    expect(rangeIn({ from: String(now - hour) }, now)).toMatchObject({ fromMs: now - hour, untilMs: now });
  });

  it.each([
    { from: "x" },
    { from: "-1" },
    { from: String(now + 1) },
    { from: String(now), until: String(now - 1) },
  ])("that is none is the last hour: %j", query => {
    expect(rangeIn(query as Record<string, string>, now).last).toBe("1h");
  });

  it("keeps what is at the pointer where it is, and its bounds", () => {
    const past = { fromMs: now - 2 * hour, untilMs: now - hour };
    const half = zoomed(past, 0.5, 0.25, now);
    expect(half).toEqual({ fromMs: past.fromMs + hour / 8, untilMs: past.fromMs + hour / 8 + hour / 2 });
    const least = zoomed(past, 1e-9, 0.5, now);
    expect(least.untilMs - least.fromMs).toBe(bounds.rangeMsMin);
    const most = zoomed(past, 1e9, 0.5, now);
    expect(most).toEqual({ fromMs: now - bounds.rangeMs, untilMs: now });
    expect(moved(past, 0.5, now)).toEqual({ fromMs: past.fromMs + hour / 2, untilMs: now - hour / 2 });
    expect(moved(past, 5, now)).toEqual({ fromMs: now - hour, untilMs: now });
    expect(around(now - hour, now - hour, now).untilMs - around(now - hour, now - hour, now).fromMs).toBe(
      1_000,
    );
  });
});

describe("ticks", () => {
  it.each([
    [hour, 8, 10 * 60_000],
    [15 * 60_000, 8, 2 * 60_000],
    [24 * hour, 8, 3 * hour],
    [bounds.rangeMs, 8, 24 * hour],
    [bounds.rangeMs, 3, 48 * hour],
    [5_000, 8, 1_000],
  ])("of %d ms, at most %d, are %d ms apart at round local times", (lengthMs, max, stepMs) => {
    const ticks = ticksOf({ fromMs: now - lengthMs + 123, untilMs: now + 123 }, max);
    expect(ticks.length).toBeLessThanOrEqual(max + 1);
    expect(ticks.length).toBeGreaterThan(1);
    const [first, second] = ticks;
    expect((second?.ms ?? 0) - (first?.ms ?? 0)).toBe(stepMs);
    const local = new Date(first?.ms ?? 0);
    const midnight = new Date(local.getFullYear(), local.getMonth(), local.getDate()).getTime();
    expect((local.getTime() - midnight) % Math.min(stepMs, 24 * hour)).toBe(0);
  });

  it("are at local midnights over a change of the clock, too", () => {
    const zone = process.env["TZ"];
    process.env["TZ"] = "Europe/Berlin";
    try {
      const fromMs = new Date(2026, 9, 23, 12).getTime();
      const ticks = ticksOf({ fromMs, untilMs: fromMs + 4 * 24 * hour }, 8);
      expect(ticks.map(({ label }) => label)).toEqual([
        ...["12:00", "Oct 24", "12:00", "Oct 25", "12:00", "Oct 26", "12:00", "Oct 27"],
      ]);
    } finally {
      if (zone === undefined) delete process.env["TZ"];
      else process.env["TZ"] = zone;
    }
  });

  it("name the day at midnight, and seconds where they count", () => {
    const midnight = new Date(2026, 4, 20).getTime();
    const labels = ticksOf({ fromMs: midnight - hour, untilMs: midnight + hour }, 4).map(
      ({ label }) => label,
    );
    expect(labels).toEqual(["23:00", "23:30", "May 20", "00:30", "01:00"]);
    expect(ticksOf({ fromMs: now, untilMs: now + 2_000 }, 4).map(({ label }) => label)).toEqual([
      ...["14:00:00", "14:00:01", "14:00:02"],
    ]);
  });
});

describe("figures", () => {
  it("of one time have rows of their own, and a wait is before its hold", () => {
    const spans = [
      span(1, 0, 600),
      span(2, 100, 300, { kind: "wait", file: "/b.ts" }),
      span(3, 300, null, { file: "/b.ts" }),
    ];
    const { rows, bars } = drawn(spans);
    expect(rows).toBe(2);
    expect(bars.map(({ kind, row, isOpen }) => `${kind} ${row} ${isOpen}`)).toEqual([
      ...["hold 0 false", "wait 1 false", "hold 1 true"],
    ]);
    expect((bars[2]?.x ?? 0) + (bars[2]?.width ?? 0)).toBeCloseTo(1);
  });

  it("of many times at once share the last row", () => {
    const spans = Array.from({ length: 20 }, (_, n) => span(n, n * 10, 3000, { file: `/${n}.ts` }));
    expect(drawn(spans).rows).toBe(6);
  });

  it("begin at the edge if they began before it, and are none outside", () => {
    expect(drawn([span(1, -5000, 360), span(2, -50, -10), span(3, 4000, null)]).bars).toEqual([
      expect.objectContaining({ x: 0, width: 0.1 }),
    ]);
  });

  it("that are too near to tell apart are one, a wait first, and their number is bounded", () => {
    const spans = Array.from({ length: 10_000 }, (_, n) =>
      span(n, n * 0.36, n * 0.36 + 0.3, { kind: n === 5_000 ? "wait" : "hold" }),
    );
    const marks = Array.from({ length: 10_000 }, (_, n) =>
      mark(n, n * 0.36, n === 5_000 ? "denial" : "note"),
    );
    const { bars, points } = drawn(spans, marks);
    expect(bars.length).toBeLessThanOrEqual(1_000 / 3);
    expect(bars.flatMap(bar => bar.spans)).toHaveLength(10_000);
    expect(bars.filter(({ kind }) => kind === "wait")).toHaveLength(1);
    expect(points.length).toBeLessThanOrEqual(1_000 / 26 + 1);
    expect(points.flatMap(point => point.marks)).toHaveLength(10_000);
    expect(points.filter(({ kind }) => kind === "denial")).toHaveLength(1);
  });

  it("that a person can tell apart stay two", () => {
    expect(drawn([span(1, 0, 60), span(2, 60, 120)]).bars).toHaveLength(2);
    expect(drawn([], [mark(1, 0, "note"), mark(2, 120, "note")]).points).toHaveLength(2);
  });
});

describe("a snapshot", () => {
  const lane: Lane = {
    ...{ id: "s/", session: "s", agent: null, name: "<b>eve</b>", project: "/p" },
    ...{ beganMs: null, endedMs: null },
    spans: [span(1, 0, 600), span(2, 600, null, { kind: "wait", who: "mallory" })],
    marks: [mark(3, 100, "denial")],
  };
  const state = (lanes: readonly Lane[]): ViewState => ({
    viewer: { isPerson: true, project: null, here: null, home: "", user: "" },
    ...{ version: "1", away: null, nowMs: now, project: null, rows: () => null, lookedAt: () => 0 },
    timeline: { ...stretch, lanes, isCut: false },
  });

  it("draws the lanes without a browser, and without a style that the policy forbids", () => {
    const html = render(h(timeline.Body, { state: state([lane]), page: null }));
    expect(html).toContain('class="bar hold"');
    expect(html).toContain('class="bar wait open"');
    expect(html).toContain('class="point denial"');
    expect(html).toContain("waited for /a.ts, which mallory had");
    expect(html).toContain("&lt;b>eve&lt;/b>");
    expect(html).not.toMatch(/<b>|style=|<button|tabindex/);
  });

  it("says what would fill it", () => {
    expect(render(h(timeline.Body, { state: state([]), page: null }))).toContain("kite doctor");
  });
});

describe("names of tasks", () => {
  it("a timeline names tasks by their numbers, and one that is gone by its id", () => {
    const mark = { kind: "task", atMs: 1, n: 1, file: null, who: null, why: null, task: null } as const;
    const timeline: Timeline = {
      fromMs: 0,
      untilMs: 2,
      isCut: false,
      lanes: [
        {
          ...{
            id: "a",
            session: null,
            agent: null,
            name: "alice",
            project: "/shop",
            beganMs: null,
            endedMs: null,
          },
          spans: [],
          marks: [
            { ...mark, says: "alice claimed t-a1-1.", why: "blocked by t-b1-2" },
            { ...mark, n: 2, says: "alice finished task t-b1-2." },
          ],
        },
      ],
    };
    const known = task("t-a1-1", "Build", { project: "/shop", number: 4 });
    const [lane] = numbered(timeline, [known]).lanes;
    expect(lane?.marks.map(({ says, why }) => [says, why])).toEqual([
      ["alice claimed #4.", "blocked by t-b1-2"],
      ["alice finished task t-b1-2.", null],
    ]);
  });
});
