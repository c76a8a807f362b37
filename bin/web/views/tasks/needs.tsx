/** The graph of what is shown, of what that needs, and what is left out of it. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TaskRow } from "../../../../protocol/schemas/task.ts";
import { marks, type Numbers, standing, standings } from "../../../view/task-names.ts";
import { counted, cut } from "../../../view/text.ts";
import { Empty } from "../parts.tsx";
import { clean, type Page, projectName, type ViewProps } from "../state.ts";
import {
  type Arrow,
  box,
  boxBeside,
  type Filter,
  type Graph,
  graphOf,
  type Layouts,
  layoutsOf,
  type Point,
  packed,
} from "./graph.ts";

// The drawing of tasks and their needs. The list beside it has the same tasks for whoever cannot see it.

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

function Drawing({ page, graph, path, open }: DrawingProps) {
  const before = useRef<Layouts>(new Map());
  const layouts = layoutsOf(graph.parts, before.current);
  before.current = layouts;
  const key = [...layouts.keys()].join("\n");
  const { width, height, places, arrows } = useMemo(() => packed(layouts), [key]);
  const tasks = graph.parts.flatMap(part => part.tasks);
  const [focused, setFocused] = useState<string | null>(null);
  const stop = [focused, open, path[0]].find(id => places.has(id ?? "")) ?? tasks[0]?.id ?? null;
  const figure = useScroll(open, path[0], places, width);
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
        <Shapes />
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

/** Returns the drawing's element, which begins where the critical path does, and goes where a person opens a task. */
function useScroll(
  open: string | null,
  first: string | undefined,
  places: ReadonlyMap<string, Point>,
  width: number,
) {
  const figure = useRef<HTMLElement>(null);
  const isNew = useRef(true);
  useLayoutEffect(() => {
    const at = places.get(open ?? (isNew.current ? first : undefined) ?? "");
    isNew.current = false;
    if (at === undefined || figure.current === null) return;
    const { scrollWidth, clientHeight } = figure.current;
    const pixels = scrollWidth / (width + 2 * margin);
    figure.current.scrollTo((at.x - box.width) * pixels, at.y * pixels - clientHeight / 2);
  }, [open]);
  return figure;
}

/** What boxes and arrows refer to: where a box cuts its text off, and the tips of arrows. */
function Shapes() {
  return (
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
  );
}

/** Sizes that a person may choose. */
const scales = [0.5, 0.75, 1] as const;

/** Returns the drawing's size as the address says it. */
function scaleOf(page: ViewProps["page"]): number {
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

// Which tasks are still to do, and the chain of them that decides when all is done.

/** Returns the tasks that are pending or active, and the failed ones that such a task still needs. */
export function openTasks(tasks: readonly TaskRow[]): readonly TaskRow[] {
  const byId = new Map(tasks.map(task => [task.id, task]));
  const open = new Set(tasks.filter(({ status }) => status === "pending" || status === "active"));
  for (const task of open) {
    for (const id of task.dependsOn) {
      const need = byId.get(id);
      if (need?.status === "failed") open.add(need);
    }
  }
  return tasks.filter(task => open.has(task));
}

/**
 * Returns the critical path: the longest chain of open tasks of which each needs the one before it. A chain is as long
 * as it has tasks, since Kite does not know how long one takes. Of chains of one length the one whose last task comes
 * first in `open` counts. A single task is no chain.
 */
export function criticalPath(open: readonly TaskRow[]): readonly string[] {
  const lengths = new Map<string, number>();
  const before = new Map<string, string>();
  for (const task of inOrder(open)) {
    let length = 1;
    for (const id of task.dependsOn) {
      const reached = 1 + (lengths.get(id) ?? 0);
      if (reached <= length) continue;
      length = reached;
      before.set(task.id, id);
    }
    lengths.set(task.id, length);
  }
  let last: string | undefined;
  for (const { id, status } of open)
    if (status !== "failed" && (lengths.get(id) ?? 0) > (lengths.get(last ?? "") ?? 1)) last = id;
  const path: string[] = [];
  for (let id = last; id !== undefined; id = before.get(id)) path.push(id);
  return path.reverse();
}

/** Returns the tasks so that each comes after those that it needs. */
function inOrder(tasks: readonly TaskRow[]): readonly TaskRow[] {
  const known = new Set(tasks.map(({ id }) => id));
  const dependents = new Map<string, TaskRow[]>();
  const missing = new Map<TaskRow, number>();
  for (const task of tasks) {
    const needs = task.dependsOn.filter(id => known.has(id));
    missing.set(task, needs.length);
    for (const id of needs) {
      const found = dependents.get(id);
      if (found === undefined) dependents.set(id, [task]);
      else found.push(task);
    }
  }
  const order = tasks.filter(task => missing.get(task) === 0);
  for (const { id } of order) {
    for (const dependent of dependents.get(id) ?? []) {
      const left = (missing.get(dependent) ?? 0) - 1;
      missing.set(dependent, left);
      if (left === 0) order.push(dependent);
    }
  }
  return order;
}

interface NeedsProps {
  readonly page: Page | null;
  readonly all: readonly TaskRow[];
  readonly shown: readonly TaskRow[];
  readonly filter: Filter;
  readonly numbers: Numbers;
  readonly open: string | null;
}

export function Needs({ page, all, shown, filter, numbers, open }: NeedsProps) {
  const known = openTasks(all);
  const path = criticalPath(known);
  const isKnown = new Set(known);
  const wanted = filter.hasDone ? shown : shown.filter(task => isKnown.has(task));
  const graph = graphOf(wanted, filter.hasDone ? all : known, path);
  const drawn = new Set(graph.parts.flatMap(part => part.tasks.map(({ id }) => id)));
  const inPath = path.filter(id => drawn.has(id));
  return (
    <section aria-label="Graph">
      {path.length === 0 ? null : (
        <p>
          <span class="critical-word">Critical path</span>
          {whereText(path, all)}, {path.length} tasks one after the other: {pathText(path, numbers)}
        </p>
      )}
      {drawn.size === 0 ? (
        <Empty
          says="None of these tasks needs another open one. To say that one does:"
          command='kite task add "Build the API" --needs 1'
        />
      ) : (
        <>
          <Drawing page={page} graph={graph} path={inPath} open={open} />
          <Legend page={page} />
        </>
      )}
      <p class="dim">{leftOutText(graph, filter, all)}</p>
    </section>
  );
}

/** Returns in which project the path is, if several are shown. */
function whereText(path: readonly string[], all: readonly TaskRow[]): string {
  const project = all.find(({ id }) => id === path.at(-1))?.project;
  if (project === undefined || all.every(task => task.project === project)) return "";
  return ` in ${projectName(project)}`;
}

/** Numbers of the critical path that are written out. */
const pathNamedMax = 12;

function pathText(path: readonly string[], numbers: Numbers): string {
  const words = path.map(id => `${numbers.get(id) ?? id}`);
  if (words.length <= pathNamedMax) return words.join(" → ");
  return `${words.slice(0, pathNamedMax - 1).join(" → ")} → … → ${words.at(-1)}`;
}

function leftOutText(
  graph: ReturnType<typeof graphOf>,
  { hasDone }: Filter,
  all: readonly TaskRow[],
): string {
  const done = all.filter(({ status }) => status === "done").length;
  return [
    graph.alone === 0 || graph.parts.length === 0
      ? ""
      : `${counted(graph.alone, "task")} without needs ${graph.alone === 1 ? "is" : "are"} in the list alone.`,
    graph.leftOut === 0
      ? ""
      : `The drawing is full: ${counted(graph.leftOut, "task")} farther from the critical path are in the list alone; filter to see them.`,
    hasDone || done === 0 ? "" : `${counted(done, "done task")} left out.`,
  ]
    .filter(text => text !== "")
    .join(" ");
}

function Legend({ page }: { readonly page: Page | null }) {
  return (
    <p class="legend dim">
      {standings.map(one => (
        <span key={one}>
          {marks[one]} {one}
        </span>
      ))}
      {page === null ? null : (
        <label>
          Size{" "}
          <select
            value={scaleOf(page)}
            onChange={event =>
              page.ask({
                size: event.currentTarget.value === "1" ? null : `${+event.currentTarget.value * 100}`,
              })
            }
          >
            {scales.map(one => (
              <option key={one} value={one}>
                {one * 100} %
              </option>
            ))}
          </select>
        </label>
      )}
    </p>
  );
}
