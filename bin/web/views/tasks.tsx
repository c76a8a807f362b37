/** Tasks: what is at work, what is ready, what waits for what. */
import { useMemo } from "preact/hooks";
import type { TaskRow } from "../../../protocol/schemas/task.ts";
import { numbersOf } from "../../tasks/numbers.ts";
import { summaryOf } from "../../tasks/standing.ts";
import { counted } from "../../view/text.ts";
import { bounds } from "../bounds.ts";
import { Empty, Loading } from "./parts.tsx";
import { AddTask } from "./tasks/add.tsx";
import { filtered, filterOf } from "./tasks/filter.ts";
import { Filters } from "./tasks/filters.tsx";
import { Needs } from "./tasks/needs.tsx";
import { OneTask } from "./tasks/one.tsx";
import { TaskRows } from "./tasks/rows.tsx";
import type { View, ViewProps } from "./view.ts";

export const tasks: View = { path: "tasks", title: "Tasks", topics: ["tasks"], Body: Tasks };

function Tasks({ state, page }: ViewProps) {
  const all = state.rows("tasks");
  if (all === null) return <Loading />;
  return (
    <>
      {page === null || page.act === null ? null : (
        <AddTask act={page.act} project={state.project ?? state.viewer.here} />
      )}
      {all.length === 0 ? (
        <Empty says="No task is there. Agents and you add them:" command='kite task add "Write the schema"' />
      ) : (
        <Shown state={state} page={page} all={all} />
      )}
    </>
  );
}

function Shown({ state, page, all }: ViewProps & { readonly all: readonly TaskRow[] }) {
  const open = page?.query["task"] ?? null;
  // The page renders each second, for the times in it; what is expensive depends on these alone.
  const seen = [state.lookedAt("tasks"), state.project, page];
  const { shown, projects, numbers } = useMemo(() => {
    const projects = new Set(all.map(({ project }) => project));
    return {
      shown: filtered(all, filterOf(page?.query ?? {})),
      projects,
      numbers: new Map([...projects].flatMap(project => [...numbersOf(all, project)])),
    };
  }, seen);
  const needs = useMemo(() => {
    const filter = filterOf(page?.query ?? {});
    return <Needs page={page} all={all} shown={shown} filter={filter} numbers={numbers} open={open} />;
  }, seen);
  const more = all.length - shown.length;
  return (
    <>
      <p class="dim">{summaryOf(all)}</p>
      {all.length < bounds.tasksMax ? null : (
        <Empty
          says={`The page has ${all.length} tasks, open ones first. For others:`}
          command="kite task list --all"
        />
      )}
      {page === null ? null : <Filters page={page} tasks={all} />}
      {page === null || open === null ? null : (
        <OneTask
          state={state}
          page={page}
          task={all.find(({ id }) => id === open) ?? null}
          tasks={all}
          numbers={numbers}
        />
      )}
      <div class="tasks">
        <section aria-label="List">
          {shown.length === 0 ? (
            <Empty
              says={
                all.every(({ status }) => status === "done") ? "All tasks are done." : "No task is like that."
              }
            />
          ) : (
            <TaskRows
              state={state}
              page={page}
              tasks={shown}
              numbers={numbers}
              hasProjects={projects.size > 1}
            />
          )}
          {more === 0 ? null : <p class="dim">{counted(more, "more task")} by another filter.</p>}
        </section>
        {needs}
      </div>
    </>
  );
}
