/** The box of the lanes: its width, and what wheel, pointer and keys do in it. */

import type { ComponentChildren, RefObject, TargetedPointerEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ItemKind, Lane } from "../../timeline.ts";
import { Agent } from "../parts.tsx";
import { clean, type Page, pathText, projectName, type ViewState } from "../state.ts";
import {
  type Bar,
  type Drawing,
  drawingOf,
  type Item,
  labelOf,
  type Point,
  type Stretch,
  ticksOf,
} from "./model.ts";

// The figures of the timeline: each kind has a shape of its own besides its colour.

/** Paths around a middle at 0, 0; 12 wide at most. */
const paths: { readonly [K in ItemKind]: string } = {
  hold: "M-8 -5h16v10h-16z",
  wait: "M-8 -4h16v8h-16z",
  // A cross.
  denial: "M-5 -3L-3 -5L0 -2L3 -5L5 -3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0z",
  // A triangle that points to what follows.
  prompt: "M-4 -5L5 0L-4 5z",
  task: "M0 -6L5 0L0 6L-5 0z",
  // A ring.
  turn: "M0 -4a4 4 0 1 0 0.01 0zM0 -2a2 2 0 1 1 -0.01 0z",
  begin: "M-3 -6h7v3h-4v6h4v3h-7z",
  end: "M-5 -5h10v10h-10z",
  note: "M0 -3a3 3 0 1 0 0.01 0z",
};

/** A shape whose middle is at 0, 0 of what stands around it. */
function Shape({ kind }: { readonly kind: ItemKind }) {
  return <path class={`shape ${kind}`} d={paths[kind]} />;
}

/** The shape beside a word. */
export function Icon({ kind }: { readonly kind: ItemKind }) {
  return (
    <svg class="icon" viewBox="-9 -7 18 14" width="18" height="14" aria-hidden="true">
      <Shape kind={kind} />
    </svg>
  );
}

// The lanes: names at the side, an axis above, and figures that a pointer or a key opens.

/** Heights in pixels: marks stand above the rows of bars. */
const marksPx = 20;
const rowPx = 17;
const barPx = 13;
/** Least width that has room for a file's name, and of a tick for its label. */
const namedPx = 34;
const tickPx = 84;

interface LanesProps {
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
interface DrawnLane {
  readonly lane: Lane;
  readonly rows: ReadonlyMap<number, number>;
}

function Axis({ stretch, widthPx }: Pick<LanesProps, "stretch" | "widthPx">) {
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

function LaneList(props: LanesProps) {
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

interface ChartProps extends Omit<LanesProps, "widthPx"> {
  /** The width of the drawing as long as nobody measured it. */
  readonly startPx: number;
  /** Null: a snapshot. */
  readonly steer: Steer | null;
}

interface Steer {
  /** Makes the range `factor` times as long around what is at `share` of its width. */
  readonly zoom: (factor: number, share: number) => void;
  /** Moves the range by a share of its length. */
  readonly move: (share: number) => void;
}

/** What a key or a turn of the wheel changes. */
const zoomStep = 1.5;
const moveStep = 0.2;
/** Pixels of a whole turn of the wheel. */
const turnPx = 100;
/** Pixels that a pointer moves before it drags. */
const dragPx = 4;

const help =
  "Keys: plus and minus zoom, arrows move. Enter goes into the lanes: there arrows go from one thing to the next, Enter opens it, Escape leaves.";

export function Chart({ startPx, steer, ...props }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(box, startPx);
  const focus = useFocus(box);
  const drag = useDrag();
  const lanes = (
    <>
      <Axis stretch={props.stretch} widthPx={widthPx} />
      <LaneList {...props} widthPx={widthPx} />
    </>
  );
  if (steer === null) return <div class="lanes">{lanes}</div>;
  return (
    <>
      <p class="dim help" id="lanes-help">
        {help} Ctrl and the wheel zoom, dragging moves.
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms. */}
      <div
        class="lanes scrolls"
        ref={box}
        role="group"
        aria-label="Lanes"
        aria-describedby="lanes-help"
        tabindex={0}
        onFocusIn={focus.comes}
        onFocusOut={focus.goes}
        onKeyDown={event => {
          if (event.ctrlKey || event.metaKey || event.altKey || box.current === null) return;
          if (onKey(event.key, event.shiftKey, box.current, steer)) event.preventDefault();
        }}
        onWheel={event => {
          if (onTurn(event, box.current, widthPx, steer)) event.preventDefault();
        }}
        onPointerDown={drag.begin}
        onPointerMove={event => drag.move(event, byPx => steer.move(-byPx / widthPx))}
        onPointerUp={drag.end}
      >
        {lanes}
      </div>
    </>
  );
}

type Box = RefObject<HTMLDivElement | null>;

/** Returns the width of the axis as it is now. */
function useWidth(box: Box, startPx: number): number {
  const [widthPx, setWidth] = useState(startPx);
  useLayoutEffect(() => {
    const axis = box.current?.querySelector(".axis svg");
    if (axis == null) return;
    const measure = () => setWidth(Math.max(100, Math.round(axis.getBoundingClientRect().width)));
    const observer = new ResizeObserver(measure);
    observer.observe(axis);
    measure();
    return () => observer.disconnect();
  }, []);
  return widthPx;
}

/** Keeps the focus in the box when the figure that has it goes. */
function useFocus(box: Box) {
  const focused = useRef<Element | null>(null);
  // What had the focus may have become part of another figure.
  useLayoutEffect(() => {
    if (focused.current?.isConnected === false) box.current?.focus({ preventScroll: true });
  });
  return {
    comes: ({ target }: FocusEvent) => {
      focused.current = target instanceof Element ? target : null;
    },
    goes: ({ target }: FocusEvent) => {
      // A browser says this of a figure that is about to go, too: whether it went shows when this is over.
      queueMicrotask(() => {
        if (focused.current === target && target instanceof Element && target.isConnected)
          focused.current = null;
      });
    },
  };
}

/** A pointer drags once it moved so far that it is no click. */
function useDrag() {
  const drag = useRef<{ readonly id: number; x: number; isDragging: boolean } | null>(null);
  return {
    begin: ({ button, pointerId, clientX, target }: PointerEvent) => {
      const isDrawing = target instanceof Element && target.closest("svg") !== null;
      drag.current = button === 0 && isDrawing ? { id: pointerId, x: clientX, isDragging: false } : null;
    },
    move: (event: TargetedPointerEvent<HTMLDivElement>, by: (px: number) => void) => {
      const { current } = drag;
      if (current === null || event.pointerId !== current.id || event.buttons === 0) return;
      const byPx = event.clientX - current.x;
      if (!current.isDragging && Math.abs(byPx) < dragPx) return;
      if (!current.isDragging) event.currentTarget.setPointerCapture(event.pointerId);
      current.isDragging = true;
      current.x = event.clientX;
      by(byPx);
    },
    end: () => {
      drag.current = null;
    },
  };
}

/** Does what a turn of the wheel means; false: nothing. */
function onTurn(
  { ctrlKey, metaKey, deltaX, deltaY, clientX }: WheelEvent,
  box: HTMLElement | null,
  widthPx: number,
  steer: Steer,
): boolean {
  if (ctrlKey || metaKey) {
    // Two fingers turn it by less than a wheel does.
    steer.zoom(zoomStep ** Math.max(-1, Math.min(1, deltaY / turnPx)), shareAt(clientX, box));
    return true;
  }
  if (Math.abs(deltaX) <= Math.abs(deltaY)) return false;
  steer.move(deltaX / widthPx);
  return true;
}

/** Returns where a pointer is on the axis, as a share of its width. */
function shareAt(clientX: number, box: HTMLElement | null): number {
  const axis = box?.querySelector(".axis svg")?.getBoundingClientRect();
  return axis === undefined ? 0.5 : Math.min(1, Math.max(0, (clientX - axis.left) / axis.width));
}

/** Does what the key means; false: nothing. */
function onKey(key: string, hasShift: boolean, box: HTMLElement, steer: Steer): boolean {
  const figure = document.activeElement;
  const isInside = figure !== box && figure !== null && figure.classList.contains("figure");
  if (key === "+" || key === "=") steer.zoom(1 / zoomStep, 0.5);
  else if (key === "-" || key === "_") steer.zoom(zoomStep, 0.5);
  else if (key === "Escape" && isInside) box.focus();
  else if (isInside && !hasShift) return goOn(key, figure, box);
  else if (key === "ArrowLeft") steer.move(-moveStep);
  else if (key === "ArrowRight") steer.move(moveStep);
  else if (key === "Enter" && figure === box) focusOn(box.querySelector(".figure"));
  else return false;
  return true;
}

/** Goes to the next figure of the lane, or to the nearest one of the next lane. */
function goOn(key: string, figure: Element, box: HTMLElement): boolean {
  const lanes = [...box.querySelectorAll(".lane")];
  const at = lanes.findIndex(lane => lane.contains(figure));
  const figures = byPlace(lanes[at]);
  const here = figures.indexOf(figure);
  if (key === "ArrowRight" || key === "ArrowLeft") {
    focusOn(figures[here + (key === "ArrowRight" ? 1 : -1)] ?? null);
    return true;
  }
  if (key !== "ArrowDown" && key !== "ArrowUp") return false;
  const step = key === "ArrowDown" ? 1 : -1;
  for (let n = at + step; n >= 0 && n < lanes.length; n += step) {
    const [nearest] = byPlace(lanes[n]).sort((a, b) => distance(a, figure) - distance(b, figure));
    if (nearest === undefined) continue;
    focusOn(nearest);
    break;
  }
  return true;
}

function byPlace(lane: Element | undefined): Element[] {
  const figures = [...(lane?.querySelectorAll(".figure") ?? [])];
  return figures.sort((a, b) => leftOf(a) - leftOf(b));
}

function leftOf(figure: Element): number {
  return figure.getBoundingClientRect().left;
}

function distance(a: Element, b: Element): number {
  return Math.abs(leftOf(a) - leftOf(b));
}

function focusOn(figure: Element | null): void {
  if (figure instanceof SVGElement) {
    figure.focus();
    figure.scrollIntoView({ block: "nearest" });
  }
}
