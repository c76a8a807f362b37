/** Everything about one task, and what a person may do with it. */
import { useEffect, useRef } from "preact/hooks";
import { isGrave, riskReasons } from "../../../../protocol/names.ts";
import type { TaskRow } from "../../../../protocol/schemas/task.ts";
import { duration } from "../../../../protocol/text.ts";
import { heldIn, marks, type Numbers, standing } from "../../../view/task-names.ts";
import { Agent } from "../parts.tsx";
import type { Page, ViewProps } from "../state.ts";
import { clean, cleanLines, projectName } from "../state.ts";

interface OneTaskProps extends ViewProps {
  readonly page: Page;
  /** Null: it is gone. */
  readonly task: TaskRow | null;
  readonly tasks: readonly TaskRow[];
  readonly numbers: Numbers;
}

export function OneTask({ state, page, task, tasks, numbers }: OneTaskProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const id = task?.id ?? null;
  useEffect(() => heading.current?.focus(), [id]);
  const close = () => {
    page.ask({ task: null });
    document.getElementById(`open-${id}`)?.focus();
  };
  if (task === null)
    return (
      <section class="one" aria-label="Task">
        <p class="empty">This task is not here: it was removed, or it is of another project.</p>
        <button type="button" onClick={close}>
          Close
        </button>
      </section>
    );
  const is = standing(task);
  return (
    <section class="one" aria-label={`Task ${task.number}`}>
      <h2 ref={heading} tabIndex={-1}>
        Task {task.number}{" "}
        <span class={`mark ${is}`}>
          {marks[is]} {is}
        </span>
      </h2>
      <p class="foreign">{cleanLines(task.description)}</p>
      <Fields state={state} page={page} task={task} tasks={tasks} numbers={numbers} />
      <div class="buttons">
        <Deeds task={task} page={page} />
        <button
          type="button"
          onClick={() => page.explain({ kind: "task", name: task.id, title: `Task ${task.number}` })}
        >
          What happened
        </button>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </section>
  );
}

interface FieldsProps extends OneTaskProps {
  readonly task: TaskRow;
}

function Fields({ state, page, task, tasks, numbers }: FieldsProps) {
  const is = standing(task);
  const ago = (at: number) => `${duration(Math.max(0, state.nowMs - at))} ago`;
  const neededBy = tasks.filter(({ dependsOn }) => dependsOn.includes(task.id));
  const held = heldIn(task, numbers);
  return (
    <dl>
      {state.project === null ? <Field name="project">{projectName(task.project)}</Field> : null}
      {task.assigneeName === null ? null : (
        <Field name={is === "active" ? "worked on by" : "by"}>
          <Agent name={task.assigneeName} id={task.assignee} agent={task.assigneeAgent} page={page} />
        </Field>
      )}
      {task.priority === "normal" ? null : <Field name="priority">{task.priority}</Field>}
      {task.risk === "green" ? null : (
        <Field name="risk">
          {task.risk}
          {task.approved ? ", approved" : ""}: {riskReasons[task.risk]}
        </Field>
      )}
      {held === null ? null : <Field name="not now">{cleanLines(held)}</Field>}
      {task.labels.length === 0 ? null : <Field name="labels">{task.labels.map(clean).join(", ")}</Field>}
      {task.dependsOn.length === 0 ? null : (
        <Field name="needs">
          <Others page={page} ids={task.dependsOn} tasks={tasks} />
        </Field>
      )}
      {neededBy.length === 0 ? null : (
        <Field name="needed by">
          <Others page={page} ids={neededBy.map(one => one.id)} tasks={tasks} />
        </Field>
      )}
      {task.debate === null ? null : <Field name="debate">{clean(task.debate)}</Field>}
      {task.attempts === 0 ? null : <Field name="attempts">{task.attempts}</Field>}
      <Field name="created">
        {ago(task.createdAt)} by <bdi>{clean(task.createdBy ?? state.viewer.user)}</bdi>
      </Field>
      {task.updatedAt === task.createdAt ? null : <Field name="changed">{ago(task.updatedAt)}</Field>}
      {task.result === null ? null : (
        <Field name={is === "failed" ? "reason" : "result"}>{cleanLines(task.result)}</Field>
      )}
    </dl>
  );
}

function Field({ name, children }: { readonly name: string; readonly children: unknown }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="foreign">{children as string}</dd>
    </div>
  );
}

interface OthersProps {
  readonly page: Page;
  readonly ids: readonly string[];
  readonly tasks: readonly TaskRow[];
}

/** Other tasks, each of which opens. */
function Others({ page, ids, tasks }: OthersProps) {
  return (
    <ul class="others">
      {ids.map(id => {
        const task = tasks.find(one => one.id === id);
        if (task === undefined) return <li key={id}>{clean(id)}</li>;
        return (
          <li key={id}>
            <button type="button" class="link" onClick={() => page.ask({ task: id })}>
              {task.number} <bdi>{clean(task.description)}</bdi>
            </button>{" "}
            <span class="dim">({standing(task)})</span>
          </li>
        );
      })}
    </ul>
  );
}

/** What makes sense for the task as it is. */
function Deeds({ task, page: { act } }: { readonly task: TaskRow; readonly page: Page }) {
  if (act === null) return null;
  const { id, project, number, status, risk, approved } = task;
  const named = `task ${number}`;
  const who = task.assigneeName === null ? "its agent" : clean(task.assigneeName);
  return (
    <>
      {status === "pending" && isGrave(risk) && !approved ? (
        <button
          type="button"
          onClick={() =>
            act({ deed: "task_approve", task: id, project }, `Approve the next run of ${named}?`)
          }
        >
          Approve
        </button>
      ) : null}
      {status === "active" ? (
        <button
          type="button"
          onClick={() => act({ deed: "task_release", task: id, project }, `Take ${named} from ${who}?`)}
        >
          Release
        </button>
      ) : null}
      {status === "active" || status === "pending" ? (
        <button
          type="button"
          onClick={() =>
            act({ deed: "task_cancel", task: id, project }, `Cancel ${named}? It counts as failed then.`)
          }
        >
          Cancel
        </button>
      ) : null}
    </>
  );
}
