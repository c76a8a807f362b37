/** Timeline: an agent a lane, over the last hour or a part of time that a person chose. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { clock } from "../../../view/text.ts";
import type { ItemKind, Lane, Timeline } from "../../timeline.ts";
import { Empty } from "../parts.tsx";
import type { Page, View, ViewProps, ViewState } from "../state.ts";
import { Chart, Icon } from "./chart.tsx";
import { type Chosen, Decisions, Panel } from "./details.tsx";
import {
  around,
  edgeShare,
  extentOf,
  kindWords,
  lasts,
  moved,
  numbered,
  queryOf,
  type Range,
  rangeIn,
  rowsOf,
  type Stretch,
  useTimeline,
  zoomed,
} from "./model.ts";

export const timeline: View = {
  path: "timeline",
  title: "Timeline",
  // Each changes as something is decided; the lanes themselves are made of the trail.
  topics: ["sessions", "locks", "refusals", "tasks"],
  Body: ({ state, page }: ViewProps) =>
    page === null ? <Still state={state} /> : <Live state={state} page={page} />,
};

/** In the order of the legend. */
const kinds: readonly ItemKind[] = [
  "hold",
  "wait",
  "denial",
  "prompt",
  "turn",
  "begin",
  "end",
  "task",
  "note",
];
/** What a snapshot is drawn for: shapes keep their size, times stretch with the page. */
const stillPx = 900;
const none: ReadonlySet<number> = new Set();

/** What a snapshot shows: the timeline that the state carries, in full. */
function Still({ state }: { readonly state: ViewState }) {
  const { timeline: read = null } = state;
  if (read === null || read.lanes.length === 0) return <Nothing />;
  const shown = numbered(read, state.rows("tasks") ?? []);
  const lanes = drawnLanes(shown, none);
  // What happened last is not cut off at the edge.
  const stretch = {
    fromMs: shown.fromMs,
    untilMs: shown.untilMs + (shown.untilMs - shown.fromMs) * edgeShare,
  };
  return (
    <div class="timeline">
      <p class="dim">{rangeText(shown, state.nowMs)}</p>
      <ul class="legend">
        {kinds.map(kind => (
          <li key={kind}>
            <Icon kind={kind} /> {kindWords[kind][0]}
          </li>
        ))}
      </ul>
      <Chart
        lanes={lanes}
        stretch={stretch}
        state={state}
        page={null}
        chosen={none}
        choose={null}
        startPx={stillPx}
        steer={null}
      />
      <Decisions lanes={shown.lanes} stretch={shown} state={state} chosen={none} choose={null} />
    </div>
  );
}

/** How long a person's last move may be ago before the address says where they are. */
const restMs = 250;

function Live({ state, page }: { readonly state: ViewState; readonly page: Page }) {
  const { nowMs } = state;
  const range = rangeIn(page.query, nowMs);
  const { moving, setMoving, steer } = useMoves(page, range);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const shown: Range = moving === null ? range : { ...moving, last: null };
  const loaded = useTimeline(page, state, shown, shown.last !== null);
  const hidden = page.query["hide"] ?? "";
  const lanes = useLanes(loaded.timeline, state, hidden);
  const choose = (lane: Lane, items: Chosen["items"]) => setChosen({ lane, items });
  const opened = useMemo(() => chosen && asOfNow(chosen, lanes), [chosen, lanes]);
  const numbers = useMemo(() => new Set(chosen?.items.map(({ n }) => n)), [chosen]);
  const inWords = useMemo(() => lanes.map(({ lane }) => lane), [lanes]);
  return (
    <div class="timeline">
      <Bar range={shown} page={page} nowMs={nowMs} steer={steer} />
      <Legend page={page} hidden={hidden} />
      <Notes loaded={loaded} />
      {loaded.timeline === null ? (
        <p class="empty" data-loading={loaded.trouble === null ? "" : undefined}>
          Loading…
        </p>
      ) : loaded.timeline.lanes.length === 0 ? (
        <Nothing />
      ) : (
        <>
          <Chart
            lanes={lanes}
            stretch={shown}
            state={state}
            page={page}
            chosen={numbers}
            choose={choose}
            startPx={stillPx}
            steer={steer}
          />
          <Decisions lanes={inWords} stretch={range} state={state} chosen={numbers} choose={choose} />
        </>
      )}
      {opened === null ? null : (
        <Panel
          chosen={opened}
          state={state}
          page={page}
          choose={choose}
          zoom={items => {
            const { fromMs, untilMs } = extentOf(items, nowMs);
            setMoving(around(fromMs, untilMs, nowMs));
          }}
          close={() => setChosen(null)}
        />
      )}
    </div>
  );
}

/** Returns where the person is moving to, and the ways to move; the address says where they are once they rest. */
function useMoves(page: Page, range: Range) {
  const [moving, setMoving] = useState<Stretch | null>(null);
  // A browser takes few addresses a second, and a wheel has many turns.
  useEffect(() => {
    if (moving === null) return;
    const timer = setTimeout(() => {
      page.ask(queryOf(moving));
      setMoving(null);
    }, restMs);
    return () => clearTimeout(timer);
  }, [moving, page]);
  const steer = {
    zoom: (factor: number, share: number) =>
      setMoving(before => zoomed(before ?? range, factor, share, Date.now())),
    move: (share: number) => setMoving(before => moved(before ?? range, share, Date.now())),
  };
  return { moving, setMoving, steer };
}

/** Returns the lanes of a timeline with the numbers of tasks; they stay as long as nothing new came. */
function useLanes(loaded: Timeline | null, state: ViewState, hidden: string) {
  const tasksAt = state.lookedAt("tasks");
  // Rows come anew with each second; they differ when they were looked at again.
  const timeline = useMemo(() => loaded && numbered(loaded, state.rows("tasks") ?? []), [loaded, tasksAt]);
  return useMemo(
    () => (timeline === null ? [] : drawnLanes(timeline, new Set(hidden.split(",")))),
    [timeline, hidden],
  );
}

/** What a person has to know of the timeline as a whole. */
function Notes({ loaded }: { readonly loaded: ReturnType<typeof useTimeline> }) {
  return (
    <>
      {loaded.trouble === null ? null : (
        <p class="needs" role="alert">
          {loaded.trouble}
        </p>
      )}
      {loaded.timeline?.isCut === true ? (
        <p class="dim">
          More happened than one timeline holds: this is its latest part. Zoom in for the rest.
        </p>
      ) : null}
    </>
  );
}

interface BarProps {
  readonly range: Range;
  readonly page: Page;
  readonly nowMs: number;
  readonly steer: {
    readonly zoom: (factor: number, share: number) => void;
    readonly move: (share: number) => void;
  };
}

/** Buttons for the range, and what it is. */
function Bar({ range, page, nowMs, steer }: BarProps) {
  return (
    <div class="bar">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has a frame of its own. */}
      <div class="group" role="group" aria-label="Range">
        {lasts.map(([name, label]) => (
          <button
            key={name}
            type="button"
            aria-pressed={range.last === name}
            onClick={() => page.ask({ last: name, from: null, until: null })}
          >
            {label}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: as above. */}
      <div class="group" role="group" aria-label="Zoom">
        <button type="button" aria-label="Earlier" onClick={() => steer.move(-0.5)}>
          ←
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => steer.zoom(2, 0.5)}>
          −
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => steer.zoom(0.5, 0.5)}>
          +
        </button>
        <button type="button" aria-label="Later" onClick={() => steer.move(0.5)}>
          →
        </button>
      </div>
      <span class="dim range">
        {range.last === null ? rangeText(range, nowMs) : `since ${clock(range.fromMs, nowMs)}`}
      </span>
    </div>
  );
}

/** What each figure means; each kind may be hidden. */
function Legend({ page, hidden }: { readonly page: Page; readonly hidden: string }) {
  const names = hidden.split(",").filter(name => name !== "");
  return (
    <ul class="legend" aria-label="Shown kinds">
      {kinds.map(kind => {
        const isShown = !names.includes(kind);
        const others = names.filter(name => name !== kind);
        const hide = (isShown ? [...others, kind] : others).join(",");
        return (
          <li key={kind}>
            <button
              type="button"
              aria-pressed={isShown}
              onClick={() => page.ask({ hide: hide === "" ? null : hide })}
            >
              <Icon kind={kind} /> {kindWords[kind][0]}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** What was opened as the lanes have it now: a wait may have ended since. */
function asOfNow(chosen: Chosen, lanes: readonly { readonly lane: Lane }[]): Chosen {
  const lane = lanes.find(one => one.lane.id === chosen.lane.id)?.lane;
  if (lane === undefined) return chosen;
  const byNumber = new Map([...lane.spans, ...lane.marks].map(item => [item.n, item]));
  return { lane, items: chosen.items.map(item => byNumber.get(item.n) ?? item) };
}

function Nothing() {
  return (
    <Empty
      says="Nothing was decided in this time. What agents hold, wait for and are denied comes here; see whether Kite is connected:"
      command="kite doctor"
    />
  );
}

function rangeText({ fromMs, untilMs }: Stretch, nowMs: number): string {
  return `${clock(fromMs, nowMs)} to ${clock(untilMs, nowMs)}`;
}

/** Lanes with their rows, without the hidden kinds. */
function drawnLanes({ lanes }: Timeline, hidden: ReadonlySet<unknown>) {
  return lanes.map(lane => {
    const spans = lane.spans.filter(({ kind }) => !hidden.has(kind));
    const marks = lane.marks.filter(({ kind }) => !hidden.has(kind));
    const shown = { ...lane, spans, marks };
    return { lane: shown, rows: rowsOf(shown) };
  });
}
