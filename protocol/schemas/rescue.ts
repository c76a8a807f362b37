/** The wire of what Kite keeps of the agents' work: versions of files, wipes, restores. Contents stay on the disk. */

import * as z from "zod";
import { limits } from "../limits.ts";
import { once, type RequestTable, repeatable, reply } from "../request-table.ts";
import type { ActorRow } from "./lock.ts";
import { baseShape, idSchema, pathSchema } from "./session.ts";

/**
 * Why a version was kept. `write`: after a write. `before_wipe`: a line that wipes the file was about to run.
 * `before_restore`: as a restore found the file. `outside`: something that Kite did not see changed the file.
 * `set_aside`: Kite no longer knows whose the content was, nor in which file.
 */
const versionKinds = ["write", "before_wipe", "before_restore", "outside", "set_aside"] as const;
export type VersionKind = (typeof versionKinds)[number];

/** A version of a file, as `query` shows it. */
export interface VersionRow {
  /** `v-12`. Numbers rise, and no number is used twice. */
  readonly version: string;
  /** Absolute and real. */
  readonly path: string;
  /** The path from the top of the worktree. */
  readonly file: string;
  readonly worktree: string;
  readonly project: string;
  /** Who wrote it; null: nobody that Kite knows. */
  readonly by: ActorRow | null;
  /** The tool, or the first word of the shell line; null: unknown. */
  readonly tool: string | null;
  readonly kind: VersionKind;
  /** Wall time in milliseconds. */
  readonly at: number;
  /** The commit that was checked out; null: none, or unknown. */
  readonly base: string | null;
  readonly bytes: number;
  /** The file's permission bits. */
  readonly mode: number;
  /** Lines against the version before, else against what is committed; null: no text, or not counted. */
  readonly added: number | null;
  readonly taken: number | null;
  /** The file changed again before it was read: this is the text that the tool sent. */
  readonly asSent: boolean;
  /** SHA-256 of the content, in hex. */
  readonly hash: string;
  /** The absolute path of the zlib file with the content; null: the content is gone. */
  readonly object: string | null;
}

/** What became of a file that a line wiped, or that changed outside of Kite. */
export interface WipedRow {
  readonly path: string;
  readonly file: string;
  /** The version that brings it back; null: Kite has none. */
  readonly version: string | null;
  /** Whose work it was, the latest writer first. */
  readonly writers: readonly ActorRow[];
  /** Lines of that version that the file lost; null: no text, or not counted. */
  readonly lines: number | null;
  /** `gone`: the file is not there any more, whatever took its place. `reverted`: it is as the commit has it. `changed`: it has other lines. */
  readonly how: "gone" | "reverted" | "changed";
}

/** A wipe, as `query` shows it. */
export interface WipeRow {
  /** `r-12`. */
  readonly wipe: string;
  readonly project: string;
  readonly worktree: string;
  /** Whose command it was; null: nobody that Kite knows, and `command` is `changed outside Kite`. */
  readonly by: ActorRow | null;
  /** The command in short form: `git checkout`. */
  readonly command: string;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly files: readonly WipedRow[];
  /** Further files that are not named. */
  readonly more: number;
}

/** A file that was written and is not kept. */
export interface UnkeptRow {
  readonly path: string;
  readonly file: string;
  readonly worktree: string;
  readonly project: string;
  /** Why, as half a sentence: `it holds a private key`. */
  readonly why: string;
  readonly at: number;
}

const versionSchema = z.string().regex(/^v-\d{1,15}$/, { error: "expected a version, such as v-12" });
const actorShape = { ...baseShape, id: idSchema.optional(), agent: idSchema.optional() };

/** Tells whether Kite keeps versions of what agents write, how many, and what they take. */
const rescueStateSchema = z.object({ ...baseShape });

/** Removes versions for good: those of a file, or of all files before a time. A person's alone. */
const rescuePurgeSchema = z
  .object({
    ...actorShape,
    /** Absolute; a directory stands for all files below it. */
    file: pathSchema.optional(),
    /** Wall time in milliseconds. */
    before: z.number().int().min(0).optional(),
  })
  .refine(r => r.file !== undefined || r.before !== undefined, { error: "give file, or before, or both" });

/**
 * Begins to restore a version, or to take a file's lines back. The daemon asks what an edit of the file would be asked, locks
 * the file, keeps the file's state as a version, and answers. The caller then writes or removes the file, and sends
 * `restore_end`.
 */
const restoreBeginSchema = z
  .object({
    ...actorShape,
    /** Absent: the caller has the content itself. */
    version: versionSchema.optional(),
    /** Absolute: where to write it; without it the version's own path. For an agent, below a worktree of its project. */
    into: pathSchema.optional(),
    /** How long to wait for the file's lock, in milliseconds. */
    waitMs: z.number().int().min(0).max(limits.waitMaxMs).optional(),
  })
  .refine(r => r.version !== undefined || r.into !== undefined, { error: "give version, or into, or both" });

/** Ends a restore, and tells whether the caller wrote the file. */
const restoreEndSchema = z.object({
  ...actorShape,
  restore: idSchema,
  /** Whether the caller wrote the file. */
  wrote: z.boolean(),
});

export interface RescueStateReply {
  readonly ok: true;
  /** False: the setting `rescue` is off, and all that follows is zero. */
  readonly on: boolean;
  readonly versions: number;
  readonly files: number;
  /** Bytes on the disk. */
  readonly bytes: number;
  readonly bytesMax: number;
  readonly wipes: number;
  /** Writes that wait to be kept. */
  readonly waiting: number;
  /** Writes that could not be kept since the daemon started. */
  readonly missed: number;
  /** Absent where the setting is off, and in answers of earlier daemons. */
  readonly damage?: DamageRow;
  /** What is wrong with the store now, as a sentence; null: nothing. */
  readonly trouble: string | null;
}

/** What became of kept work whose store was damaged. */
export interface DamageRow {
  /** Versions that came back from their contents since the daemon started. */
  readonly recovered: number;
  /** Contents that are kept, and whose file nobody knows. */
  readonly setAside: number;
  /** The folder below which their versions are named; absolute. */
  readonly asideFolder: string;
  /** Versions without a content, and damaged lines, that nothing gave back since the daemon started. */
  readonly lost: number;
}

interface RescuePurgeReply {
  readonly ok: true;
  readonly versions: number;
  /** Contents removed from the disk: those to which no other version refers. */
  readonly contents: number;
  readonly bytes: number;
  /** Absolute paths of other files of which versions with the same contents stay; at most 5. */
  readonly alsoIn: readonly string[];
}

export interface RestoreBeginReply {
  readonly ok: true;
  readonly restore: string;
  /** Null: the request named none. */
  readonly version: VersionRow | null;
  /** Where to write. */
  readonly path: string;
  /** The version of what is there now: with its `hash` the caller sees before it writes whether the file went on. Null: nothing is there. */
  readonly before: VersionRow | null;
}

interface RestoreEndReply {
  readonly ok: true;
  /** The version of what was written; null: nothing was written, or nothing of it is kept. */
  readonly version: VersionRow | null;
}

export const rescueRequests = {
  rescue_state: { params: rescueStateSchema, reply: reply<RescueStateReply>(), traits: repeatable },
  rescue_purge: { params: rescuePurgeSchema, reply: reply<RescuePurgeReply>(), traits: once },
  restore_begin: { params: restoreBeginSchema, reply: reply<RestoreBeginReply>(), traits: once },
  restore_end: { params: restoreEndSchema, reply: reply<RestoreEndReply>(), traits: once },
} as const satisfies RequestTable;

/** Somebody wrote a kept version back into a file. It is in no log, so it has no cursor. */
export interface RestoreEvent {
  readonly event: "work_restored";
  readonly path: string;
  readonly project: string;
}
