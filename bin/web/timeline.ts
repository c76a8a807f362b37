/** Agents as lanes over a range of time: what the server makes of the trail, and what the page draws. */

/** A range of time and what happened in it. Times are wall time of this machine, in milliseconds. */
export interface Timeline {
  readonly fromMs: number;
  readonly untilMs: number;
  /** The one of which there is something first is first; agents of a session stand together. */
  readonly lanes: readonly Lane[];
  /** Whether the range has more than one answer holds: the latest is there. */
  readonly isCut: boolean;
}

/** An agent. */
export interface Lane {
  readonly id: string;
  /** Its session's id, by which rows of sessions tell more; null: a person, or Kite does not know who. */
  readonly session: string | null;
  readonly agent: string | null;
  readonly name: string;
  readonly project: string | null;
  /** Null: not in the range's lines. */
  readonly beganMs: number | null;
  readonly endedMs: number | null;
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
}

/** What spans and marks have: `n` is a number of its own, the same in every answer that tells of it. */
interface Item {
  readonly n: number;
  /** Absolute, or a resource's name. */
  readonly file: string | null;
  /** The other agent: who had the file. */
  readonly who: string | null;
  /** As `kite explain` says it. */
  readonly says: string;
  readonly why: string | null;
}

/** A lock that the agent held, or its wait for one. It may have begun before the range. */
export interface Span extends Item {
  readonly kind: "hold" | "wait";
  readonly fromMs: number;
  /** Null: it goes on. */
  readonly untilMs: number | null;
}

export const markKinds = ["denial", "end", "begin", "task", "prompt", "turn", "note"] as const;

/** Something at one time. `turn`: the agent went idle. */
export interface Mark extends Item {
  readonly kind: (typeof markKinds)[number];
  readonly atMs: number;
  readonly task: string | null;
}

export type ItemKind = Span["kind"] | Mark["kind"];

/** What the server says of a range. */
export interface TimelineReply {
  /** What the page gives with its next question, to be told only what is new. */
  readonly version: string;
  /** False: the lanes have nothing but what is new or has changed since the version that the page named. */
  readonly isWhole: boolean;
  readonly timeline: Timeline;
}

/** Returns what the page knows after a reply. What ended before the reply's range is left out. */
export function withReply(known: Timeline | null, { isWhole, timeline }: TimelineReply): Timeline {
  if (isWhole || known === null) return timeline;
  const { fromMs } = timeline;
  const lanes = [...known.lanes];
  for (const lane of timeline.lanes) {
    const at = lanes.findIndex(({ id }) => id === lane.id);
    const before = lanes[at];
    const whole = {
      ...lane,
      spans: joined(before?.spans, lane.spans),
      marks: joined(before?.marks, lane.marks),
    };
    // Agents of a session stand together.
    const mate = lanes.findLastIndex(({ session }) => session !== null && session === lane.session);
    if (before !== undefined) lanes[at] = whole;
    else lanes.splice(mate === -1 ? lanes.length : mate + 1, 0, whole);
  }
  const inRange = lanes.map(lane => ({
    ...lane,
    spans: lane.spans.filter(({ untilMs }) => untilMs === null || untilMs >= fromMs),
    marks: lane.marks.filter(({ atMs }) => atMs >= fromMs),
  }));
  return { ...timeline, lanes: inRange.filter(lane => lane.spans.length > 0 || lane.marks.length > 0) };
}

/** Both lists in the order of time, the newer form of an item in the place of the older one. */
function joined<I extends Span | Mark>(before: readonly I[] = [], after: readonly I[]): readonly I[] {
  if (after.length === 0) return before;
  const items = new Map([...before, ...after].map(item => [item.n, item]));
  return [...items.values()].sort((a, b) => startOf(a) - startOf(b));
}

/** When an item begins. */
export function startOf(item: Span | Mark): number {
  return "atMs" in item ? item.atMs : item.fromMs;
}
