/** Tasks: what is at work, what is ready, what waits for what. */
import { numbersOf } from "../../tasks/numbers.ts";
import { standings, summaryOf } from "../../tasks/standing.ts";
import { Empty } from "./parts.tsx";
import { clean } from "./state.ts";
import { filtered, filterOf, labelsOf } from "./tasks/filter.ts";
import { TaskRows } from "./tasks/rows.tsx";
import type { View, ViewProps } from "./view.ts";

export const tasks: View = { path: "tasks", title: "Tasks", topics: ["tasks"], Body: Tasks };

function Tasks({ state, page }: ViewProps) {
  const all = state.rows("tasks");
  if (all === null)
    return (
      <p class="empty" data-loading>
        Loading…
      </p>
    );
  if (all.length === 0)
    return <Empty says="No task is there. To add one:" command='kite task add "Write the schema"' />;
  const query = page?.query ?? {};
  const shown = filtered(all, filterOf(query));
  const projects = new Set(all.map(({ project }) => project));
  const numbers = new Map([...projects].flatMap(project => [...numbersOf(all, project)]));
  return (
    <>
      <p class="dim">{summaryOf(all)}</p>
      {page === null ? null : <Filters page={page} labels={labelsOf(all)} />}
      {shown.length === 0 ? (
        <Empty says="No task is like that." />
      ) : (
        <TaskRows state={state} page={page} tasks={shown} numbers={numbers} hasProjects={projects.size > 1} />
      )}
    </>
  );
}

interface FiltersProps {
  readonly page: NonNullable<ViewProps["page"]>;
  readonly labels: readonly string[];
}

function Filters({ page: { query, ask }, labels }: FiltersProps) {
  const { text = "", label = "" } = query;
  const { state, hasDone } = filterOf(query);
  const word = (value: string) => (value === "" ? null : value);
  return (
    <search class="filters">
      <input
        type="search"
        aria-label="Text"
        placeholder="text, number or agent"
        value={text}
        onInput={event => ask({ text: word(event.currentTarget.value) })}
      />
      <label>
        <span class="dim">State </span>
        <select value={state ?? ""} onChange={event => ask({ state: word(event.currentTarget.value) })}>
          <option value="">any</option>
          {standings.map(one => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      {labels.length === 0 ? null : (
        <label>
          <span class="dim">Label </span>
          <select value={label} onChange={event => ask({ label: word(event.currentTarget.value) })}>
            <option value="">any</option>
            {labels.map(one => (
              <option key={one} value={one}>
                {clean(one)}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        <input
          type="checkbox"
          checked={hasDone}
          onChange={event => ask({ done: event.currentTarget.checked ? "1" : null })}
        />
        <span class="dim"> done ones, too</span>
      </label>
    </search>
  );
}
