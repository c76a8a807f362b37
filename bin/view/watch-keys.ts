/** The keys of `kite watch`: what one keystroke changes in what is shown. */

/** What the screen shows. */
export interface WatchMode {
  /** `filter`: a text is being typed; `agent`: one session fills the screen. */
  readonly at: "all" | "filter" | "agent" | "help";
  /** Rows of sessions, locks and news without this text are left out; empty: none. */
  readonly filter: string;
  /** All projects in full, not only the working directory's. */
  readonly isAll: boolean;
  /** The position of the chosen session, the most urgent one is 0. */
  readonly chosen: number;
}

export const firstMode: WatchMode = { at: "all", filter: "", isAll: false, chosen: 0 };

export const keysHelp: readonly (readonly [keys: string, does: string])[] = [
  ["q, Ctrl-C", "end"],
  ["/", "show only rows with a text; Enter keeps it, Esc clears it"],
  ["p", "all projects, or the one of the working directory"],
  ["up, down", "choose a session"],
  ["Enter", "show the chosen session alone; Enter or Esc goes back"],
  ["?", "these keys"],
];

const filterMax = 40;
const backspace = new Set(["\u007f", "\b"]);

/** Returns what the screen shows after a key, or null if the watch ends. `count`: how many sessions can be chosen. */
export function afterKey(mode: WatchMode, key: string, count: number): WatchMode | null {
  if (key === "\u0003") return null;
  if (mode.at === "filter") return afterFilterKey(mode, key);
  switch (key) {
    case "q":
      return null;
    case "/":
      return { ...mode, at: "filter", filter: "" };
    case "p":
      return { ...mode, isAll: !mode.isAll, chosen: 0 };
    case "?":
      return { ...mode, at: mode.at === "help" ? "all" : "help" };
    case "\r":
    case "\n":
      return { ...mode, at: mode.at === "all" && count > 0 ? "agent" : "all" };
    case "\u001b":
      return mode.at === "all" ? { ...mode, filter: "" } : { ...mode, at: "all" };
    case "\u001b[A":
    case "k":
      return { ...mode, chosen: Math.max(0, mode.chosen - 1) };
    case "\u001b[B":
    case "j":
      return { ...mode, chosen: Math.max(0, Math.min(count - 1, mode.chosen + 1)) };
    default:
      return mode;
  }
}

function afterFilterKey(mode: WatchMode, key: string): WatchMode {
  if (key === "\r" || key === "\n") return { ...mode, at: "all", chosen: 0 };
  if (key === "\u001b") return { ...mode, at: "all", filter: "" };
  if (backspace.has(key)) return { ...mode, filter: [...mode.filter].slice(0, -1).join("") };
  const isText = /^[^\p{Cc}]+$/u.test(key);
  return isText ? { ...mode, filter: (mode.filter + key).slice(0, filterMax) } : mode;
}
