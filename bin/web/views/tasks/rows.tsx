/** The list of tasks: one line each. */

import type { TaskRow } from "../../../../protocol/schemas/task.ts";
import { duration } from "../../../../protocol/text.ts";
import { heldIn, type Numbers } from "../../../tasks/numbers.ts";
import { marks, standing } from "../../../tasks/standing.ts";
import { RowList } from "../row-list.tsx";
import { clean, projectName } from "../state.ts";
import type { ViewProps } from "../view.ts";

interface TaskRowsProps extends ViewProps {
  readonly tasks: readonly TaskRow[];
  readonly numbers: Numbers;
  /** Whether several projects are shown. */
  readonly hasProjects: boolean;
}

export function TaskRows({ state, page, tasks, numbers, hasProjects }: TaskRowsProps) {
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
