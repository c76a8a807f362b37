/** A page that shows all views without a program: one file, which asks for nothing when it is opened. */
import { createHash } from "node:crypto";
import { renderToStaticMarkup } from "preact-render-to-string";
import { ViewTitle } from "../views/parts.tsx";
import { clean, projectName, type ViewState } from "../views/state.ts";
import type { View } from "../views/view.ts";

interface Snapshot {
  readonly views: readonly View[];
  readonly state: ViewState;
  /** The page's own style sheet. */
  readonly css: string;
  /** What is left out, in half a sentence; empty: nothing. */
  readonly left: string;
}

/** Returns the file's text. */
export function pageOf({ views, state, css, left }: Snapshot): string {
  const { project, version, nowMs } = state;
  const of = project === null ? "all projects" : projectName(project);
  const at = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  // The sheet's own text alone is let in: what an agent wrote cannot add a style, an image or an address.
  const sheet = createHash("sha256").update(css).digest("base64");
  const policy = `default-src 'none'; style-src 'sha256-${sheet}'; base-uri 'none'; form-action 'none'`;
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
  const title = renderToStaticMarkup(<title>{`Kite, ${of}, ${at}`}</title>);
  return [
    "<!doctype html>",
    '<html lang="en">',
    '<head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `${title}<style>${css}</style></head>`,
    `<body>${body}</body>`,
    "</html>\n",
  ].join("\n");
}
