/** What spans and marks are called, and what a person is told of one. Pure. */
import { clock, counted, precise } from "../../../view/text.ts";
import type { ItemKind, Lane, Mark, Span } from "../../timeline.ts";
import { clean, pathText, type ViewState } from "../state.ts";
import type { About } from "../view.ts";

export type Item = Span | Mark;

/** Of one kind and of several. */
export const kindWords: { readonly [K in ItemKind]: readonly [one: string, several: string] } = {
  hold: ["hold", "holds"],
  wait: ["wait", "waits"],
  denial: ["denial", "denials"],
  prompt: ["prompt", "prompts"],
  task: ["task", "tasks"],
  turn: ["idle", "idle"],
  begin: ["begin", "begins"],
  end: ["end", "ends"],
  note: ["note", "notes"],
};

/** Times in words, as of now. */
function timesOf(item: Item, nowMs: number): string {
  if ("atMs" in item) return clock(item.atMs, nowMs);
  const { fromMs, untilMs } = item;
  const lasted = precise((untilMs ?? nowMs) - fromMs);
  return untilMs === null
    ? `since ${clock(fromMs, nowMs)}, for ${lasted}`
    : `${clock(fromMs, nowMs)} to ${clock(untilMs, nowMs)}, ${lasted}`;
}

/** Returns what happened in a sentence; a hook's event has none of its own. */
export function sayingOf(item: Item, lane: Pick<Lane, "name">): string {
  if (item.says !== "") return clean(item.says);
  const name = clean(lane.name);
  if (item.kind === "prompt") return `${name} was given a prompt.`;
  if (item.kind === "turn") return `${name} went idle.`;
  return `${name}'s work ended.`;
}

/** Returns the name by which a figure is known to those who do not see it. */
export function labelOf(items: readonly Item[], lane: Lane, state: ViewState): string {
  const [first] = items;
  if (first === undefined) return "";
  if (items.length > 1) return `${items.length} together: ${counts(items)}, ${spanText(items, state.nowMs)}`;
  const when = timesOf(first, state.nowMs);
  const file = first.file === null ? "" : pathText(first.file, state);
  if (first.kind === "hold") return `${clean(lane.name)} held ${file}: ${when}`;
  if (first.kind !== "wait") return `${kindWords[first.kind][0]}: ${sayingOf(first, lane)} ${when}`;
  const behind = first.who === null ? "" : `, which ${clean(first.who)} had`;
  return `${clean(lane.name)} waited for ${file}${behind}: ${when}`;
}

/** `2 waits, 1 hold`. */
export function counts(items: readonly Item[]): string {
  const kinds = [...new Set(items.map(({ kind }) => kind))];
  return kinds
    .map(kind => counted(items.filter(item => item.kind === kind).length, kindWords[kind][0]))
    .map(text => text.replace(/idles$/, "idle"))
    .join(", ");
}

function spanText(items: readonly Item[], nowMs: number): string {
  const { fromMs, untilMs } = extentOf(items, nowMs);
  return `${clock(fromMs, nowMs)} to ${clock(untilMs, nowMs)}`;
}

/** The time from the first of them to the end of the last. */
export function extentOf(items: readonly Item[], nowMs: number) {
  let [fromMs, untilMs] = [Number.POSITIVE_INFINITY, 0];
  for (const item of items) {
    const [begin, end] = "atMs" in item ? [item.atMs, item.atMs] : [item.fromMs, item.untilMs ?? nowMs];
    fromMs = Math.min(fromMs, begin);
    untilMs = Math.max(untilMs, end);
  }
  return { fromMs, untilMs };
}

/** What `kite explain` is asked about it; null: it is about no file, task or agent. */
export function aboutOf(item: Item, lane: Lane): About | null {
  const within = lane.project === null ? {} : { project: lane.project };
  if (item.file !== null) return { kind: "file", name: item.file, ...within };
  if ("task" in item && item.task !== null) return { kind: "task", name: item.task, ...within };
  return lane.session === null ? null : { kind: "agent", name: lane.name, ...within };
}
