/** What several views are made of. */
import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { personsNode } from "../../../protocol/names.ts";
import { duration } from "../../../protocol/text.ts";
import { clean, pathText, type ViewState } from "./state.ts";
import type { Page } from "./view.ts";

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
