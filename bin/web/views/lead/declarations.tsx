/** What agents declared that they would do, and the files that two of them declared. */
import type { DeclarationRow, DeclaredFileRow } from "../../../../protocol/schemas/declaration.ts";
import { summaryOf } from "../../../view/declarations.ts";
import { counted } from "../../../view/text.ts";
import { Agent, Empty, File, Section } from "../parts.tsx";
import type { ViewProps } from "../state.ts";
import { agoText, clean, projectName } from "../state.ts";

const declarationsShownMax = 100;
const overlapsShownMax = 20;
const overlapsFoundMax = 500;
const filesShownMax = 20;

type DeclarationsProps = ViewProps & { readonly declarations: readonly DeclarationRow[] };

export function Declarations({ declarations, state, page }: DeclarationsProps) {
  const latest = [...declarations].sort((a, b) => b.updatedAt - a.updatedAt);
  const shown = latest.slice(0, declarationsShownMax);
  if (shown.length === 0)
    return (
      <Empty says="No agent declared anything. An agent does with its tool, or:" command="kite declare" />
    );
  return (
    <Section title="Declarations" count={declarations.length}>
      <Overlaps declarations={latest} state={state} page={page} />
      <ul class="declarations">
        {shown.map(one => (
          <li key={`${one.id}/${one.agent}`}>
            <Agent name={one.name} id={one.id} agent={one.agent} page={pageOf(one, page)} />
            {`: ${clean(summaryOf(one))} `}
            <span class="dim">
              {agoText(state, one.updatedAt)}
              {state.project === null ? ` in ${projectName(one.project)}` : ""}
            </span>
            {one.mismatches.map(text => (
              <div key={text} class="state-waits">
                {clean(text)}
              </div>
            ))}
            <Details declaration={one} state={state} page={page} />
          </li>
        ))}
      </ul>
      {latest.length === shown.length ? null : (
        <p class="dim">
          and {counted(latest.length - shown.length, "declaration")} more: <code>kite declare --show</code>
        </p>
      )}
    </Section>
  );
}

/** Of an agent of another machine there is nothing to explain here. */
function pageOf({ machine }: DeclarationRow, page: ViewProps["page"]): ViewProps["page"] {
  return machine === undefined ? page : null;
}

function Details({ declaration, state, page }: ViewProps & { readonly declaration: DeclarationRow }) {
  const { reason, plan, files, uncertainties } = declaration;
  const open = uncertainties.filter(({ resolved }) => !resolved);
  if (reason === "" && plan.length + files.length + open.length === 0) return null;
  return (
    <details open={page === null}>
      <summary>Plan and files</summary>
      {reason === "" ? null : <p>{clean(reason)}</p>}
      {plan.length === 0 ? null : (
        <ol>
          {plan.map(step => (
            <li key={step}>{clean(step)}</li>
          ))}
        </ol>
      )}
      {files.length === 0 ? null : (
        <ul>
          {files.slice(0, filesShownMax).map(file => (
            <li key={file.path}>
              <File path={file.path} state={state} page={page} />
              {file.touched ? " (changed)" : ""}
              {file.will === "" ? "" : `: ${clean(file.will)}`}
            </li>
          ))}
          {files.length <= filesShownMax ? null : (
            <li>and {counted(files.length - filesShownMax, "file")} more</li>
          )}
        </ul>
      )}
      {open.map(({ question }) => (
        <p key={question}>Not sure: {clean(question)}</p>
      ))}
    </details>
  );
}

function Overlaps({ declarations, state, page }: DeclarationsProps) {
  const overlaps = overlapsOf(declarations);
  if (overlaps.length === 0) return null;
  return (
    <>
      <h3>Declared by two agents</h3>
      <ul class="rows">
        {overlaps.slice(0, overlapsShownMax).map(({ path, sides }) => (
          <li key={`${path}\n${sides.map(({ id, agent }) => `${id}/${agent}`).join()}`} class="dispute">
            <File path={path} state={state} page={page} />
            {sides.map(side => (
              <Agent
                key={`${side.id}/${side.agent}`}
                name={side.name}
                id={side.id}
                agent={side.agent}
                page={pageOf(side, page)}
              />
            ))}
          </li>
        ))}
      </ul>
      {overlaps.length <= overlapsShownMax ? null : (
        <p class="dim">and {counted(overlaps.length - overlapsShownMax, "overlap")} more</p>
      )}
    </>
  );
}

interface DeclaredOverlap {
  readonly path: string;
  readonly sides: readonly [DeclarationRow, DeclarationRow];
}

/**
 * Returns the files that agents of two sessions declared: the same file, or a file in a folder of the other. Agents of one
 * session work for each other, as far as their rows tell.
 */
export function overlapsOf(declarations: readonly DeclarationRow[]): readonly DeclaredOverlap[] {
  const declared = declarations.flatMap(by => by.files.map(file => ({ by, file, path: plainPath(file) })));
  const byPath = new Map<string, number[]>();
  for (const [n, { path }] of declared.entries()) byPath.set(path, [...(byPath.get(path) ?? []), n]);
  const found: DeclaredOverlap[] = [];
  for (const [n, { by, file, path }] of declared.entries()) {
    for (let at = path; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
      for (const m of byPath.get(at) ?? []) {
        const other = declared[m];
        if (other === undefined || other.by.id === by.id || other.by.project !== by.project) continue;
        // Of one file the later one finds the earlier one, of a folder what is in it.
        if (at === path ? m >= n : !other.file.dir) continue;
        found.push({ path: file.path, sides: [by, other.by] });
        if (found.length === overlapsFoundMax) return found;
      }
    }
  }
  return found;
}

function plainPath({ path }: DeclaredFileRow): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
