/** The drawing of tasks and their needs. The list beside it has the same tasks for whoever cannot see it. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TaskRow } from "../../../../protocol/schemas/task.ts";
import { marks, standing } from "../../../tasks/standing.ts";
import { cut } from "../../../view/text.ts";
import { clean } from "../state.ts";
import type { ViewProps } from "../view.ts";
import type { Graph } from "./graph.ts";
import { type Arrow, box, boxBeside, type Layouts, layoutsOf, type Point, packed } from "./layout.ts";

interface DrawingProps {
  readonly page: ViewProps["page"];
  readonly graph: Graph;
  /** The critical path, from its first task. */
  readonly path: readonly string[];
  /** The task that is open beside the drawing. */
  readonly open: string | null;
}

/** Columns of a box's lines; its edge hides the rest of wide letters. */
const columns = { title: 30, note: 34 } as const;
/** Units of the drawing around it. */
const margin = 6;

const steps: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export function Drawing({ page, graph, path, open }: DrawingProps) {
  const before = useRef<Layouts>(new Map());
  const layouts = layoutsOf(graph.parts, before.current);
  before.current = layouts;
  const key = [...layouts.keys()].join("\n");
  const { width, height, places, arrows } = useMemo(() => packed(layouts), [key]);
  const tasks = graph.parts.flatMap(part => part.tasks);
  const [focused, setFocused] = useState<string | null>(null);
  const stop = [focused, open, path[0]].find(id => places.has(id ?? "")) ?? tasks[0]?.id ?? null;
  const figure = useRef<HTMLElement>(null);
  const isNew = useRef(true);
  // Begins where the critical path does, and goes where a person opens a task.
  useLayoutEffect(() => {
    const at = places.get(open ?? (isNew.current ? path[0] : undefined) ?? "");
    isNew.current = false;
    if (at === undefined || figure.current === null) return;
    const { scrollWidth, clientHeight } = figure.current;
    const pixels = scrollWidth / (width + 2 * margin);
    figure.current.scrollTo((at.x - box.width) * pixels, at.y * pixels - clientHeight / 2);
  }, [open]);
  const scale = scaleOf(page);
  const size = (units: number) => `${((units + 2 * margin) / 16) * scale}rem`;
  const critical = new Set(path.slice(1).map((id, n) => `${path[n]} ${id}`));
  const move = (event: KeyboardEvent) => {
    const step = steps[event.key];
    const next = step === undefined || stop === null ? null : boxBeside(places, stop, ...step);
    if (next === null) return;
    event.preventDefault();
    document.getElementById(`box-${next}`)?.focus();
  };
  return (
    <figure
      ref={figure}
      class="drawing"
      aria-label="Tasks and what they need. Arrow keys lead from box to box."
    >
      <svg
        width={size(width)}
        height={size(height)}
        viewBox={`${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`}
        onKeyDown={move}
      >
        <title>Tasks and what they need</title>
        <defs>
          <clipPath id="box-inside">
            <rect width={box.width - 12} height={box.height} x="6" />
          </clipPath>
          {["need", "critical"].map(kind => (
            <marker
              key={kind}
              id={`tip-${kind}`}
              class={`tip ${kind}`}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              markerUnits="userSpaceOnUse"
              orient="auto"
            >
              <path d="M0 0 L8 4 L0 8 z" />
            </marker>
          ))}
        </defs>
        {arrows.map(arrow => {
          const kind = critical.has(`${arrow.from} ${arrow.to}`) ? "critical" : "need";
          const id = `${arrow.from} ${arrow.to}`;
          return <path key={id} class={`arrow ${kind}`} d={curve(arrow)} marker-end={`url(#tip-${kind})`} />;
        })}
        {tasks.map(task => (
          <Box
            key={task.id}
            task={task}
            page={page}
            at={places.get(task.id) ?? { x: 0, y: 0 }}
            isCritical={path.includes(task.id)}
            isOpen={task.id === open}
            isStop={task.id === stop}
            onFocus={() => setFocused(task.id)}
          />
        ))}
      </svg>
    </figure>
  );
}

/** Sizes that a person may choose. */
export const scales = [0.5, 0.75, 1] as const;

/** Returns the drawing's size as the address says it. */
export function scaleOf(page: ViewProps["page"]): number {
  return scales.find(one => `${one * 100}` === page?.query["size"]) ?? 1;
}

interface BoxProps {
  readonly task: TaskRow;
  readonly page: ViewProps["page"];
  readonly at: Point;
  readonly isCritical: boolean;
  readonly isOpen: boolean;
  readonly isStop: boolean;
  readonly onFocus: () => void;
}

function Box({ task, page, at, isCritical, isOpen, isStop, onFocus }: BoxProps) {
  const is = standing(task);
  const text = clean(task.description);
  const note = [is, whoOf(task), ...flagsOf(task)].filter(word => word !== "").join(" · ");
  const look = ["box", is, isCritical ? "critical" : "", isOpen ? "open" : ""].join(" ").trim();
  const [title, line] = [cut(text, columns.title), cut(note, columns.note)];
  const inside = (
    <>
      {title === text && line === note ? null : <title>{`${text}\n${note}`}</title>}
      <rect width={box.width} height={box.height} rx="6" />
      <g clip-path="url(#box-inside)">
        <text x="10" y="19">
          {marks[is]} {task.number} {title}
        </text>
        <text x="10" y="37" class="note">
          {line}
        </text>
      </g>
    </>
  );
  const place = `translate(${at.x - box.width / 2} ${at.y - box.height / 2})`;
  if (page === null)
    return (
      <g class={look} transform={place}>
        {inside}
      </g>
    );
  return (
    <g class={look} transform={place}>
      <a
        id={`box-${task.id}`}
        href={`?task=${task.id}`}
        tabindex={isStop ? 0 : -1}
        onFocus={onFocus}
        onClick={event => {
          event.preventDefault();
          page.ask({ task: task.id });
        }}
      >
        {inside}
      </a>
    </g>
  );
}

function whoOf({ status, assigneeName }: TaskRow): string {
  return status === "active" && assigneeName !== null ? clean(assigneeName) : "";
}

/** Returns what is unusual about the task, in words. */
function flagsOf({ priority, risk, approved, held, debate }: TaskRow): readonly string[] {
  return [
    priority === "normal" ? "" : priority,
    risk === "green" ? "" : `${risk}${approved ? ", approved" : ""}`,
    held === null ? "" : "held back",
    debate === null ? "" : "debate",
  ].filter(word => word !== "");
}

/** Returns the path of an arrow: level where it begins and ends. */
function curve({ points: [start, ...rest] }: Arrow): string {
  if (start === undefined) return "";
  let last = start;
  let path = `M${start.x} ${start.y}`;
  for (const point of rest) {
    const middle = Math.round((last.x + point.x) / 2);
    path += ` C${middle} ${last.y} ${middle} ${point.y} ${point.x} ${point.y}`;
    last = point;
  }
  return path;
}
