/** `kite web --snapshot`: the page of this moment as one file, to attach to a report. */

import { createHash } from "node:crypto";
import { closeSync, openSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { isSystemError } from "../../protocol/errors.ts";
import type { JsonValue } from "../../protocol/schemas/context.ts";
import { nearPath } from "../../protocol/text.ts";
import { type Client, type ProcessContext, print, printJson } from "../context/process-context.ts";
import { ask, exitCodes, fail, Refused, withDaemon } from "../context/with-daemon.ts";
import { trailFlushed } from "../trail/explained.ts";
import { bytes, clean, counted, listed } from "../view/text.ts";
import { TimelineSource } from "./answers.ts";
import { pageFiles, viewerOf } from "./http.ts";
import { sources } from "./live.ts";
import type { Timeline } from "./timeline.ts";
import type { ViewState } from "./views/state.ts";
import { bounds, type Rows, type Topic, type Viewer } from "./wire.ts";

// Writes the person's home as `~`, wherever a text names it: a home has the name of whom it belongs to.

/** Returns the names under which a text may know the home: as the environment and the system say, each also without links. */
export function homesOf(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const named = [env["HOME"] ?? "", homedir()];
  return [...new Set(named.flatMap(home => (home === "" ? [] : [home, realPathOf(home)])))];
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return path; // There is no such directory, so nothing is below it.
  }
}

/**
 * Returns a function that writes these homes as `~`: alone, at the beginning of a path, and within a longer text. It also finds
 * them as Markdown, HTML and addresses write them, and in the names of Claude Code's folders (`-home-ann-shop`).
 *
 * Invariant: no path at or below a home is left; another person's home (`/home/anna` besides `/home/ann`) stays as it is.
 */
export function homeShortener(homes: readonly string[]): (text: string) => string {
  const plain = homes.map(home => home.replace(/\/+$/, "")).filter(home => home.startsWith("/"));
  const written = plain.flatMap(home => [home, home.replaceAll("&", "&amp;"), encodeURI(home)]);
  const whole = [...written, ...plain.map(encodeURIComponent)];
  const folders = plain.map(home => home.replace(/[^A-Za-z0-9]/g, "-"));
  if (whole.length === 0) return text => text;
  // A word goes on: another name.
  const paths = new RegExp(`(?:${alternatives(whole)})(?![\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}])`, "gu");
  const inFolders = new RegExp(`(?<=/)(?:${alternatives(folders)})(?![\\p{L}\\p{N}_])`, "gu");
  return text => text.replace(paths, "~").replace(inFolders, "~");
}

/** The longest first: a home may be below another one. */
function alternatives(texts: readonly string[]): string {
  return [...new Set(texts)]
    .sort((a, b) => b.length - a.length)
    .map(text => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&"))
    .join("|");
}

/** Returns a value of JSON with each text in it, also the names of fields, as `change` has it. */
export function withTexts<T>(value: T, change: (text: string) => string): T {
  const changed = (one: unknown): unknown => {
    if (typeof one === "string") return change(one);
    if (Array.isArray(one)) return one.map(changed);
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([name, field]) => [change(name), changed(field)]));
  };
  return changed(value) as T;
}

// What a snapshot shows: one look at each topic, without what only its person may read.

const omittedText = "(text left out)";

/** What of a topic's rows is left out unless a person asks for all of it. */
const withoutTexts: { readonly [T in Topic]?: (row: Rows[T]) => Rows[T] } = {
  messages: row => ({ ...row, text: omittedText }),
  // A freeze comes with a message.
  holds: row => ({ ...row, text: omittedText }),
};

interface SnapshotWish {
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
async function stateFor(
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

export interface SnapshotFlags {
  readonly snapshot: string;
  readonly full?: boolean;
  readonly project?: string;
  readonly json?: boolean;
}

/** The end of an element is no path, not even where `/code` is a home. */
const elementEnd = /(<\/\w+>)/;

const omittedParts = ["texts of messages", "values of context", "titles of sessions"];

/** Writes the file, and says what is in it. Returns the exit code. */
export async function snapshot(world: ProcessContext, flags: SnapshotFlags): Promise<number> {
  const { json = false, full: isFull = false } = flags;
  const path = resolve(world.cwd, flags.snapshot);
  const viewer = await viewerOf(world, flags.project);
  if (viewer === null)
    return fail(world, json, "usage", "an agent's snapshot shows its project: run it inside one");
  const work = async (client: Parameters<Parameters<typeof withDaemon>[2]>[0]) => {
    const { topics, rendered } = await import("./render.tsx");
    const shorten = homeShortener(homesOf(world.env));
    const from = `${world.now() - bounds.snapshotMs}`;
    await trailFlushed(world, client);
    const past = await new TimelineSource(world, viewer).answer(new URLSearchParams({ from }));
    const timeline = past?.timeline ?? null;
    const state = await stateFor(client, { viewer, topics, timeline, isFull, shorten, now: world.now });
    const left = isFull ? [] : omittedParts;
    // Once more: only what is shown has no invisible characters, which may part a path.
    const pieces = pageOf(rendered(state, listed(left))).split(elementEnd);
    const page = pieces.map((piece, n) => (n % 2 === 0 ? shorten(piece) : piece)).join("");
    const wrong = writeNew(path, page);
    if (wrong !== null) return fail(world, json, "failed", wrong);
    const size = Buffer.byteLength(page);
    if (json) printJson(world, { ok: true, file: path, bytes: size, left });
    else print(world, saidOf(nearPath(path, world.cwd), size, state.rows("sessions")?.length ?? 0, left));
    return exitCodes.done;
  };
  const person = viewer.isPerson ? { person: "unnamed" as const } : {};
  return withDaemon(world, json, work, { name: "kite web", onlooker: true, ...person });
}

function saidOf(file: string, size: number, sessions: number, left: readonly string[]): string[] {
  const without =
    left.length === 0
      ? "It has all texts: messages, shared values, titles of sessions. Look at it before you send it to somebody."
      : `Left out: ${listed(left)} (--full has them). Home paths are written as ~.`;
  return [`wrote ${clean(file)}: ${bytes(size)}, ${counted(sessions, "session")}`, without];
}

/** Returns the file's text. It lets in one style sheet: what an agent wrote cannot add a style, an image or an address. */
function pageOf({ title, body }: { readonly title: string; readonly body: string }): string {
  const css = pageFiles().assets.get("page.css")?.body.toString("utf8") ?? "";
  const sheet = createHash("sha256").update(css).digest("base64");
  const policy = `default-src 'none'; style-src 'sha256-${sheet}'; base-uri 'none'; form-action 'none'`;
  return [
    "<!doctype html>",
    '<html lang="en">',
    '<head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `${title}<style>${css}</style></head>`,
    `<body>${body}</body>`,
    "</html>\n",
  ].join("\n");
}

/** Writes a new file that its owner alone may read. Returns why there is none; null: it is there. */
function writeNew(path: string, text: string): string | null {
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === "EEXIST")
      return `${path} is there already, and a snapshot overwrites nothing: name another file`;
    if (error.code === "ENOENT") return `there is no directory for ${path}: make it, or name another file`;
    throw error;
  }
  try {
    writeFileSync(file, text);
  } catch (error) {
    // Half a page is none.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  return null;
}
