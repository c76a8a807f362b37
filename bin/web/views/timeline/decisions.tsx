/** The list below the lanes: the same things in words, the latest first. Of a long list only what is seen is on the page. */
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { clock } from "../../../view/text.ts";
import { type Lane, startOf } from "../../timeline.ts";
import { Section } from "../parts.tsx";
import { RowList } from "../row-list.tsx";
import { clean, type ViewState } from "../state.ts";
import type { Stretch } from "./layout.ts";
import { Icon } from "./shapes.tsx";
import { type Item, kindWords, sayingOf } from "./words.ts";

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
