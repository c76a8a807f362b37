/** The wire of locks: requests, replies and rows. */

import * as z from "zod";
import { limits } from "../limits.ts";
import { wrongResource } from "../names.ts";
import { once, type RequestTable, repeatable, reply } from "../request-table.ts";
import { baseShape, idSchema, type OkReply, pathSchema } from "./session.ts";

const actorShape = { ...baseShape, id: idSchema, agent: idSchema.optional() };
/**
 * The command that the request is of, behind those that it runs inside: `outer/inner`. Commands of one session exclude
 * each other, unless one runs inside the other. Absent: the session or agent itself, which its commands do not exclude.
 */
const commandSchema = idSchema.regex(/^[\w.-]+(?:\/[\w.-]+)*$/, {
  error: "a command is named by letters and digits, behind the commands around it: outer/inner",
});
const filesSchema = z.array(pathSchema).min(1).max(limits.filesMax);
/** Names of what is no file: see `protocol/names.ts`. In replies, rows and events they stand where files do. */
const resourceSchema = z
  .union([z.string(), z.array(z.string()).min(1).max(limits.filesMax)])
  .superRefine(named);

function named(names: string | readonly string[], { addIssue }: z.core.$RefinementCtx): void {
  const wrong = [names]
    .flat()
    .map(wrongResource)
    .find(one => one !== null);
  if (wrong !== undefined) addIssue({ code: "custom", message: wrong ?? "" });
}

/** Whether one of these is there, or a resource, which may also stand beside the one. */
function isOneOf(these: readonly unknown[], resource: unknown): boolean {
  const count = these.filter(one => one !== undefined).length;
  return count === 1 || (count === 0 && resource !== undefined);
}

/** Locks one file, a directory (its whole subtree), a resource or several of them, all or none. */
export const fileLockSchema = z
  .object({
    ...actorShape,
    file: pathSchema.optional(),
    files: filesSchema.optional(),
    resource: resourceSchema.optional(),
    /** How long to wait, in milliseconds; 0: do not wait. */
    waitMs: z.number().int().min(0).max(limits.waitMaxMs).optional(),
    /** Release when this connection closes. */
    bind: z.boolean().optional(),
    /** Keep the queue position for a minute when this connection closes while waiting. */
    detach: z.boolean().optional(),
    /**
     * Refuse at once (`lock_held`, with `use:"kept"`) if another actor has locked one of the files until its work is
     * done. Nobody knows when that is. Without it the request waits for such a lock as for others.
     */
    unlessKept: z.boolean().optional(),
    /** Push `lock_queued` to this connection when the request has to wait. */
    progress: z.boolean().optional(),
    /**
     * A person asks, and may lock any directory. Without it a registered session's locks reach below its project's
     * worktrees and its working directory. Nobody's hold a home or a session of another project (`person_only`).
     */
    byPerson: z.literal(true).optional(),
    command: commandSchema.optional(),
  })
  .refine(r => isOneOf([r.file, r.files], r.resource), {
    error: "give exactly one of file and files, or a resource",
  });

/** Releases locks of files and resources, or all of the actor, and ends its waits for them. */
export const fileUnlockSchema = z
  .object({
    ...actorShape,
    id: idSchema.optional(),
    file: pathSchema.optional(),
    files: filesSchema.optional(),
    resource: resourceSchema.optional(),
    all: z.boolean().optional(),
    /** Release any holder's lock by force: the trail records it, and the holder gets `lock_revoked`. */
    force: z.boolean().optional(),
    /** Release what this command has; absent: what the session or agent has, or one of its commands. */
    command: commandSchema.optional(),
  })
  .refine(r => isOneOf([r.file, r.files, r.all || undefined], r.all ? undefined : r.resource), {
    error: "give exactly one of file, files and all:true, or a resource",
  })
  .refine(r => r.id !== undefined || (r.force === true && !r.all), {
    error: "id is required, unless force:true names files",
  });

/** Tells whether the actor holds the file or resource under this token. */
const fileCheckSchema = z
  .object({
    ...actorShape,
    file: pathSchema.optional(),
    resource: z.string().superRefine(named).optional(),
    token: idSchema,
  })
  .refine(r => (r.file === undefined) !== (r.resource === undefined), {
    error: "give exactly one of file and resource",
  });

/** Tells that the session has the file open. If another one has it open, too, both get `file_conflict`. */
const fileTouchSchema = z.object({
  ...actorShape,
  file: pathSchema,
  action: z.string().max(limits.nameBytes).optional(),
});

/**
 * Tells that the actor committed its own lines of files in which others still have uncommitted work. Its writers of these files,
 * and those of its ended agents, are no writers of theirs any more, unless they have written since. For an actor, or for whom a
 * person names.
 */
const workCommittedSchema = z.object({
  ...actorShape,
  files: z
    .array(
      z.object({
        file: pathSchema,
        /** As rows of `writes` have them: who wrote, and when at last. */
        writers: z
          .array(z.object({ agent: idSchema.nullable(), at: z.number().int().min(0) }))
          .min(1)
          .max(limits.writersPerFileMax),
      }),
    )
    .min(1)
    .max(limits.filesMax),
});

export interface ActorRow {
  readonly id: string;
  readonly agent: string | null;
  readonly name: string;
  /** The command of it that has or had the lock or waits; absent: it does so itself. */
  readonly command?: string;
}

export interface WaiterRow extends ActorRow {
  readonly waitedMs: number;
  readonly attached: boolean;
}

/**
 * Why a lock does not yield to waiters. `writes`: a write is in flight. `command`: a running command holds it until its
 * end. `kept`: its holder locked it until it releases it.
 */
export type LockUse = "writes" | "command" | "kept";

/** A path or resource that is locked or waited for. `file` and `path` of a resource are its name. */
export interface LockRow {
  readonly file: string;
  readonly path: string;
  /** It is a resource. Absent: a file. */
  readonly resource?: true;
  /** When the lock ends by itself, in milliseconds from the answer; only of a resource that no running command holds. */
  readonly leaseLeftMs?: number;
  readonly project: string;
  readonly kind: "explicit" | "turn";
  readonly holder: ActorRow | null;
  readonly token: string | null;
  readonly heldMs: number;
  /** It is a directory that is locked as a whole; absent if it is not. */
  readonly dir?: true;
  /** Absent if the lock yields to waiters, or nobody holds it. */
  readonly use?: LockUse;
  readonly waiters: readonly WaiterRow[];
}

/** `file` and `path` for a single file, `files` and `paths` for several; one token for all. */
export interface FileLockReply {
  readonly ok: true;
  readonly file?: string;
  readonly files?: readonly string[];
  readonly path?: string;
  readonly paths?: readonly string[];
  readonly token: string;
  readonly granted_from_queue?: true;
}

interface FileUnlockReply {
  readonly ok: true;
  readonly released: readonly string[];
}

interface FileCheckReply {
  readonly ok: true;
  readonly file: string;
  readonly path: string;
  readonly token: string;
}

/** The files of an event, as requested and as absolute paths. */
export interface FilesNews {
  readonly files: readonly string[];
  readonly paths: readonly string[];
  /** How many more there are. */
  readonly more?: number;
}

/** The events of locks. */
export type LockEvent =
  | (FilesNews & {
      readonly event: "lock_granted";
      readonly token: string;
      readonly holder: ActorRow;
      readonly waitedMs: number;
    })
  | (FilesNews & {
      readonly event: "lock_queued";
      readonly waiter: ActorRow;
      readonly holder: ActorRow | null;
      readonly position: number;
    })
  | (FilesNews & {
      readonly event: "lock_released";
      readonly holder: ActorRow;
      readonly cause: string;
    })
  | (FilesNews & {
      readonly event: "lock_wait_ended";
      readonly waiter: ActorRow;
      readonly cause: string;
    })
  | (FilesNews & {
      readonly event: "lock_revoked";
      readonly holder: ActorRow;
      readonly by: string;
    });

export const lockRequests = {
  file_lock: { params: fileLockSchema, reply: reply<FileLockReply>(), traits: once },
  file_unlock: { params: fileUnlockSchema, reply: reply<FileUnlockReply>(), traits: once },
  file_check: { params: fileCheckSchema, reply: reply<FileCheckReply>(), traits: repeatable },
  work_committed: { params: workCommittedSchema, reply: reply<OkReply>(), traits: repeatable },
  file_touch: { params: fileTouchSchema, reply: reply<OkReply>(), traits: repeatable },
} as const satisfies RequestTable;
