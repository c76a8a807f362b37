/** `kite web --snapshot`: the page of this moment as one file, to attach to a report. */
import { createHash } from "node:crypto";
import { closeSync, openSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { isSystemError } from "../../../protocol/errors.ts";
import { nearPath } from "../../../protocol/text.ts";
import { type ProcessContext, print, printJson } from "../../process-context.ts";
import { trailFlushed } from "../../trail/flushed.ts";
import { bytes, clean, counted, listed } from "../../view/text.ts";
import { exitCodes, fail, withDaemon } from "../../with-daemon.ts";
import { bounds } from "../bounds.ts";
import { pageFiles } from "../server/assets.ts";
import { TimelineSource } from "../server/timeline.ts";
import { viewerOf } from "../viewer.ts";
import { homeShortener, homesOf } from "./home-paths.ts";
import { stateFor } from "./state.ts";

export interface SnapshotFlags {
  readonly snapshot: string;
  readonly full?: boolean;
  readonly project?: string;
  readonly json?: boolean;
}

/** The end of an element is no path, not even where `/code` is a home. */
const elementEnd = /(<\/\w+>)/;

const leftOut = ["texts of messages", "values of context", "titles of sessions"];

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
    const left = isFull ? [] : leftOut;
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
