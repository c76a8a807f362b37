/** A view of the page: an address, the topics that it shows, and how. Pure: a snapshot renders it without a browser. */

import type { VNode } from "preact";
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import { duration, plain } from "../../../protocol/text.ts";
import type { Timeline } from "../timeline.ts";
import type { Deed, Rows, Topic, Viewer } from "../wire.ts";

// What a view shows, as values: the same for the live page and for a snapshot.

export interface ViewState {
  readonly viewer: Viewer;
  readonly version: string;
  /** Why the daemon is away; null: it is there. */
  readonly away: string | null;
  /** Wall time of the machine, in milliseconds. */
  readonly nowMs: number;
  /** The project that is shown; null: all. */
  readonly project: string | null;
  /** The rows of a topic in the shown project; null: not looked at yet. */
  readonly rows: <T extends Topic>(topic: T) => readonly Rows[T][] | null;
  /** When the rows of a topic were looked at: their `...Ms` are as of then. */
  readonly lookedAt: (topic: Topic) => number;
  /** What a snapshot shows of the trail; the live page fetches its own. */
  readonly timeline?: Timeline | null;
  /** Shared values that a snapshot shows, by project and key; the live page fetches one when a person opens it. */
  readonly values?: ReadonlyMap<string, JsonValue>;
}

/** Returns foreign text for a page: on one line, without invisible and control characters. The page never reads it as markup. */
export function clean(text: string): string {
  // `plain` writes angle brackets otherwise, for terminals and agents; here they are text like any other.
  return plain(text).replaceAll("‹", "<").replaceAll("›", ">");
}

/** Returns foreign text in its own lines, each as `clean` writes it. */
export function cleanLines(text: string): string {
  return text.split(/\r?\n/).map(clean).join("\n");
}

/** Returns a path for people: from the project's top, else with `~`. */
export function pathText(path: string, state: Pick<ViewState, "viewer" | "project">): string {
  const { project, viewer } = state;
  if (project !== null && path.startsWith(`${project}/`)) return clean(path.slice(project.length + 1));
  return homeText(path, viewer);
}

/** Returns a directory with `~` for the person's home. */
function homeText(path: string, { home }: Viewer): string {
  return clean(
    home !== "" && (path === home || path.startsWith(`${home}/`)) ? `~${path.slice(home.length)}` : path,
  );
}

/** Returns the name of a project: its last folder. */
export function projectName(project: string): string {
  return clean(project.split("/").filter(Boolean).at(-1) ?? project);
}

/** Returns how long ago something was that was `ms` before the look at its topic. */
export function agoMs(state: ViewState, topic: Topic, ms: number): number {
  return Math.max(0, state.nowMs - state.lookedAt(topic) + ms);
}

/** Returns how long ago a moment of wall time was. */
export function agoText({ nowMs }: Pick<ViewState, "nowMs">, atMs: number): string {
  return `${duration(Math.max(0, nowMs - atMs))} ago`;
}

/** What `kite explain` is asked about. */
export interface About {
  readonly kind: "file" | "agent" | "task";
  readonly name: string;
  readonly project?: string;
  /** What it is called, if that is not its name. */
  readonly title?: string;
}

/** What a view may ask of the live page. */
export interface Page {
  /** The view's own part of the address, behind `?`. */
  readonly query: Readonly<Record<string, string>>;
  /** Changes it; null removes a word. */
  readonly ask: (change: Readonly<Record<string, string | null>>) => void;
  /** Asks the person, then does it; null: this viewer may do nothing. `question` names what is about to happen; `done` runs after it. */
  readonly act: ((deed: Deed, question: string, done?: () => void) => void) | null;
  /** Asks the person for a text first. */
  readonly write: ((of: (text: string) => Deed, question: string) => void) | null;
  /** Shows what `kite explain` says. */
  readonly explain: (about: About) => void;
  /** Fetches what `GET /api/NAME` answers. Throws if the server refuses. */
  readonly fetch: <T>(name: string, query: Readonly<Record<string, string>>) => Promise<T>;
}

export interface ViewProps {
  readonly state: ViewState;
  /** Null: a snapshot, which does nothing. */
  readonly page: Page | null;
}

export interface View {
  /** Its address: `/now`. */
  readonly path: string;
  readonly title: string;
  readonly topics: readonly Topic[];
  readonly Body: (props: ViewProps) => VNode;
}
