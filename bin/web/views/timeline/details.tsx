/** What a person opened: who, which file, from when to when and why, and what `kite explain` says of it. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { clock, precise } from "../../../view/text.ts";
import { type Lane, startOf } from "../../timeline.ts";
import type { DeedReply } from "../../wire.ts";
import { Agent, File, RowList, Section } from "../parts.tsx";
import { type About, clean, type Page, pathText, type ViewState } from "../state.ts";
import { Icon } from "./chart.tsx";
import { aboutOf, counts, type Item, kindWords, type Stretch, sayingOf } from "./model.ts";

export interface Chosen {
  readonly lane: Lane;
  readonly items: readonly Item[];
}

interface PanelProps {
  readonly chosen: Chosen;
  readonly state: ViewState;
  readonly page: Page;
  readonly choose: (lane: Lane, items: readonly Item[]) => void;
  readonly zoom: (items: readonly Item[]) => void;
  readonly close: () => void;
}

/** Of several items that many are listed. */
const listedMax = 50;

export function Panel({ chosen: { lane, items }, state, page, choose, zoom, close }: PanelProps) {
  const panel = useRef<HTMLElement>(null);
  const before = useRef<Element | null>(null);
  const [item, ...more] = items;
  // A key that opened it goes on in it, and comes back to where it was.
  useLayoutEffect(() => {
    before.current = document.activeElement;
    panel.current?.focus({ preventScroll: true });
  }, []);
  const leave = () => {
    // It may have become part of another figure meanwhile.
    const lanes = panel.current?.closest(".timeline")?.querySelector(".lanes");
    const back = before.current?.isConnected === true ? before.current : lanes;
    if (back instanceof SVGElement || back instanceof HTMLElement) back.focus({ preventScroll: true });
    close();
  };
  if (item === undefined) return null;
  const title =
    more.length > 0
      ? `${clean(lane.name)}: ${counts(items)}`
      : `${clean(lane.name)}: ${kindWords[item.kind][0]}`;
  return (
    <section
      class="panel"
      aria-label="Details"
      ref={panel}
      tabindex={-1}
      onKeyDown={event => {
        if (event.key === "Escape") leave();
      }}
    >
      <div class="head">
        <h2>
          {more.length > 0 ? null : <Icon kind={item.kind} />} {title}
        </h2>
        <button type="button" onClick={() => zoom(items)}>
          Zoom to it
        </button>
        <button type="button" onClick={leave}>
          Close
        </button>
      </div>
      {more.length === 0 ? (
        <One item={item} lane={lane} state={state} page={page} />
      ) : (
        <Several items={items} lane={lane} nowMs={state.nowMs} choose={choose} />
      )}
    </section>
  );
}

interface SeveralProps extends Pick<PanelProps, "choose"> {
  readonly items: readonly Item[];
  readonly lane: Lane;
  readonly nowMs: number;
}

/** Several items, each of which opens. */
function Several({ items, lane, nowMs, choose }: SeveralProps) {
  return (
    <ul class="rows">
      {items.slice(0, listedMax).map(one => (
        <li key={one.n}>
          <button type="button" class="link" onClick={() => choose(lane, [one])}>
            <Icon kind={one.kind} /> {clock("atMs" in one ? one.atMs : one.fromMs, nowMs)}{" "}
            {sayingOf(one, lane)}
          </button>
        </li>
      ))}
      {items.length > listedMax ? (
        <li class="dim">{items.length - listedMax} more: zoom to see them</li>
      ) : null}
    </ul>
  );
}

interface OneProps {
  readonly item: Item;
  readonly lane: Lane;
  readonly state: ViewState;
  readonly page: Page;
}

function One({ item, lane, state, page }: OneProps) {
  const { nowMs } = state;
  const isSpan = "fromMs" in item;
  const about = aboutOf(item, lane);
  return (
    <>
      <p class="saying" role="status">
        {sayingOf(item, lane)}
      </p>
      <dl>
        <dt>Who</dt>
        <dd>
          {lane.session === null ? (
            clean(lane.name)
          ) : (
            <Agent name={lane.name} id={lane.session} agent={lane.agent} page={page} />
          )}
        </dd>
        {item.file === null ? null : (
          <>
            <dt>File</dt>
            <dd>
              <File path={item.file} state={state} page={page} />
            </dd>
          </>
        )}
        {item.who === null ? null : (
          <>
            <dt>{item.kind === "hold" ? "Before" : "Who had it"}</dt>
            <dd>
              <Agent name={item.who} id={null} agent={null} page={page} />
            </dd>
          </>
        )}
        <dt>{isSpan ? "From" : "At"}</dt>
        <dd>{clock(isSpan ? item.fromMs : item.atMs, nowMs)}</dd>
        {isSpan ? (
          <>
            <dt>Until</dt>
            <dd>
              {item.untilMs === null ? "it goes on" : clock(item.untilMs, nowMs)} (
              {precise((item.untilMs ?? nowMs) - item.fromMs)})
            </dd>
          </>
        ) : null}
        {item.why === null ? null : (
          <>
            <dt>Why</dt>
            <dd>{clean(item.why)}</dd>
          </>
        )}
      </dl>
      {about === null ? null : <Explanation about={about} n={item.n} state={state} page={page} />}
    </>
  );
}

interface ExplanationProps extends Pick<OneProps, "state" | "page"> {
  readonly about: About;
  readonly n: number;
}

/** What `kite explain` says of it now. */
function Explanation({ about, n, state, page }: ExplanationProps) {
  const [text, setText] = useState<string | null>(null);
  const { kind, name, project } = about;
  // Asked once for each item: the page is another value at each tick.
  useEffect(() => {
    let isOpen = true;
    setText(null);
    page
      .fetch<DeedReply>("explain", { kind, name, ...(project === undefined ? {} : { project }) })
      .then(reply => reply.text)
      .catch((error: Error) => error.message)
      .then(found => {
        if (isOpen) setText(found);
      });
    return () => {
      isOpen = false;
    };
  }, [kind, name, project, n]);
  return (
    <>
      <h3>
        kite explain <code>{kind === "file" ? pathText(name, state) : clean(name)}</code>
      </h3>
      {text === null ? <p class="dim">Loading…</p> : <pre>{text}</pre>}
    </>
  );
}

// The list below the lanes: the same things in words, the latest first. Of a long list only what is seen is on the page.

/** Rows of a snapshot, which has all of them on the page. */
const snapshotMax = 300;
/** Heights of a row in rem: on a narrow page it has two lines, as the sheet says. */
const rowRem = 1.75;
const narrowRowRem = 3;
const narrow = "(max-width: 44rem)";

interface Entry {
  readonly lane: Lane;
  readonly item: Item;
}

interface DecisionsProps {
  readonly lanes: readonly Lane[];
  readonly stretch: Stretch;
  readonly state: ViewState;
  readonly chosen: ReadonlySet<number>;
  readonly choose: ((lane: Lane, items: readonly Item[]) => void) | null;
}

export function Decisions({ lanes, stretch, state, chosen, choose }: DecisionsProps) {
  const { fromMs, untilMs } = stretch;
  const entries = useMemo(() => entriesIn(lanes, { fromMs, untilMs }), [lanes, fromMs, untilMs]);
  const isNarrow = useNarrow();
  return (
    <Section title="Decisions" count={entries.length}>
      {entries.length === 0 ? (
        <p class="empty">Nothing was decided in this time.</p>
      ) : (
        <RowList
          label="Decisions"
          rows={choose === null ? entries.slice(0, snapshotMax) : entries}
          rowHeight={isNarrow ? narrowRowRem : rowRem}
          isWhole={choose === null}
          keyOf={({ item }) => String(item.n)}
          render={entry =>
            choose === null ? (
              <div class="decision">
                <Words entry={entry} nowMs={state.nowMs} />
              </div>
            ) : (
              <button
                type="button"
                class={chosen.has(entry.item.n) ? "decision chosen" : "decision"}
                onClick={() => choose(entry.lane, [entry.item])}
              >
                <Words entry={entry} nowMs={state.nowMs} />
              </button>
            )
          }
        />
      )}
    </Section>
  );
}

/** Whether the page is narrow; a snapshot does not know. */
function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(false);
  useLayoutEffect(() => {
    const query = matchMedia(narrow);
    const look = () => setNarrow(query.matches);
    look();
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  }, []);
  return isNarrow;
}

function Words({ entry: { lane, item }, nowMs }: { readonly entry: Entry; readonly nowMs: number }) {
  return (
    <>
      <span class="at">{clock(startOf(item), nowMs)}</span>
      <span class="kind">
        <Icon kind={item.kind} /> {kindWords[item.kind][0]}
      </span>
      <span class="who">{clean(lane.name)}</span>
      <span class="says">{sayingOf(item, lane)}</span>
    </>
  );
}

function entriesIn(lanes: readonly Lane[], { fromMs, untilMs }: Stretch): readonly Entry[] {
  const entries = lanes.flatMap(lane => {
    const spans = lane.spans.filter(span => span.fromMs <= untilMs && (span.untilMs ?? untilMs) >= fromMs);
    const marks = lane.marks.filter(({ atMs }) => atMs >= fromMs && atMs <= untilMs);
    return [...spans, ...marks].map((item): Entry => ({ lane, item }));
  });
  return entries.sort((a, b) => startOf(b.item) - startOf(a.item) || b.item.n - a.item.n);
}
