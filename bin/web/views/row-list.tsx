/** A long list in a box that scrolls. Only the rows in sight and a few around them are in the page. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface RowListProps<T> {
  /** What the list is of. */
  readonly label: string;
  readonly rows: readonly T[];
  /** The height of every row, in rem. */
  readonly rowHeight: number;
  readonly keyOf: (row: T) => string;
  readonly render: (row: T) => ComponentChildren;
  /** Shows all rows without a box: a snapshot has no program that would follow its scrolling. */
  readonly isWhole?: boolean;
}

/** Rows beyond each edge of the box, so that Tab finds the next one, and by how many rows they move on. */
const beyondMax = 12;
const stepMax = 6;
/** Rows in the page before the box was measured. */
const unmeasuredMax = 40;

/** Renders at most the rows of one screen and `2 * beyondMax` more, however many there are. */
export function RowList<T>({ label, rows, rowHeight, keyOf, render, isWhole = false }: RowListProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [first, setFirst] = useState(0);
  const [count, setCount] = useState(unmeasuredMax);
  const measure = () => {
    if (box.current === null || list.current === null) return;
    const rowPixels = list.current.offsetHeight / Math.max(1, rows.length);
    if (rowPixels === 0) return;
    const top = Math.floor(box.current.scrollTop / rowPixels);
    setFirst(Math.max(0, top - (top % stepMax) - beyondMax));
    setCount(Math.ceil(box.current.clientHeight / rowPixels) + stepMax + 2 * beyondMax);
  };
  const isEmpty = rows.length === 0;
  useLayoutEffect(() => {
    if (isWhole || isEmpty || box.current === null) return;
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isWhole, isEmpty, rows.length]);
  if (isWhole)
    return (
      <ul class="rows" aria-label={label}>
        {rows.map(row => (
          <li key={keyOf(row)}>{render(row)}</li>
        ))}
      </ul>
    );
  const from = Math.min(first, Math.max(0, rows.length - count));
  return (
    <div ref={box} class="row-list" onScroll={measure}>
      <ul ref={list} aria-label={label} style={{ height: `${rows.length * rowHeight}rem` }}>
        {rows.slice(from, from + count).map((row, n) => (
          <li
            key={keyOf(row)}
            aria-setsize={rows.length}
            aria-posinset={from + n + 1}
            style={{ top: `${(from + n) * rowHeight}rem`, height: `${rowHeight}rem` }}
          >
            {render(row)}
          </li>
        ))}
      </ul>
    </div>
  );
}
