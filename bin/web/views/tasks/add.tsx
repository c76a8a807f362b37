/** A new task, as a person describes it. */
import { useState } from "preact/hooks";
import { limits } from "../../../../protocol/limits.ts";
import { risks } from "../../../../protocol/names.ts";
import { cut } from "../../../view/text.ts";
import { clean, projectName } from "../state.ts";
import type { Page } from "../view.ts";

interface Draft {
  readonly description: string;
  readonly needs: string;
  readonly labels: string;
  readonly risk: string;
}

const empty: Draft = { description: "", needs: "", labels: "", risk: "green" };
/** Columns of the description in the question. */
const questionColumns = 200;

interface AddTaskProps {
  readonly act: NonNullable<Page["act"]>;
  /** Where it goes; null: the person has to choose a project first. */
  readonly project: string | null;
}

export function AddTask({ act, project }: AddTaskProps) {
  const [draft, setDraft] = useState(empty);
  const change = (part: Partial<Draft>) => setDraft(before => ({ ...before, ...part }));
  if (project === null) return <p class="dim">To add a task, choose a project first.</p>;
  const { description, needs, labels, risk } = draft;
  const add = () =>
    act(
      { deed: "task_add", description, needs, labels, risk, project },
      `Add to ${projectName(project)}: “${cut(clean(description), questionColumns)}”?`,
      () => setDraft(empty),
    );
  return (
    <details class="add">
      <summary>Add a task</summary>
      <form
        onSubmit={event => {
          event.preventDefault();
          add();
        }}
      >
        <label class="wide">
          What it is
          <textarea
            rows={3}
            required
            maxLength={limits.taskTextChars}
            value={description}
            onInput={event => change({ description: event.currentTarget.value })}
          />
        </label>
        <label>
          Needs
          <input
            placeholder="12 14"
            value={needs}
            onInput={event => change({ needs: event.currentTarget.value })}
          />
        </label>
        <label>
          Labels
          <input
            placeholder="web, api"
            value={labels}
            onInput={event => change({ labels: event.currentTarget.value })}
          />
        </label>
        <label>
          Risk
          <select value={risk} onChange={event => change({ risk: event.currentTarget.value })}>
            {risks.map(one => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <button type="submit">Add</button>
      </form>
    </details>
  );
}
