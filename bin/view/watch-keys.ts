/** The keys of `kite watch`: what one keystroke changes in what is shown. */

/** What the screen shows. */
export interface WatchMode {
  /** `filter`: a text is being typed; `agent`: one session fills the screen. */
  readonly at: "all" | "filter" | "agent" | "help";
  /** Rows of sessions, locks and news without this text are left out; empty: none. */
  readonly filter: string;
  /** All projects in full, not only the working directory's. */
  readonly isAll: boolean;
  /** The id of the chosen session; null: the first one, until a screen has shown it. */
  readonly chosen: string | null;
  /** The row in which the chosen session last stood. */
  readonly row: number;
}

export const firstMode: WatchMode = { at: "all", filter: "", isAll: false, chosen: null, row: 0 };

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

/**
 * Returns what the screen shows of other rows: the same session is chosen, wherever it stands now. If it has no row, the
 * one in its place is chosen; if it ended (`isLive`), its own screen ends, too.
 */
export function following(
  mode: WatchMode,
  rows: readonly string[],
  isLive: (id: string) => boolean,
): WatchMode {
  const { at, chosen } = mode;
  if (at === "agent" && chosen !== null && isLive(chosen)) return mode;
  const row = rows.indexOf(chosen ?? "");
  const next = at === "agent" ? { ...mode, at: "all" as const } : mode;
  return row === -1 ? chosenAt(next, mode.row, rows) : { ...next, row };
}

function chosenAt(mode: WatchMode, wanted: number, rows: readonly string[]): WatchMode {
  const row = Math.max(0, Math.min(rows.length - 1, wanted));
  return { ...mode, chosen: rows[row] ?? null, row };
}

/** Returns what the screen shows after a key, or null if the watch ends. `rows`: the sessions that can be chosen. */
export function afterKey(mode: WatchMode, key: string, rows: readonly string[]): WatchMode | null {
  if (key === "\u0003") return null;
  if (mode.at === "filter") return afterFilterKey(mode, key);
  switch (key) {
    case "q":
      return null;
    case "/":
      return { ...mode, at: "filter", filter: "" };
    case "p":
      return { ...mode, isAll: !mode.isAll };
    case "?":
      return { ...mode, at: mode.at === "help" ? "all" : "help" };
    case "\r":
    case "\n":
      return { ...mode, at: mode.at === "all" && rows.length > 0 ? "agent" : "all" };
    case "\u001b":
      return mode.at === "all" ? { ...mode, filter: "" } : { ...mode, at: "all" };
    case "\u001b[A":
    case "k":
      return chosenAt(mode, mode.row - 1, rows);
    case "\u001b[B":
    case "j":
      return chosenAt(mode, mode.row + 1, rows);
    default:
      return mode;
  }
}

function afterFilterKey(mode: WatchMode, key: string): WatchMode {
  if (key === "\r" || key === "\n") return { ...mode, at: "all" };
  if (key === "\u001b") return { ...mode, at: "all", filter: "" };
  if (backspace.has(key)) return { ...mode, filter: [...mode.filter].slice(0, -1).join("") };
  const isText = /^[^\p{Cc}]+$/u.test(key);
  return isText ? { ...mode, filter: (mode.filter + key).slice(0, filterMax) } : mode;
}
