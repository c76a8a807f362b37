/** The figures of the timeline: each kind has a shape of its own besides its colour. */
import type { ItemKind } from "../../timeline.ts";

/** Paths around a middle at 0, 0; 12 wide at most. */
const paths: { readonly [K in ItemKind]: string } = {
  hold: "M-8 -5h16v10h-16z",
  wait: "M-8 -4h16v8h-16z",
  // A cross.
  denial: "M-5 -3L-3 -5L0 -2L3 -5L5 -3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0z",
  // A triangle that points to what follows.
  prompt: "M-4 -5L5 0L-4 5z",
  task: "M0 -6L5 0L0 6L-5 0z",
  // A ring.
  turn: "M0 -4a4 4 0 1 0 0.01 0zM0 -2a2 2 0 1 1 -0.01 0z",
  begin: "M-3 -6h7v3h-4v6h4v3h-7z",
  end: "M-5 -5h10v10h-10z",
  note: "M0 -3a3 3 0 1 0 0.01 0z",
};

/** A shape whose middle is at 0, 0 of what stands around it. */
export function Shape({ kind }: { readonly kind: ItemKind }) {
  return <path class={`shape ${kind}`} d={paths[kind]} />;
}

/** The shape beside a word. */
export function Icon({ kind }: { readonly kind: ItemKind }) {
  return (
    <svg class="icon" viewBox="-9 -7 18 14" width="18" height="14" aria-hidden="true">
      <Shape kind={kind} />
    </svg>
  );
}
