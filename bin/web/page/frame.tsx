/** What stands around each view: the menu, the project, and whether what is shown still holds. */
import type { ComponentChildren } from "preact";
import { views } from "../views/list.ts";
import { clean, projectName, type ViewState } from "../views/state.ts";
import type { View } from "../views/view.ts";
import type { Store } from "./store.ts";

interface FrameProps {
  readonly store: Store;
  readonly state: ViewState;
  readonly view: View;
  readonly query: Readonly<Record<string, string>>;
  readonly go: (path: string, query: Readonly<Record<string, string>>) => void;
  readonly children: ComponentChildren;
}

export function Frame({ store, state, view, query, go, children }: FrameProps) {
  const { project = "" } = query;
  const kept: Readonly<Record<string, string>> = project === "" ? {} : { project };
  if (store.isOver.value)
    return (
      <main>
        <p class="empty">This page's kite web has ended. Start it again for another address: kite web</p>
      </main>
    );
  return (
    <>
      <header>
        <nav aria-label="Views">
          {views.map(({ path, title }) => (
            <a
              key={path}
              href={`/${path}${project === "" ? "" : `?${new URLSearchParams(kept)}`}`}
              aria-current={path === view.path ? "page" : undefined}
              onClick={event => {
                if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
                event.preventDefault();
                go(path, kept);
              }}
            >
              {title}
            </a>
          ))}
        </nav>
        <Projects store={store} state={state} shown={project} go={next => go(view.path, next)} />
        <span class="dim version">Kite {clean(state.version)}</span>
      </header>
      {state.away === null ? null : (
        <p class="away" role="alert">
          {clean(state.away)}. What is shown is as of before.
        </p>
      )}
      {(state.rows("notices") ?? []).map(({ text, isOfStore, isFine }) =>
        isOfStore === true && state.away !== null ? null : (
          <p key={text} class={isFine === true ? "fine dim" : "away"} role="status">
            {clean(text)}
          </p>
        ),
      )}
      <main>
        <h1>{view.title}</h1>
        {children}
      </main>
    </>
  );
}

interface ProjectsProps {
  readonly store: Store;
  readonly state: ViewState;
  readonly shown: string;
  readonly go: (query: Readonly<Record<string, string>>) => void;
}

/** Which project is shown, where there is a choice. */
function Projects({ store, state, shown, go }: ProjectsProps) {
  const { project, here } = state.viewer;
  if (project !== null) return <span class="dim">{projectName(project)}</span>;
  const known = new Set([
    ...(here === null ? [] : [here]),
    ...(shown === "" ? [] : [shown]),
    ...store.projects.value,
  ]);
  return (
    <label>
      <span class="dim">Project </span>
      <select
        value={shown}
        onChange={event => {
          const { value } = event.currentTarget;
          go(value === "" ? {} : { project: value });
        }}
      >
        <option value="">all</option>
        {[...known].sort().map(one => (
          <option key={one} value={one}>
            {projectName(one)}
          </option>
        ))}
      </select>
    </label>
  );
}
