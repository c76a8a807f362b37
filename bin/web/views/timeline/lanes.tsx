/** The lanes: names at the side, an axis above, and figures that a pointer or a key opens. */
import type { ComponentChildren } from "preact";
import type { Lane } from "../../timeline.ts";
import { Agent } from "../parts.tsx";
import { clean, pathText, projectName, type ViewState } from "../state.ts";
import type { Page } from "../view.ts";
import { type Bar, type Drawing, drawingOf, type Point, type Stretch } from "./layout.ts";
import { ticksOf } from "./range.ts";
import { Shape } from "./shapes.tsx";
import { type Item, labelOf } from "./words.ts";

/** Heights in pixels: marks stand above the rows of bars. */
const marksPx = 20;
const rowPx = 17;
const barPx = 13;
/** Least width that has room for a file's name, and of a tick for its label. */
const namedPx = 34;
const tickPx = 84;

export interface LanesProps {
  readonly lanes: readonly DrawnLane[];
  readonly stretch: Stretch;
  readonly widthPx: number;
  readonly state: ViewState;
  readonly page: Page | null;
  /** Numbers of the items that are open. */
  readonly chosen: ReadonlySet<number>;
  /** Opens items of a lane; null: a snapshot. */
  readonly choose: ((lane: Lane, items: readonly Item[]) => void) | null;
}

/** A lane with its rows; both stay as long as nothing new came. */
export interface DrawnLane {
  readonly lane: Lane;
  readonly rows: ReadonlyMap<number, number>;
}

export function Axis({ stretch, widthPx }: Pick<LanesProps, "stretch" | "widthPx">) {
  return (
    <div class="axis">
      <div class="name" />
      <svg height="22" role="presentation">
        {ticksOf(stretch, Math.max(2, Math.floor(widthPx / tickPx))).map(({ ms, label, isDay }) => (
          <text key={ms} x={percent(shareOf(ms, stretch))} y="15" class={isDay ? "day" : ""}>
            {label}
          </text>
        ))}
      </svg>
    </div>
  );
}

export function LaneList(props: LanesProps) {
  const { lanes, stretch, widthPx, state } = props;
  const ticks = ticksOf(stretch, Math.max(2, Math.floor(widthPx / tickPx))).map(({ ms }) => ms);
  return (
    <>
      {lanes.map(({ lane, rows }) => (
        <LaneLine
          key={lane.id}
          {...props}
          lane={lane}
          ticks={ticks}
          drawing={drawingOf(lane, rows, stretch, { nowMs: state.nowMs, widthPx })}
        />
      ))}
    </>
  );
}

interface LaneLineProps extends LanesProps {
  readonly lane: Lane;
  readonly ticks: readonly number[];
  readonly drawing: Drawing;
}

function LaneLine({ lane, ticks, drawing, ...props }: LaneLineProps) {
  const { stretch, state, page } = props;
  const { rows, bars, points } = drawing;
  const height = marksPx + rows * rowPx + 3;
  const { beganMs, endedMs, name, session } = lane;
  const client = (state.rows("sessions") ?? []).find(({ id }) => id === session)?.client;
  const life = [beganMs ?? stretch.fromMs, endedMs ?? Math.max(state.nowMs, stretch.fromMs)];
  const [begin = 0, end = 1] = life.map(ms => Math.min(1, Math.max(0, shareOf(ms, stretch))));
  return (
    <div class={endedMs === null ? "lane" : "lane ended"}>
      <div class="name">
        {session === null ? (
          <span>{clean(name)}</span>
        ) : (
          <Agent name={name} id={lane.session} agent={lane.agent} page={page} />
        )}
        <span class="dim">
          {[
            ...(client === undefined ? [] : [clean(client)]),
            ...(state.project === null && lane.project !== null ? [projectName(lane.project)] : []),
            ...(endedMs === null ? [] : ["ended"]),
          ].join(", ")}
        </span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: SVG has no fieldset. */}
      <svg height={height} role="group" aria-label={clean(name)}>
        <rect class="life" x={percent(begin)} width={percent(end - begin)} y={marksPx / 2 - 1} height="2" />
        {ticks.map(ms => (
          <line
            key={ms}
            class="tick"
            x1={percent(shareOf(ms, stretch))}
            x2={percent(shareOf(ms, stretch))}
            y1="0"
            y2={height}
          />
        ))}
        {bars.map(bar => (
          <BarFigure key={`b${bar.spans[0]?.n}`} {...props} lane={lane} bar={bar} />
        ))}
        {points.map(point => (
          <PointFigure key={`m${point.marks[0]?.n}`} {...props} lane={lane} point={point} />
        ))}
      </svg>
    </div>
  );
}

interface FigureProps extends Omit<LanesProps, "lanes"> {
  readonly lane: Lane;
}

function BarFigure({ bar, widthPx, ...props }: FigureProps & { readonly bar: Bar }) {
  const { kind, row, x, width, spans, isOpen } = bar;
  const [first] = spans;
  const y = marksPx + row * rowPx;
  const px = width * widthPx;
  const name =
    spans.length > 1
      ? `${spans.length}`
      : first?.file == null
        ? ""
        : shortName(pathText(first.file, props.state));
  const isMixed = spans.some(one => one.kind !== kind);
  const classes = `bar ${kind}${isOpen ? " open" : ""}${isMixed ? " several" : ""}`;
  return (
    <Figure {...props} items={spans} classes={classes}>
      <svg x={percent(x)} y={y} width={percent(width)} height={barPx} aria-hidden="true">
        <rect width="100%" height={barPx} rx="2" />
        {px < namedPx ? null : (
          <text x="5" y="10">
            {name}
          </text>
        )}
      </svg>
    </Figure>
  );
}

function PointFigure({ point, ...props }: FigureProps & { readonly point: Point }) {
  const { kind, x, marks } = point;
  return (
    <Figure {...props} items={marks} classes={`point ${kind}`}>
      <svg class="at" x={percent(x)} y={marksPx / 2} width="1" height="1" aria-hidden="true">
        <rect class="reach" x="-8" y="-10" width="16" height="20" />
        <Shape kind={kind} />
        {marks.length === 1 ? null : (
          <text x="6" y="-3" class="several">
            {marks.length}
          </text>
        )}
      </svg>
    </Figure>
  );
}

interface OneFigureProps extends Omit<FigureProps, "widthPx"> {
  readonly items: readonly Item[];
  readonly classes: string;
  readonly children: ComponentChildren;
}

function Figure({ lane, items, classes, children, state, choose, chosen }: OneFigureProps) {
  const label = labelOf(items, lane, state);
  const isChosen = items.some(({ n }) => chosen.has(n));
  if (choose === null)
    return (
      <g class={classes}>
        <title>{label}</title>
        {children}
      </g>
    );
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button.
    <g
      class={`figure ${classes}${isChosen ? " chosen" : ""}`}
      role="button"
      tabindex={-1}
      aria-label={label}
      onClick={() => choose(lane, items)}
      onKeyDown={event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        choose(lane, items);
      }}
    >
      <title>{label}</title>
      {children}
    </g>
  );
}

/** The last part of a path, which tells files of a lane apart best. */
function shortName(path: string): string {
  return path.split("/").at(-1) ?? path;
}

function shareOf(ms: number, { fromMs, untilMs }: Stretch): number {
  return (ms - fromMs) / (untilMs - fromMs);
}

function percent(share: number): string {
  return `${Math.round(share * 1e5) / 1e3}%`;
}
