/** The box of the lanes: its width, and what wheel, pointer and keys do in it. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Axis, LaneList, type LanesProps } from "./lanes.tsx";

interface ChartProps extends Omit<LanesProps, "widthPx"> {
  /** The width of the drawing as long as nobody measured it. */
  readonly startPx: number;
  /** Null: a snapshot. */
  readonly steer: Steer | null;
}

export interface Steer {
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
  const [widthPx, setWidth] = useState(startPx);
  const drag = useRef<{ readonly id: number; x: number; isDragging: boolean } | null>(null);
  /** What has the focus in here. */
  const focused = useRef<Element | null>(null);
  useLayoutEffect(() => {
    const axis = box.current?.querySelector(".axis svg");
    if (axis == null) return;
    const measure = () => setWidth(Math.max(100, Math.round(axis.getBoundingClientRect().width)));
    const observer = new ResizeObserver(measure);
    observer.observe(axis);
    measure();
    return () => observer.disconnect();
  }, []);
  // What had the focus may have become part of another figure.
  useLayoutEffect(() => {
    if (focused.current?.isConnected === false) box.current?.focus({ preventScroll: true });
  });
  const lanes = (
    <>
      <Axis stretch={props.stretch} widthPx={widthPx} />
      <LaneList {...props} widthPx={widthPx} />
    </>
  );
  if (steer === null) return <div class="lanes">{lanes}</div>;
  const shareAt = (clientX: number) => {
    const axis = box.current?.querySelector(".axis svg")?.getBoundingClientRect();
    return axis === undefined ? 0.5 : Math.min(1, Math.max(0, (clientX - axis.left) / axis.width));
  };
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
        onFocusIn={({ target }) => {
          focused.current = target instanceof Element ? target : null;
        }}
        onFocusOut={({ target }) => {
          // A browser says this of a figure that is about to go, too: whether it went shows when this is over.
          queueMicrotask(() => {
            if (focused.current === target && target instanceof Element && target.isConnected)
              focused.current = null;
          });
        }}
        onKeyDown={event => {
          if (event.ctrlKey || event.metaKey || event.altKey || box.current === null) return;
          if (onKey(event.key, event.shiftKey, box.current, steer)) event.preventDefault();
        }}
        onWheel={event => {
          const { ctrlKey, metaKey, deltaX, deltaY, clientX } = event;
          if (ctrlKey || metaKey) {
            event.preventDefault();
            // Two fingers turn it by less than a wheel does.
            steer.zoom(zoomStep ** Math.max(-1, Math.min(1, deltaY / turnPx)), shareAt(clientX));
          } else if (Math.abs(deltaX) > Math.abs(deltaY)) {
            event.preventDefault();
            steer.move(deltaX / widthPx);
          }
        }}
        onPointerDown={({ button, pointerId, clientX, target }) => {
          const isDrawing = target instanceof Element && target.closest("svg") !== null;
          drag.current = button === 0 && isDrawing ? { id: pointerId, x: clientX, isDragging: false } : null;
        }}
        onPointerMove={event => {
          const { current } = drag;
          if (current === null || event.pointerId !== current.id || event.buttons === 0) return;
          const byPx = event.clientX - current.x;
          if (!current.isDragging && Math.abs(byPx) < dragPx) return;
          if (!current.isDragging) event.currentTarget.setPointerCapture(event.pointerId);
          current.isDragging = true;
          current.x = event.clientX;
          steer.move(-byPx / widthPx);
        }}
        onPointerUp={() => {
          drag.current = null;
        }}
      >
        {lanes}
      </div>
    </>
  );
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
