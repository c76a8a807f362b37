/** What agents share under keys. The page has a value only while a person looks at it. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { ContextRow } from "../../../protocol/schemas/context.ts";
import type { HoldRow } from "../../../protocol/schemas/message.ts";
import { duration, escaped } from "../../../protocol/text.ts";
import { bytes, counted } from "../../view/text.ts";
import type { SharedValue } from "../wire.ts";
import { Age, Agent, Empty, File, RowList, Section } from "./parts.tsx";
import { agoMs, clean, cleanLines, type Page, projectName, type ViewProps, type ViewState } from "./state.ts";

/** Characters of a value in a list. */
const shownMax = 2_000;

export function Values({ state, page }: ViewProps) {
  const rows = [...(state.rows("context") ?? [])].sort(byKey);
  const { key: open, of, text = "" } = page?.query ?? {};
  const wanted = text.trim().toLowerCase();
  const shown = rows.filter(({ key }) => key.toLowerCase().includes(wanted));
  const row = rows.find(({ key, project }) => key === open && project === (of ?? project)) ?? null;
  return (
    <Section title="Shared values" count={rows.length}>
      {page === null || open === undefined ? null : (
        <Value key={`${of} ${open}`} state={state} page={page} row={row} name={open} />
      )}
      {rows.length === 0 ? (
        <Empty
          says="No value is shared. Agents and you share one:"
          command="kite context set api.port 4000"
        />
      ) : (
        <RowList
          label="Shared values"
          rows={shown}
          rowHeight={2.75}
          keyOf={one => `${one.project}\n${one.key}`}
          isWhole={page === null}
          render={one => <KeyLine state={state} page={page} row={one} />}
        />
      )}
      {shown.length === rows.length ? null : (
        <p class="dim">{counted(rows.length - shown.length, "other key")} without that text.</p>
      )}
    </Section>
  );
}

function byKey(a: ContextRow, b: ContextRow): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

function KeyLine({ state, page, row }: ViewProps & { readonly row: ContextRow }) {
  const { key, project, fromName, from } = row;
  const text = clean(key);
  const value = state.values?.get(`${project}\n${key}`);
  return (
    <>
      {page === null ? (
        <bdi class="what">{text}</bdi>
      ) : (
        <button
          type="button"
          class="link what"
          id={`key-${project} ${key}`}
          title={text}
          onClick={() => page.ask({ key, of: project })}
        >
          <bdi>{text}</bdi>
        </button>
      )}
      <span class="facts">
        {state.project === null ? <bdi class="dim">{projectName(project)}</bdi> : null}
        {from === null ? (
          <bdi>{clean(state.viewer.user)}</bdi>
        ) : (
          <Agent name={fromName} id={from} agent={null} page={page} />
        )}
        <span class="dim note">{factsOf(state, row)}</span>
      </span>
      {value === undefined ? null : <pre class="value">{valueText(value).slice(0, shownMax)}</pre>}
    </>
  );
}

/** Returns how old and large the value is, and when it goes, if it does. */
function factsOf(state: ViewState, row: ContextRow): string {
  const { version, at, endsInMs, leavesInMs, durable } = row;
  const facts = `version ${version}, ${bytes(row.bytes)}, ${duration(Math.max(0, state.nowMs - at))} ago`;
  const left = (ms: number) => duration(Math.max(0, ms - agoMs(state, "context", 0)));
  const ends = endsInMs === null ? "" : `, expires in ${left(endsInMs)}`;
  const leaves = leavesInMs === undefined ? "" : `, goes unread in ${left(leavesInMs)}`;
  return `${facts}${ends}${leaves}${durable ? "" : ", until the daemon ends"}`;
}

interface ValueProps extends ViewProps {
  readonly page: Page;
  /** Null: there is no such key. */
  readonly row: ContextRow | null;
  readonly name: string;
}

function Value({ state, page, row, name }: ValueProps) {
  const [text, setText] = useState<string | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const { project, key, version } = row ?? {};
  useEffect(() => heading.current?.focus(), []);
  useEffect(() => {
    if (project === undefined || key === undefined) return;
    let isGone = false;
    void page
      .fetch<SharedValue>("value", { project, key })
      .then(reply => (reply.ok ? valueText(reply.value) : clean(reply.error)))
      .catch((error: Error) => clean(error.message))
      .then(words => {
        if (!isGone) setText(words);
      });
    return () => {
      isGone = true;
    };
  }, [project, key, version]);
  const close = () => {
    page.ask({ key: null, of: null });
    document.getElementById(`key-${project} ${key}`)?.focus();
  };
  return (
    <section class="one" aria-label="Value">
      <h3 ref={heading} tabIndex={-1}>
        {clean(name)}
      </h3>
      {row === null ? (
        <p class="empty">Nothing is shared under this key: it was deleted, or it expired.</p>
      ) : null}
      {row === null ? null : <p class="dim">{factsOf(state, row)}</p>}
      {row === null ? null : text === null ? <p class="empty">Loading…</p> : <pre>{text}</pre>}
      <div class="buttons">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </section>
  );
}

/** Returns a value as JSON; characters that nobody sees are written as escapes. */
function valueText(value: unknown): string {
  return JSON.stringify(value, null, 2).split("\n").map(escaped).join("\n");
}

// Files that only one agent may edit for a while.

export function Freezes({ state, page }: ViewProps) {
  const holds = state.rows("holds") ?? [];
  return (
    <Section title="Freezes" count={holds.length}>
      {holds.length === 0 ? (
        <Empty
          says="No file is frozen. A freeze keeps others from files for a while:"
          command="kite freeze src/db/ --for 5m"
        />
      ) : (
        <ul class="rows">
          {holds.map(hold => (
            <li key={hold.hold}>
              <span class="files">
                {hold.paths.map(path => (
                  <File key={path} path={path} state={state} page={page} />
                ))}
              </span>
              <span>
                {"frozen by "}
                {hold.by === null ? (
                  <bdi>{clean(state.viewer.user)}</bdi>
                ) : (
                  <Agent name={hold.by.name} id={hold.by.id} agent={hold.by.agent} page={page} />
                )}
              </span>
              <span>
                <Age ms={Math.max(0, hold.leftMs - agoMs(state, "holds", 0))} />
                {" left"}
              </span>
              <Thaw hold={hold} page={page} />
              <span class="foreign">{cleanLines(hold.text)}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Thaw({ hold, page }: Pick<ViewProps, "page"> & { readonly hold: HoldRow }) {
  const act = page?.act ?? null;
  if (act === null) return null;
  const files = hold.files.map(clean).join(", ");
  return (
    <button
      type="button"
      aria-label={`Thaw ${files}`}
      onClick={() =>
        act({ deed: "thaw", hold: hold.hold, project: hold.project }, `End the freeze of ${files}?`)
      }
    >
      Thaw
    </button>
  );
}
