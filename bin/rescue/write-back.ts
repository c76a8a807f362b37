/**
 * Writes a file as an edit of whoever asks: the daemon asks what an edit would be asked, locks the file, and keeps what it has,
 * before this process writes. If this process ends meanwhile, the daemon ends the edit.
 */
import type { Command } from "commander";
import { LocalError } from "../../client/errors.ts";
import { isSystemError, systemErrorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import { plain } from "../../protocol/text.ts";
import { ask } from "../with-daemon.ts";
import type { Asker } from "./asker.ts";
import { type OnDisk, replaceFile } from "./on-disk.ts";

/** A file to write, if it is still what it was. */
export interface Placing {
  /** Absolute and real. */
  readonly path: string;
  readonly was: OnDisk;
  readonly content: Buffer;
  readonly mode: number;
  /** The version that the content comes from. */
  readonly version: Pick<VersionRow, "version" | "path">;
}

export interface Placed {
  /** The version that has what the file was; null: there was no file. */
  readonly before: string | null;
  /** The version that has what was written; null: it is not kept. */
  readonly version: string | null;
  /** Why nothing was written; null: it was. */
  readonly error: string | null;
}

/** What a person typed for `--wait`. */
export interface WaitFlag {
  readonly wait: string;
}

/** Adds the option that says how long to wait for locks. */
export function addWait(command: Command): Command {
  const says = `how long to wait for the file's lock; 0: not at all; at most ${limits.waitMaxMs / 1000}`;
  return command.option("-w, --wait <seconds>", says, `${limits.waitMs / 1000}`);
}

/** Returns how long to wait for locks, in milliseconds, or a sentence that says how `--wait` is typed. */
export function waitOf({ wait }: WaitFlag): number | string {
  const most = limits.waitMaxMs / 1000;
  const seconds = /^\d+(\.\d+)?$/.test(wait) ? Number(wait) : -1;
  if (seconds >= 0 && seconds <= most) return Math.round(seconds * 1000);
  return `--wait takes seconds from 0 to ${most}, not ${wait}`;
}

/** Writes the file. Throws `Refused` before anything is written. */
export async function writeBack(
  { client, acting }: Pick<Asker, "client" | "acting">,
  placing: Placing,
  waitMs: number,
): Promise<Placed> {
  const { path, version } = placing;
  const actor = acting ?? {};
  const into = version.path === path ? {} : { into: path };
  const begun = await ask(client, "restore_begin", {
    ...actor,
    ...into,
    ...{ version: version.version, waitMs },
  });
  const error = begun.path === path ? written(placing) : `${plain(path)} is a link now, or lies behind one`;
  const end = { ...actor, restore: begun.restore, wrote: error === null };
  const { version: kept } = await ask(client, "restore_end", end);
  return { before: begun.before?.version ?? null, version: kept?.version ?? null, error };
}

/** Writes; returns why it could not, or null. */
function written({ path, was, content, mode }: Placing): string | null {
  try {
    replaceFile(path, was, content, mode);
    return null;
  } catch (error) {
    if (error instanceof LocalError) return error.message;
    if (isSystemError(error)) return systemErrorText(error);
    throw error;
  }
}
