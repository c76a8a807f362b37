/** The wire of a project's checks: the state of a worktree, results, and their rows. */
import * as z from "zod";
import { once, type RequestTable, repeatable, reply } from "../request-table.ts";
import type { ActorRow } from "../schemas/lock.ts";
import { baseShape, idSchema, pathSchema } from "../schemas/session.ts";

const hexSchema = (what: string) =>
  z.string().regex(/^[0-9a-f]{40,64}$/, { error: `expected ${what} in hex` });

/** Returns the state of the worktree around `cwd`, an absolute path. */
const worktreeStateSchema = z.object({ ...baseShape, id: idSchema.optional(), cwd: pathSchema });

/**
 * Returns the trusted checks of the worktree around `cwd`, an absolute path, that need no run. Nothing that their
 * `when` names has changed since they were last green. For a check that never was green, nothing has changed since
 * `base`.
 */
const checkUnneededSchema = z.object({
  ...baseShape,
  id: idSchema.optional(),
  cwd: pathSchema,
  /** The commit that the worktree's branch began at; absent: a check that never was green needs its run. */
  base: hexSchema("a commit's id").optional(),
});

/** Records that a check ran, and that the worktree had the same state before and after. */
const checkRecordSchema = z.object({
  ...baseShape,
  id: idSchema.optional(),
  agent: idSchema.optional(),
  /** `top` of a `worktree_state`. */
  worktree: pathSchema,
  name: idSchema,
  /** The SHA-256 of the command's text. */
  command: hexSchema("a SHA-256"),
  /** The exit code; 0 is green. */
  exit: z.number().int().min(0).max(255),
  ranMs: z.number().int().min(0),
  /** `commit`, `dirty` and `files` of a `worktree_state`. */
  commit: hexSchema("a commit's id").nullable(),
  dirty: hexSchema("a SHA-256"),
  files: z.number().int().min(0),
  /**
   * `commit` and `dirty` of the `worktree_state` before the run, if files changed meanwhile. The result then counts for no
   * state and is not kept; the daemon remembers a green one, to tell whose changes came after it.
   */
  began: z
    .object({ commit: hexSchema("a commit's id").nullable(), dirty: hexSchema("a SHA-256") })
    .optional(),
});

export interface WorktreeStateReply {
  readonly ok: true;
  readonly project: string;
  /** The top of the worktree. */
  readonly top: string;
  /** The id of the commit; null before the first one, or without a repository. */
  readonly commit: string | null;
  /** The hash of what differs from the commit; null: it could not be told, for `reason`. */
  readonly dirty: string | null;
  /** The number of files that differ. */
  readonly files: number;
  /** The first files that differ, at most `limits.stateFilesNamedMax`. */
  readonly changed: readonly ChangedFileRow[];
  readonly reason?: string;
}

export interface ChangedFileRow {
  readonly file: string;
  /** Changes with its mode and its content. */
  readonly content: string;
}

/** A check that needs no run. */
export interface UnneededRow {
  readonly name: string;
  /** The SHA-256 of its command's text. */
  readonly command: string;
  /** Its globs: no file of theirs has changed. */
  readonly when: readonly string[];
  /** Since when: its last green run, or the base. */
  readonly since: "green" | "base";
}

export interface CheckUnneededReply {
  readonly ok: true;
  readonly unneeded: readonly UnneededRow[];
}

export interface CheckRecordReply {
  readonly ok: true;
  readonly green: boolean;
  /** False: files changed during the run, so the result counts for no state. */
  readonly kept?: false;
}

/** The latest result of one check in one worktree. */
export interface CheckRow {
  readonly project: string;
  readonly worktree: string;
  readonly name: string;
  /** The SHA-256 of the command's text. */
  readonly command: string;
  readonly exit: number;
  readonly ranMs: number;
  readonly commit: string | null;
  readonly dirty: string;
  readonly files: number;
  /** Null: a person. */
  readonly by: ActorRow | null;
  /** Wall time in milliseconds. */
  readonly at: number;
}

/** The events of checks. */
export type CheckEvent = {
  /** A check ran in a worktree whose state stayed the same; `exit` 0 is green. */
  readonly event: "check_recorded";
  readonly project: string;
  readonly worktree: string;
  readonly check: string;
  readonly exit: number;
  readonly commit: string | null;
  /** Null: a person. */
  readonly by: ActorRow | null;
};

export const checkRequests = {
  worktree_state: { params: worktreeStateSchema, reply: reply<WorktreeStateReply>(), traits: repeatable },
  check_unneeded: { params: checkUnneededSchema, reply: reply<CheckUnneededReply>(), traits: repeatable },
  check_record: { params: checkRecordSchema, reply: reply<CheckRecordReply>(), traits: once },
} as const satisfies RequestTable;
