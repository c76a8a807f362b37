/** The keys of `kite watch`: what one keystroke changes in what is shown, and what it does to the chosen session. */

import { textOfKey } from "../keys.ts";

/** What a key does to the chosen session: a command line, run as a person types it. */
export interface Action {
  readonly key: string;
  readonly does: string;
  /** Returns the words of the command; `who` means the session, `text` is what the person typed. */
  readonly words: (who: string, text: string) => readonly string[];
  /** It changes something, so the person is asked first: the question about the session `name`. */
  readonly asks?: (name: string) => string;
  /** The person types a text first, and sends it. */
  readonly isTyped?: true;
  /** The command would begin a program of its own at a terminal, as a pager. */
  readonly isPiped?: true;
}

const table = {
  explain: {
    key: "e",
    does: "explain it: what it holds, waits for and was refused",
    words: who => ["explain", "--agent", who],
  },
  diff: {
    key: "d",
    does: "show what it changed and has not committed",
    words: who => ["diff", "--", who],
    isPiped: true,
  },
  message: {
    key: "m",
    does: "write it a message",
    words: (who, text) => ["message", "send", "--", who, text],
    isTyped: true,
  },
  go: { key: "g", does: "go to its terminal in tmux, or say where it is", words: who => ["go", "--", who] },
  release: {
    key: "r",
    does: "give back its tasks and edit locks",
    words: who => ["release", "--", who],
    asks: name => `give back what ${name} has`,
  },
  off: {
    key: "o",
    does: "let all of its edits through for an hour",
    words: who => ["off", `--session=${who}`, "--for", "1h"],
    asks: name => `let edits of ${name} through for 1 h`,
  },
} as const satisfies Readonly<Record<string, Action>>;

export type ActionName = keyof typeof table;
export const actions: Readonly<Record<ActionName, Action>> = table;

const actionNames = Object.keys(table) as ActionName[];

/** What the screen shows. */
export interface WatchMode {
  /**
   * `filter`: a text is being typed; `agent`: one session fills the screen; `page`: what a command said; `message`: a message
   * to the chosen session is being typed; `confirm`: `action` waits for a yes.
   */
  readonly at: "all" | "filter" | "agent" | "help" | "page" | "message" | "confirm";
  /** Rows of sessions, locks and news without this text are left out; empty: none. */
  readonly filter: string;
  /** All projects in full, not only the working directory's. */
  readonly isAll: boolean;
  /** The id of the chosen session; null: the first one, until a screen has shown it. */
  readonly chosen: string | null;
  /** The row in which the chosen session last stood. */
  readonly row: number;
  /** The message as far as it is typed. */
  readonly text: string;
  /** The action that is asked about or typed for; with `isDue` it is to be done now. */
  readonly action: ActionName | null;
  readonly isDue: boolean;
  /** The first line of the page that is shown. */
  readonly top: number;
}

export const firstMode: WatchMode = {
  at: "all",
  filter: "",
  isAll: false,
  chosen: null,
  row: 0,
  text: "",
  action: null,
  isDue: false,
  top: 0,
};

export const keysHelp: readonly (readonly [keys: string, does: string])[] = [
  ["q, Ctrl-C", "end"],
  ["/", "show only rows with a text; Enter keeps it, Esc clears it"],
  ["p", "all projects, or the one of the working directory"],
  ["up, down", "choose a session; on a page: scroll"],
  ["Enter", "show the chosen session alone; Enter or Esc goes back"],
  ...actionNames.map(name => [actions[name].key, actions[name].does] as const),
  ["?", "these keys"],
];

const filterMax = 40;
const messageMax = 1_000;
const backspace = new Set(["\u007f", "\b"]);

/**
 * Returns what the screen shows of other rows: the same session is chosen, wherever it stands now. If it has no row, the
 * one in its place is chosen; if it ended (`isLive`), what was about it alone ends, too: its screen, a message, a question.
 */
export function following(
  mode: WatchMode,
  rows: readonly string[],
  isLive: (id: string) => boolean,
): WatchMode {
  const { at, chosen } = mode;
  const isAboutOne = at === "agent" || at === "message" || at === "confirm";
  if (at === "page" || (isAboutOne && chosen !== null && isLive(chosen))) return mode;
  const row = rows.indexOf(chosen ?? "");
  const next = isAboutOne ? { ...mode, at: "all" as const, action: null, text: "" } : mode;
  return row === -1 ? chosenAt(next, mode.row, rows) : { ...next, row };
}

function chosenAt(mode: WatchMode, wanted: number, rows: readonly string[]): WatchMode {
  const row = Math.max(0, Math.min(rows.length - 1, wanted));
  return { ...mode, chosen: rows[row] ?? null, row };
}

/** Returns what the screen shows after a key, or null if the watch ends. `rows`: the sessions that can be chosen. */
export function afterKey(mode: WatchMode, key: string, rows: readonly string[]): WatchMode | null {
  if (key === "\u0003") return null;
  switch (mode.at) {
    case "filter":
      return afterFilterKey(mode, key);
    case "message":
      return afterMessageKey(mode, key);
    case "confirm":
      // Any other key is a no.
      return key === "y" ? { ...mode, at: "all", isDue: true } : { ...mode, at: "all", action: null };
    case "page":
      return afterPageKey(mode, key);
    default:
      return afterScreenKey(mode, key, rows);
  }
}

function afterScreenKey(mode: WatchMode, key: string, rows: readonly string[]): WatchMode | null {
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
      return mode.at === "help" || mode.chosen === null ? mode : begun(mode, key);
  }
}

/** Begins the action of the key: it is due, or asks, or is typed first. */
function begun(mode: WatchMode, key: string): WatchMode {
  const name = actionNames.find(one => actions[one].key === key);
  if (name === undefined) return mode;
  const { asks, isTyped } = actions[name];
  if (isTyped === true) return { ...mode, at: "message", action: name, text: "" };
  return asks === undefined
    ? { ...mode, action: name, text: "", isDue: true }
    : { ...mode, at: "confirm", action: name, text: "" };
}

function afterPageKey(mode: WatchMode, key: string): WatchMode | null {
  switch (key) {
    case "q":
      return null;
    case "\u001b":
    case "\r":
    case "\n":
      return { ...mode, at: "all", top: 0 };
    case "\u001b[A":
    case "k":
      return { ...mode, top: Math.max(0, mode.top - 1) };
    case "\u001b[B":
    case "j":
      return { ...mode, top: mode.top + 1 };
    case " ":
      return { ...mode, top: mode.top + pageStep };
    case "b":
      return { ...mode, top: Math.max(0, mode.top - pageStep) };
    default:
      return mode;
  }
}

/** Lines by which a page moves at once; a small screen shows as many. */
const pageStep = 10;

function afterMessageKey(mode: WatchMode, key: string): WatchMode {
  const isEmpty = mode.text.trim() === "";
  if (key === "\r" || key === "\n")
    return isEmpty ? { ...mode, at: "all", action: null } : { ...mode, at: "all", isDue: true };
  if (key === "\u001b") return { ...mode, at: "all", action: null, text: "" };
  return { ...mode, text: typed(mode.text, key, messageMax) };
}

function afterFilterKey(mode: WatchMode, key: string): WatchMode {
  if (key === "\r" || key === "\n") return { ...mode, at: "all" };
  if (key === "\u001b") return { ...mode, at: "all", filter: "" };
  return { ...mode, filter: typed(mode.filter, key, filterMax) };
}

function typed(text: string, key: string, max: number): string {
  if (backspace.has(key)) return [...text].slice(0, -1).join("");
  return (text + (textOfKey(key) ?? "")).slice(0, max);
}
