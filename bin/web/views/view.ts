/** A view of the page: an address, the topics that it shows, and how. Pure: a snapshot renders it without a browser. */
import type { VNode } from "preact";
import type { Deed, Topic } from "../wire.ts";
import type { ViewState } from "./state.ts";

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
