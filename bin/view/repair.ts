/** The output of `kite repair`. */
import type { Salvage } from "../../daemon/engine/salvage.ts";
import { counted, paragraphs, type Screen } from "./text.ts";

/** What is saved, counted. */
export interface Saved {
  readonly tasks: number;
  readonly context: number;
  readonly messages: number;
  readonly sessions: number;
  readonly locks: number;
}

export function savedOf({ state }: Pick<Salvage, "state">): Saved {
  return {
    tasks: state?.tasks.all.size ?? 0,
    context: state?.context.items.size ?? 0,
    messages: state?.messages.all.size ?? 0,
    sessions: state?.sessions.live.size ?? 0,
    locks: state?.locks.holds.size ?? 0,
  };
}

/** By the beginning of a command's type: what people call it. */
const nouns: readonly (readonly [string, string])[] = [
  ["task", "change of tasks"],
  ["context", "change of the context"],
  ["message", "message or its delivery"],
  ["lock", "step of a lock"],
  ["session", "step of a session"],
];

/** Says what is damaged, what can be saved and what is lost. */
export function repairLines(damage: string, saved: Salvage, copy: string, screen: Screen): string[] {
  const { tasks, context, messages, sessions, locks } = savedOf(saved);
  const can = [
    counted(tasks, "task"),
    counted(context, "context value"),
    counted(messages, "message"),
    counted(sessions, "session"),
    counted(locks, "lock"),
  ].join(", ");
  const text = [
    `${(damage.split(". ")[0] ?? damage).replace(/^the/, "The")}.`,
    saved.state === null ? "Nothing can be saved; Kite begins with an empty store." : `Can be saved: ${can}.`,
    ...(saved.isPartial ? ["These come from a damaged copy of the state: some of them may be missing."] : []),
    lostLine(saved),
    `The damaged files are kept in ${copy}`,
  ];
  return paragraphs(text.join("\n"), screen.width);
}

function lostLine({ lostEntries, readable }: Salvage): string {
  if (lostEntries === 0) return "No stored change is lost.";
  const lost = `Lost: at least ${counted(lostEntries, "stored change")}.`;
  const idle = [...readable.values()].reduce((sum, n) => sum + n, 0);
  if (idle === 0) return lost;
  const kinds = nouns.flatMap(([prefix, noun]) => {
    const count = [...readable].reduce((sum, [type, n]) => (type.startsWith(prefix) ? sum + n : sum), 0);
    return count === 0 ? [] : [`${count} × ${noun}`];
  });
  const among = kinds.length === 0 ? "" : ` (among them ${kinds.join(", ")})`;
  return `${lost} Of those behind them ${counted(idle, "change")}${among} had no effect: most build on what is lost.`;
}
