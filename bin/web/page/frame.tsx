/** What stands around each view: the menu, the project, and whether what is shown still holds. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { views } from "../views/list.ts";
import { clean, projectName, type View, type ViewState } from "../views/state.ts";
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

// What the page asks a person before it acts, and what came of it.

/** What a person wrote before, and why it was refused: it is not lost. */
export interface Refusal {
  readonly text: string;
  readonly refusal: string;
}

export type DialogState =
  | null
  | { readonly kind: "ask"; readonly question: string; readonly yes: () => void }
  | {
      readonly kind: "write";
      readonly question: string;
      readonly yes: (text: string) => void;
      readonly before?: Refusal;
    }
  | { readonly kind: "said"; readonly title: string; readonly text: string };

export function Dialog({ state, close }: { readonly state: DialogState; readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (state !== null && dialog.current?.open === false) dialog.current.showModal();
    if (state === null) dialog.current?.close();
  }, [state]);
  // A dialog's end is told later: the next one may be open by then.
  const ended = () => {
    if (dialog.current?.open === false) close();
  };
  if (state === null) return <dialog ref={dialog} />;
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={ended}>
      <h2 id="dialog-title">{state.kind === "said" ? state.title : state.question}</h2>
      {state.kind === "said" ? <pre>{state.text}</pre> : null}
      {state.kind === "write" && state.before !== undefined ? (
        <pre>Refused: {state.before.refusal}</pre>
      ) : null}
      {state.kind === "write" ? (
        <textarea
          ref={field}
          rows={4}
          aria-labelledby="dialog-title"
          defaultValue={state.before?.text ?? ""}
        />
      ) : null}
      <div class="buttons">
        {state.kind === "said" ? null : (
          <button
            type="button"
            onClick={() => {
              if (state.kind === "ask") state.yes();
              else state.yes(field.current?.value ?? "");
            }}
          >
            {state.kind === "ask" ? "Yes" : "Send"}
          </button>
        )}
        <button type="button" onClick={close}>
          {state.kind === "said" ? "Close" : "No"}
        </button>
      </div>
    </dialog>
  );
}
