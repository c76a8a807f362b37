/** What a person opened: who, which file, from when to when and why, and what `kite explain` says of it. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clock, precise } from "../../../view/text.ts";
import type { Lane } from "../../timeline.ts";
import type { DeedReply } from "../../wire.ts";
import { Agent, File } from "../parts.tsx";
import { clean, pathText, type ViewState } from "../state.ts";
import type { About, Page } from "../view.ts";
import { Icon } from "./shapes.tsx";
import { aboutOf, counts, type Item, kindWords, sayingOf } from "./words.ts";

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
        <ul class="rows">
          {items.slice(0, listedMax).map(one => (
            <li key={one.n}>
              <button type="button" class="link" onClick={() => choose(lane, [one])}>
                <Icon kind={one.kind} /> {clock("atMs" in one ? one.atMs : one.fromMs, state.nowMs)}{" "}
                {sayingOf(one, lane)}
              </button>
            </li>
          ))}
          {items.length > listedMax ? (
            <li class="dim">{items.length - listedMax} more: zoom to see them</li>
          ) : null}
        </ul>
      )}
    </section>
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
