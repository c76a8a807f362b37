/** What several views are made of. */

import { type ComponentChildren, createContext } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { personsNode } from "../../../protocol/names.ts";
import { duration } from "../../../protocol/text.ts";
import { elsewhereState, elsewhereTitle } from "../../view/session-notes.ts";
import { clean, type Page, pathText, projectName, type ViewProps, type ViewState } from "./state.ts";

interface AgentProps {
  readonly name: string;
  /** Its session, and the agent within it, by which it is told from others of its name; null: unknown, or the main agent. */
  readonly id: string | null;
  readonly agent: string | null;
  readonly page: Page | null;
}

/** An agent's name, which explains the agent. */
export function Agent({ name, id, agent, page }: AgentProps) {
  const text = clean(name);
  // A person of another machine has no page.
  if (page === null || personsNode(id ?? "") !== null) return <span class="agent">{text}</span>;
  const about = { kind: "agent" as const, name: agent ?? id ?? name, title: name };
  return (
    <button type="button" class="agent link" onClick={() => page.explain(about)}>
      {text}
    </button>
  );
}

/** A file, which explains who has it. */
export function File({
  path,
  state,
  page,
  text = pathText(path, state),
}: {
  readonly path: string;
  readonly state: ViewState;
  readonly page: Page | null;
  /** What the view calls it; by default its path. */
  readonly text?: string;
}) {
  if (page === null) return <code title={clean(path)}>{text}</code>;
  return (
    <button
      type="button"
      class="link"
      title={clean(path)}
      onClick={() => page.explain({ kind: "file", name: path })}
    >
      <code>{text}</code>
    </button>
  );
}

/** How long something lasts. */
export function Age({ ms }: { readonly ms: number }) {
  return <span class="age">{duration(ms)}</span>;
}

/** Stands for rows that the page has not yet. */
export function Loading() {
  return (
    <p class="empty" data-loading>
      Loading…
    </p>
  );
}

/** What would fill an empty view, and the command for it. */
export function Empty({ says, command }: { readonly says: string; readonly command?: string }) {
  return (
    <p class="empty">
      {says}
      {command === undefined ? null : (
        <>
          {" "}
          <code>{command}</code>
        </>
      )}
    </p>
  );
}

/** The title of the view around a part, where several views are on one page; empty: there is one. */
export const ViewTitle = createContext("");

/** A part of a view with a heading. */
export function Section({
  title,
  count,
  children,
}: {
  readonly title: string;
  readonly count?: number;
  readonly children: ComponentChildren;
}) {
  const view = useContext(ViewTitle);
  return (
    <section aria-label={view === "" ? title : `${view}: ${title}`}>
      <h2>
        {title}
        {count === undefined ? null : <span class="count"> {count}</span>}
      </h2>
      {children}
    </section>
  );
}

/** The head of a table. */
export function TableHead({ columns }: { readonly columns: readonly string[] }) {
  return (
    <thead>
      <tr>
        {columns.map(name => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

// A long list in a box that scrolls. Only the rows in sight and a few around them are in the page.

interface RowListProps<T> {
  /** What the list is of. */
  readonly label: string;
  readonly rows: readonly T[];
  /** The height of every row, in rem. */
  readonly rowHeight: number;
  readonly keyOf: (row: T) => string;
  readonly render: (row: T) => ComponentChildren;
  /** Shows all rows without a box: a snapshot has no program that would follow its scrolling. */
  readonly isWhole?: boolean;
}

/** Rows beyond each edge of the box, so that Tab finds the next one, and by how many rows they move on. */
const beyondMax = 12;
const stepMax = 6;
/** Rows in the page before the box was measured. */
const unmeasuredMax = 40;

/** Renders at most the rows of one screen and `2 * beyondMax` more, however many there are. */
export function RowList<T>({ label, rows, rowHeight, keyOf, render, isWhole = false }: RowListProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [first, setFirst] = useState(0);
  const [count, setCount] = useState(unmeasuredMax);
  const measure = () => {
    if (box.current === null || list.current === null) return;
    const rowPixels = list.current.offsetHeight / Math.max(1, rows.length);
    if (rowPixels === 0) return;
    const top = Math.floor(box.current.scrollTop / rowPixels);
    setFirst(Math.max(0, top - (top % stepMax) - beyondMax));
    setCount(Math.ceil(box.current.clientHeight / rowPixels) + stepMax + 2 * beyondMax);
  };
  const isEmpty = rows.length === 0;
  useLayoutEffect(() => {
    if (isWhole || isEmpty || box.current === null) return;
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isWhole, isEmpty, rows.length]);
  if (isWhole)
    return (
      <ul class="rows" aria-label={label}>
        {rows.map(row => (
          <li key={keyOf(row)}>{render(row)}</li>
        ))}
      </ul>
    );
  const from = Math.min(first, Math.max(0, rows.length - count));
  return (
    <div ref={box} class="row-list" onScroll={measure}>
      <ul ref={list} aria-label={label} style={{ height: `${rows.length * rowHeight}rem` }}>
        {rows.slice(from, from + count).map((row, n) => (
          <li
            key={keyOf(row)}
            aria-setsize={rows.length}
            aria-posinset={from + n + 1}
            style={{ top: `${(from + n) * rowHeight}rem`, height: `${rowHeight}rem` }}
          >
            {render(row)}
          </li>
        ))}
      </ul>
    </div>
  );
}

// What other machines tell that share a store with this one: their sessions, and files that both sides changed.

export function Elsewhere({ state }: Pick<ViewProps, "state">) {
  const rows = state.rows("elsewhere") ?? [];
  if (rows.length === 0) return null;
  return (
    <Section title={elsewhereTitle(rows)} count={rows.length}>
      <table>
        <TableHead columns={["Agent", "Machine", "State", "Role", "Branch", "Task"]} />
        <tbody>
          {rows.map(row => {
            const { id, name, machine, role = "", branch, tasks, declared, project } = row;
            return (
              <tr key={id}>
                <th scope="row">
                  <bdi>{clean(name)}</bdi>
                  {state.project === null ? <div class="dim">{projectName(project)}</div> : null}
                </th>
                <td data-label="Machine">{clean(machine)}</td>
                <td data-label="State">{elsewhereState(row)}</td>
                <td data-label="Role">{clean(role)}</td>
                <td data-label="Branch">{branch === null ? null : <code>{clean(branch)}</code>}</td>
                <td data-label="Task">{clean(tasks[0]?.description ?? declared?.task ?? "")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Section>
  );
}
