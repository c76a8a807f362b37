/** Keeps the timeline of a page up to date: asks the server for what is not there yet, and for what is new. */
import { useEffect, useRef, useState } from "preact/hooks";
import { bounds } from "../../bounds.ts";
import { type Timeline, type TimelineReply, withReply } from "../../timeline.ts";
import type { ViewState } from "../state.ts";
import type { Page } from "../view.ts";
import type { Stretch } from "./layout.ts";

/** A range that reaches now is asked for again so often, as most things have no event. */
const everyMs = 4_000;
/** Least time between two questions. */
const leastMs = 1_000;

interface Known {
  readonly project: string | null;
  readonly timeline: Timeline;
  readonly version: string;
  /** Whether it reaches now, and is to be kept up to date. */
  readonly isLive: boolean;
}

export interface Loaded {
  /** Null: nothing came yet. */
  readonly timeline: Timeline | null;
  /** Why the latest question failed. */
  readonly trouble: string | null;
}

/** Follows the stretch; `isLive`: it reaches now. */
export function useTimeline(page: Page, state: ViewState, stretch: Stretch, isLive: boolean): Loaded {
  const [loaded, setLoaded] = useState<Loaded>({ timeline: null, trouble: null });
  const known = useRef<Known | null>(null);
  const asked = useRef({ atMs: 0, events: 0, stretch: "", isRunning: false });
  const { project, nowMs } = state;
  const events = state.lookedAt("sessions") + state.lookedAt("locks") + state.lookedAt("refusals");
  const { fromMs, untilMs } = stretch;

  useEffect(() => {
    const last = asked.current;
    // A tab that nobody sees is brought up to date when it is seen.
    if (last.isRunning || (document.hidden && known.current !== null)) return;
    const now = Date.now();
    const name = `${project} ${fromMs} ${untilMs} ${isLive}`;
    const isThere = covers(known.current, project, stretch, isLive);
    const isDue = isLive && (events !== last.events || now - last.atMs >= everyMs);
    // A range that the server cannot give whole is asked for once.
    if (isThere ? !isDue : name === last.stretch && !isDue) return;
    if (name === last.stretch && now - last.atMs < leastMs) return;
    asked.current = { atMs: now, events, stretch: name, isRunning: true };
    const question = questionOf(known.current, { project, stretch, isLive, isThere });
    page
      .fetch<TimelineReply>("timeline", question)
      .then(reply => {
        const before = question["version"] === undefined ? null : (known.current?.timeline ?? null);
        const timeline = withReply(before, reply);
        known.current = { project, timeline, version: reply.version, isLive };
        setLoaded({ timeline, trouble: null });
      })
      .catch((error: Error) => setLoaded(before => ({ ...before, trouble: error.message })))
      .finally(() => {
        asked.current = { ...asked.current, isRunning: false };
      });
    // The clock of the page ticks: what was too soon is looked at again.
  }, [page, project, fromMs, untilMs, isLive, events, nowMs, stretch, loaded]);
  return known.current?.project === project || loaded.timeline === null
    ? loaded
    : { ...loaded, timeline: null };
}

function covers(known: Known | null, project: string | null, stretch: Stretch, isLive: boolean): boolean {
  if (known === null || known.project !== project) return false;
  const { fromMs, untilMs } = known.timeline;
  return fromMs <= stretch.fromMs && (isLive ? known.isLive : untilMs >= stretch.untilMs);
}

interface Wish {
  readonly project: string | null;
  readonly stretch: Stretch;
  readonly isLive: boolean;
  readonly isThere: boolean;
}

function questionOf(
  known: Known | null,
  { project, stretch, isLive, isThere }: Wish,
): Record<string, string> {
  const { fromMs, untilMs } = stretch;
  const within = project === null ? {} : { project };
  if (isLive) {
    const version = isThere && known !== null ? { version: known.version } : {};
    return { ...within, ...version, from: String(fromMs) };
  }
  // Some room at both sides, into which a person moves next.
  const roomMs = Math.min(untilMs - fromMs, (bounds.rangeMs - (untilMs - fromMs)) / 2);
  const [from, until] = [Math.max(0, Math.floor(fromMs - roomMs)), Math.floor(untilMs + roomMs)];
  return { ...within, from: String(from), until: String(until) };
}
