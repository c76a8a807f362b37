/** What a snapshot shows: one look at each topic, without what only its person may read. */
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { Client } from "../../process-context.ts";
import { ask, Refused } from "../../with-daemon.ts";
import { bounds } from "../bounds.ts";
import { sources } from "../server/topics.ts";
import type { Timeline } from "../timeline.ts";
import type { ViewState } from "../views/state.ts";
import type { Rows, Topic, Viewer } from "../wire.ts";
import { withTexts } from "./home-paths.ts";

const leftOut = "(text left out)";

/** What of a topic's rows is left out unless a person asks for all of it. */
const withoutTexts: { readonly [T in Topic]?: (row: Rows[T]) => Rows[T] } = {
  messages: row => ({ ...row, text: leftOut }),
  // A freeze comes with a message.
  holds: row => ({ ...row, text: leftOut }),
};

export interface SnapshotWish {
  readonly viewer: Viewer;
  readonly topics: readonly Topic[];
  /** The last hour; null: it was not read. */
  readonly timeline: Timeline | null;
  /** With texts of messages, shared values and titles of sessions. */
  readonly isFull: boolean;
  /** Writes homes as `~`. */
  readonly shorten: (text: string) => string;
  /** Wall time in milliseconds. */
  readonly now: () => number;
}

/** Looks at each topic once, and returns the state as views show it. Throws `Refused`. */
export async function stateFor(
  client: Pick<Client, "request" | "daemon">,
  { viewer, topics, timeline, isFull, shorten, now }: SnapshotWish,
): Promise<ViewState> {
  const looks = topics.map(async topic => {
    const at = now();
    const rows = topic === "titles" && !isFull ? [] : await rowsFor(client, viewer, topic, isFull);
    return [topic, { at, rows }] as const;
  });
  const found = await Promise.all(looks);
  const context = found.find(([topic]) => topic === "context")?.[1].rows as
    | readonly Rows["context"][]
    | undefined;
  const values = isFull ? await valuesOf(client, context ?? []) : [];
  const looked = new Map(
    found.map(([topic, { at, rows }]) => [topic, { at, rows: withTexts(rows, shorten) }]),
  );
  const shown = withTexts(viewer, shorten);
  return {
    // Its paths begin with ~ already.
    viewer: { ...shown, home: "" },
    version: client.daemon.version,
    away: null,
    nowMs: now(),
    project: shown.project,
    rows: <T extends Topic>(topic: T) => (looked.get(topic)?.rows ?? null) as readonly Rows[T][] | null,
    timeline: withTexts(timeline, shorten),
    values: new Map(withTexts(values, shorten)),
    lookedAt: topic => looked.get(topic)?.at ?? 0,
  };
}

async function rowsFor<T extends Topic>(
  client: Pick<Client, "request" | "daemon">,
  viewer: Viewer,
  topic: T,
  isFull: boolean,
): Promise<readonly Rows[T][]> {
  const rows: readonly Rows[T][] = await sources[topic].look(client, viewer);
  const without: ((row: Rows[T]) => Rows[T]) | undefined = withoutTexts[topic];
  return isFull || without === undefined ? rows : rows.map(without);
}

/** Returns the first values, by project and key. */
async function valuesOf(
  client: Pick<Client, "request">,
  rows: readonly Rows["context"][],
): Promise<readonly (readonly [string, JsonValue])[]> {
  const values: (readonly [string, JsonValue])[] = [];
  for (const { project, key } of rows.slice(0, bounds.snapshotValuesMax)) {
    try {
      values.push([`${project}\n${key}`, (await ask(client, "context_get", { project, key })).value]);
    } catch (error) {
      // It was deleted, or expired, since its row was read.
      if (!(error instanceof Refused) || error.refusal.code !== "context_absent") throw error;
    }
  }
  return values;
}
