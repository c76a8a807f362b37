/** Tasks: what is at work, what is ready, what waits for what. */

import { useMemo, useState } from "preact/hooks";
import { limits } from "../../../../protocol/limits.ts";
import { risks } from "../../../../protocol/names.ts";
import type { TaskRow } from "../../../../protocol/schemas/task.ts";
import { duration } from "../../../../protocol/text.ts";
import {
  heldIn,
  marks,
  type Numbers,
  numbersOf,
  standing,
  standings,
  summaryOf,
} from "../../../view/task-names.ts";
import { counted, cut } from "../../../view/text.ts";
import { bounds } from "../../wire.ts";
import { Empty, Loading, RowList } from "../parts.tsx";
import { clean, type Page, projectName, type View, type ViewProps } from "../state.ts";
import { filtered, filterOf, labelsOf } from "./graph.ts";
import { Needs } from "./needs.tsx";
import { OneTask } from "./one.tsx";

// A new task, as a person describes it.

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

function AddTask({ act, project }: AddTaskProps) {
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
        <DraftFields draft={draft} change={change} />
        <button type="submit">Add</button>
      </form>
    </details>
  );
}

interface DraftFieldsProps {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
}

function DraftFields({ draft: { description, needs, labels, risk }, change }: DraftFieldsProps) {
  return (
    <>
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
    </>
  );
}

// The fields by which a person narrows the tasks; the address keeps what they say.

interface FiltersProps {
  readonly page: Page;
  readonly tasks: readonly TaskRow[];
}

function Filters({ page: { query, ask }, tasks }: FiltersProps) {
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

// The list of tasks: one line each.

interface TaskRowsProps extends ViewProps {
  readonly tasks: readonly TaskRow[];
  readonly numbers: Numbers;
  /** Whether several projects are shown. */
  readonly hasProjects: boolean;
}

function TaskRows({ state, page, tasks, numbers, hasProjects }: TaskRowsProps) {
  return (
    <RowList
      label="Tasks"
      rows={tasks}
      rowHeight={2.75}
      keyOf={({ id }) => id}
      isWhole={page === null}
      render={task => {
        const is = standing(task);
        return (
          <>
            <span class={`mark ${is}`}>
              {marks[is]} {is}
            </span>
            <Opens task={task} page={page} />
            <span class="facts">
              {hasProjects ? <bdi class="dim">{projectName(task.project)}</bdi> : null}
              <Care task={task} />
              <bdi class="dim note">{noteOf(task, numbers, state.nowMs)}</bdi>
            </span>
          </>
        );
      }}
    />
  );
}

/** The task's number and description, which open it. */
function Opens({ task, page }: { readonly task: TaskRow; readonly page: ViewProps["page"] }) {
  const text = clean(task.description);
  const shown = (
    <>
      <span class="dim">{task.number}</span> <bdi>{text}</bdi>
    </>
  );
  if (page === null) return <span class="what">{shown}</span>;
  return (
    <button
      type="button"
      class="link what"
      id={`open-${task.id}`}
      title={text}
      onClick={() => page.ask({ task: task.id })}
    >
      {shown}
    </button>
  );
}

/** How urgent the task is and how much care it needs, if either is unusual, and whether it requires a debate. */
function Care({ task: { priority, risk, approved, debate } }: { readonly task: TaskRow }) {
  return (
    <>
      {priority === "normal" ? null : <span class={`tag ${priority}`}>{priority}</span>}
      {risk === "green" ? null : (
        <span class={`tag ${risk}`}>
          {risk}
          {approved ? ", approved" : ""}
        </span>
      )}
      {debate === null ? null : <span class="tag">debate</span>}
    </>
  );
}

/** Returns who works on the task, what it waits for, why nobody can claim it, or why it failed. */
function noteOf(task: TaskRow, numbers: Numbers, nowMs: number): string {
  const who = task.assigneeName === null ? "somebody" : clean(task.assigneeName);
  const held = heldIn(task, numbers);
  if (task.status === "active") {
    const lost = task.assigneeLost === undefined ? "" : ", lost";
    return `${who}, ${duration(Math.max(0, nowMs - task.updatedAt))}${lost}`;
  }
  if (task.status === "failed") return clean(task.result ?? "no reason given");
  if (task.status === "done") return task.assigneeName === null ? "" : `by ${who}`;
  const waits = waitsFor(task);
  return [waits, held === null ? "" : clean(held)].filter(word => word !== "").join("; ");
}

/** Needs that a line names. */
const needsNamedMax = 4;

function waitsFor({ blockedBy }: TaskRow): string {
  if (blockedBy.length === 0) return "";
  const named = blockedBy
    .slice(0, needsNamedMax)
    .map(({ task, number, status }) => `${number ?? clean(task)}${status === "failed" ? " (failed)" : ""}`);
  const more = blockedBy.length - named.length;
  return `after ${named.join(", ")}${more === 0 ? "" : ` and ${more} more`}`;
}

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
