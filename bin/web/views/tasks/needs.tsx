/** The graph of what is shown, of what that needs, and what is left out of it. */
import type { TaskRow } from "../../../../protocol/schemas/task.ts";
import type { Numbers } from "../../../tasks/numbers.ts";
import { marks, standings } from "../../../tasks/standing.ts";
import { counted } from "../../../view/text.ts";
import { Empty } from "../parts.tsx";
import { projectName } from "../state.ts";
import type { Page } from "../view.ts";
import { Drawing, scaleOf, scales } from "./drawing.tsx";
import type { Filter } from "./filter.ts";
import { graphOf } from "./graph.ts";
import { criticalPath, openTasks } from "./open.ts";

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
