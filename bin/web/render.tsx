/**
 * What a page of all views shows without a program. It is built with the page of the browser, of which it shares nearly
 * all. The command loads it as a program of its own; it knows nothing of the command's modules.
 */

import { renderToStaticMarkup } from "preact-render-to-string";
import { setPerson } from "../../protocol/names.ts";
import { views } from "./views/list.ts";
import { ViewTitle } from "./views/parts.tsx";
import { clean, projectName, type ViewState } from "./views/state.ts";
import type { Topic } from "./wire.ts";

/** What the views show. */
export const topics: readonly Topic[] = [...new Set(views.flatMap(view => view.topics))];

/** Returns the title and the body as HTML. `left`: what is left out, in half a sentence; empty: nothing. */
export function rendered(state: ViewState, left: string): { readonly title: string; readonly body: string } {
  const { project, version, nowMs, viewer } = state;
  setPerson(viewer.user);
  const of = project === null ? "all projects" : projectName(project);
  const at = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  const body = renderToStaticMarkup(
    <>
      <header>
        <nav aria-label="Views">
          {views.map(({ path, title }) => (
            <a key={path} href={`#${path}`}>
              {title}
            </a>
          ))}
        </nav>
        <span>
          {of}, {at}
        </span>
        <span class="dim version">Kite {clean(version)}</span>
      </header>
      <main>
        {left === "" ? null : <p class="dim">This is a snapshot without {left}.</p>}
        {views.map(({ path, title, Body }) => (
          <article key={path} id={path} class="view">
            <h1>{title}</h1>
            <ViewTitle.Provider value={title}>
              <Body state={state} page={null} />
            </ViewTitle.Provider>
          </article>
        ))}
      </main>
    </>,
  );
  return { title: renderToStaticMarkup(<title>{`Kite, ${of}, ${at}`}</title>), body };
}
