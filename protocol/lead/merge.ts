/** The wire of merges: the queue of each base, what its runners ask and report, and the rows. */
import * as z from "zod";
import { limits } from "../limits.ts";
import { once, type RequestTable, repeatable, reply } from "../request-table.ts";
import type { ActorRow } from "../schemas/lock.ts";
import { baseShape, idSchema } from "../schemas/session.ts";
import type { UnreadReturn } from "./team.ts";

/**
 * - `queued`: waits for its turn. `running`: a process merges it now.
 * - `merged`: the base has it. `checked`: it could be merged, and the base stayed where it was, as asked. `returned`: it
 *   needs its author. `cancelled`: nobody merges it any more.
 */
export const mergeStates = ["queued", "running", "merged", "checked", "returned", "cancelled"] as const;
export type MergeState = (typeof mergeStates)[number];

/**
 * Why a merge came back to its author: `conflict`, `red_check`, `unmergeable` (no such branch, no common history). Or
 * why it was cancelled: `asked`, `interrupted`, `dependency` (one that it waits for was not merged), `base` (its state
 * kept it from moving), `failed` (git, or the disk).
 */
export const mergeReasons = [
  "conflict",
  "red_check",
  "unmergeable",
  "asked",
  "interrupted",
  "dependency",
  "base",
  "failed",
] as const;
export type MergeReasonCode = (typeof mergeReasons)[number];

/** Why a merge ended without being merged. */
export interface MergeReason {
  readonly code: MergeReasonCode;
  /** A sentence. */
  readonly text: string;
  /** Files in conflict, at most `limits.mergeFilesMax`; `more` counts the rest. */
  readonly files: readonly string[];
  readonly more: number;
  /** The end of a red check's output. */
  readonly output: string | null;
}

/** A full name, such as `refs/heads/main`. */
const branchSchema = z
  .string()
  .max(limits.branchChars)
  .regex(/^refs\/heads\/./, { error: "expected a branch's full name, such as refs/heads/main" });
const commitSchema = z.string().regex(/^[0-9a-f]{40,64}$/, { error: "expected a commit's id in hex" });
const actorShape = { id: idSchema.optional(), agent: idSchema.optional() };
const count = z.number().int().min(0);

const reasonSchema = z.object({
  code: z.enum(mergeReasons),
  text: z.string().max(limits.mergeReasonChars),
  files: z.array(z.string().max(limits.pathBytes)).max(limits.mergeFilesMax).readonly(),
  more: count,
  output: z.string().max(limits.mergeOutputChars).nullable(),
});

/** Queues branches for one base, in this order. `runner` names the process that will merge them. */
const mergeQueueSchema = z.object({
  ...baseShape,
  ...actorShape,
  runner: idSchema,
  base: branchSchema,
  /** Rebases each branch onto the base instead of merging it. */
  rebase: z.boolean().optional(),
  /** Merges and checks, and leaves the base where it is. */
  checkOnly: z.boolean().optional(),
  merges: z
    .array(
      z.object({
        branch: branchSchema,
        /** Whose branch it is: the actor that hears of a merge that comes back. */
        author: z.object({ id: idSchema, agent: idSchema.optional() }).optional(),
        /** Tasks of the author that become pending if the merge comes back. */
        tasks: z.array(idSchema).max(limits.mergeTasksMax).optional(),
        /** Branches queued for this base that have to be merged first; one that is not queued counts as merged. */
        after: z.array(branchSchema).max(limits.mergeAfterMax).optional(),
      }),
    )
    .min(1)
    .max(limits.mergeBranchesMax),
});

/** Asks for the base's next merge. `drain`: also if none of the runner's own is left. */
const mergeTakeSchema = z.object({
  ...baseShape,
  ...actorShape,
  runner: idSchema,
  base: branchSchema,
  drain: z.boolean().optional(),
});

/** Ties the runner's merges to this connection: after a daemon's restart. */
const mergeAttachSchema = z.object({ ...baseShape, runner: idSchema });

/** Tells what came of run `run` of a merge. `moving`: the base is about to move to `commit`; nobody can cancel it then. */
const mergeReportSchema = z.object({
  ...baseShape,
  ...actorShape,
  runner: idSchema,
  merge: idSchema,
  run: count,
  outcome: z.discriminatedUnion("is", [
    z.object({ is: z.literal("moving"), commit: commitSchema }),
    z.object({ is: z.literal("merged"), commit: commitSchema }),
    z.object({ is: z.literal("checked"), commit: commitSchema }),
    z.object({ is: z.literal("returned"), reason: reasonSchema }),
    z.object({ is: z.literal("cancelled"), reason: reasonSchema }),
    /** The runner gives it back; another one may take it. */
    z.object({ is: z.literal("queued") }),
  ]),
});

/** Cancels a merge, by its id or a part of it, or all that a runner has queued. */
const mergeCancelSchema = z
  .object({
    ...baseShape,
    ...actorShape,
    merge: idSchema.optional(),
    runner: idSchema.optional(),
    reason: reasonSchema.optional(),
  })
  .refine(({ merge, runner }) => (merge === undefined) !== (runner === undefined), {
    error: "give merge, or runner",
  });

export interface MergeRow {
  readonly id: string;
  readonly project: string;
  readonly base: string;
  readonly branch: string;
  readonly state: MergeState;
  readonly rebase: boolean;
  readonly checkOnly: boolean;
  /** Whose branch it is; null: Kite does not know. */
  readonly author: ActorRow | null;
  readonly tasks: readonly string[];
  /** Ids of earlier merges of the same base that have to be merged first. */
  readonly after: readonly string[];
  /** Who queued it; null: a person. */
  readonly by: ActorRow | null;
  /** Whether a process is there that will merge it, or does. */
  readonly attended: boolean;
  /** How often it began. */
  readonly runs: number;
  /** Whether the base is being moved now. */
  readonly moving: boolean;
  /** Where the base was moved to, or was about to be; null before. */
  readonly commit: string | null;
  readonly reason: MergeReason | null;
  /** In rows of `query`: it came back, and who has to know has not read so. Absent: it was read, or it did not come back. */
  readonly unread?: UnreadReturn;
  /** Wall time in milliseconds. */
  readonly queuedAt: number;
  readonly changedAt: number;
}

/** A merge of a machine that shares a store, as the others know it. */
export interface MergeThere {
  readonly id: string;
  /** The project's name in the store. */
  readonly project: string;
  /** The branch, and the one that it goes into, without `refs/heads/`. */
  readonly branch: string;
  readonly base: string;
  /** The session of the branch's author in the store; null: it is not known there. */
  readonly author: string | null;
  readonly authorName: string | null;
  readonly state: MergeState;
  /** Wall time in milliseconds. */
  readonly changedAt: number;
}

/** In rows of `query`: `project` as this machine has it. */
export interface MergeElsewhereRow extends MergeThere {
  readonly machine: string;
}

/** `merges` in the order of the request. One that waited unattended is taken over, and keeps its place. */
export interface MergeQueueReply {
  readonly ok: true;
  readonly merges: readonly MergeRow[];
}

/** `merge` is null if it is another one's turn (`ahead`, until the next `merge_changed`), or nothing is left. */
export interface MergeTakeReply {
  readonly ok: true;
  readonly merge: MergeRow | null;
  readonly ahead: MergeRow | null;
  /** The runner's merges that have not ended. */
  readonly left: number;
}

export interface MergeAttachReply {
  readonly ok: true;
  /** The runner's merges that have not ended. */
  readonly left: number;
}

export interface MergeReply {
  readonly ok: true;
  readonly merge: MergeRow;
}

export interface MergeCancelReply {
  readonly ok: true;
  readonly cancelled: readonly string[];
}

/** The events of merges. */
export type MergeEvent = MergeChanged | MergeElsewhereChanged;

/** The row of another machine's merge is new or has another state. It is in the log of the store, so it has no cursor. */
interface MergeElsewhereChanged {
  readonly event: "merge_elsewhere_changed";
  readonly merge: string;
  readonly machine: string;
  readonly project: string;
  /** The branch, and the one that it goes into, without `refs/heads/`. */
  readonly branch: string;
  readonly base: string;
  /** Null: its machine tells of it no more, since it was merged or cancelled, or came back before others. */
  readonly state: MergeState | null;
}

interface MergeChanged {
  /** A merge was queued, began or ended; `state` queued after running: its runner is gone. */
  readonly event: "merge_changed";
  readonly merge: string;
  readonly project: string;
  readonly base: string;
  readonly branch: string;
  readonly state: MergeState;
  /** The commit that the base is at; null unless merged. */
  readonly commit: string | null;
  /** Why it came back or was cancelled; else null. */
  readonly reason: string | null;
  /** Null: a person. */
  readonly by: ActorRow | null;
}

export const mergeRequests = {
  merge_queue: { params: mergeQueueSchema, reply: reply<MergeQueueReply>(), traits: once },
  merge_take: { params: mergeTakeSchema, reply: reply<MergeTakeReply>(), traits: once },
  merge_attach: { params: mergeAttachSchema, reply: reply<MergeAttachReply>(), traits: repeatable },
  merge_report: { params: mergeReportSchema, reply: reply<MergeReply>(), traits: once },
  merge_cancel: { params: mergeCancelSchema, reply: reply<MergeCancelReply>(), traits: once },
} as const satisfies RequestTable;
