/**
 * What sessions are about, for a person's terminal: their clients' own titles, read from the clients' files when they are shown.
 * Neither the daemon nor a file of Kite's has a title.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename } from "node:path";
import { wordsIn } from "../hooks/claude-code/transcripts.ts";
import { isSystemError } from "../protocol/errors.ts";
import type { TranscriptRow } from "../protocol/schemas/session.ts";
import { seemsAgents } from "./person.ts";
import type { Client, ProcessContext } from "./process-context.ts";
import { Refused, rowsOf } from "./with-daemon.ts";

/** How much of a transcript's end, and of its beginning, is read. */
const partBytes = 64 * 1024;
/** Longest title that is kept, in UTF-16 units; views show less of it. */
const titleChars = 200;
const sessionsMax = 100;
/** Reading stops after this time, so that a slow disk costs titles and not the screen. */
const readMs = 300;

interface Known {
  readonly sizeBytes: number;
  readonly title: string | null;
}

/** The titles of the live sessions, by session. What did not change since the last look is not read again. */
export class Titles {
  readonly #known = new Map<string, Known>();

  /** Returns no title if the setting `titles` is off, or if the daemon does not take the caller for a person. */
  async read(client: Pick<Client, "request" | "daemon">): Promise<ReadonlyMap<string, string>> {
    const rows = await transcriptsOf(client);
    const until = performance.now() + readMs;
    const found = new Map<string, string>();
    for (const row of rows) {
      if (performance.now() < until) this.#known.set(row.id, await titleOf(row, this.#known.get(row.id)));
      const title = this.#known.get(row.id)?.title ?? null;
      if (title !== null) found.set(row.id, title);
    }
    const live = new Set(rows.map(({ id }) => id));
    for (const id of this.#known.keys()) if (!live.has(id)) this.#known.delete(id);
    return found;
  }
}

/** Returns the titles for a command that prints lines; null: standard output is no terminal, or an agent's. */
export async function titlesFor(
  world: ProcessContext,
  client: Pick<Client, "request" | "daemon">,
): Promise<ReadonlyMap<string, string> | null> {
  if (world.stdout.isTTY !== true || (await seemsAgents(world))) return null;
  return new Titles().read(client);
}

async function transcriptsOf(client: Pick<Client, "request" | "daemon">): Promise<readonly TranscriptRow[]> {
  try {
    return await rowsOf(client, "transcripts", {}, sessionsMax);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return []; // The token of a person is missing, or the daemon is of an earlier version: the rest of the screen counts.
  }
}

async function titleOf({ id, transcript, titles }: TranscriptRow, before: Known | undefined): Promise<Known> {
  const none = { sizeBytes: -1, title: null };
  if (basename(transcript) !== `${id}.jsonl`) return none;
  let file: FileHandle;
  try {
    // Whatever else has that name is not waited for, and no link is followed.
    file = await open(transcript, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return none; // The client has written nothing yet.
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return none;
    if (before?.sizeBytes === stat.size) return before;
    const part = async (from: number) => {
      const bytes = Buffer.alloc(Math.min(partBytes, stat.size - from));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
      return wordsIn(bytes.toString("utf8", 0, bytesRead), id);
    };
    const end = await part(Math.max(0, stat.size - partBytes));
    const wanted = titles === "prompt" ? "prompt" : "title";
    const beginning = end[wanted] === null && stat.size > partBytes ? await part(0) : end;
    const words = end[wanted] ?? beginning[wanted] ?? before?.title ?? null;
    return { sizeBytes: stat.size, title: words === null ? null : words.slice(0, titleChars) };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return none;
  } finally {
    await file.close();
  }
}
