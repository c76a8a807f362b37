/** The fields by which a person narrows the tasks; the address keeps what they say. */
import type { TaskRow } from "../../../../protocol/schemas/task.ts";
import { standings } from "../../../tasks/standing.ts";
import { clean } from "../state.ts";
import type { Page } from "../view.ts";
import { filterOf, labelsOf } from "./filter.ts";

interface FiltersProps {
  readonly page: Page;
  readonly tasks: readonly TaskRow[];
}

export function Filters({ page: { query, ask }, tasks }: FiltersProps) {
  const { text, label, state, hasDone } = filterOf(query);
  const labels = labelsOf(tasks);
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
