/** The table of requests, and the types that follow from it. */
import type { z } from "zod";
import type { Refusal } from "./codes.ts";
import {
  type ContextDeleteReply,
  type ContextGetReply,
  type ContextListReply,
  type ContextSetReply,
  contextDeleteSchema,
  contextGetSchema,
  contextListSchema,
  contextSetSchema,
} from "./context.ts";
import {
  type PingReply,
  plainSchema,
  type QueryReply,
  querySchema,
  type StatsReply,
  type SubscribeReply,
  shutdownSchema,
  subscribeSchema,
} from "./daemon.ts";
import { type DeclareReply, declareSchema } from "./declaration.ts";
import { type HookReply, hookSchema } from "./hook.ts";
import {
  type CheckRecordReply,
  checkRecordSchema,
  type WorktreeStateReply,
  worktreeStateSchema,
} from "./lead/check.ts";
import {
  type DebateCloseReply,
  type DebateEntryReply,
  type DebateGetReply,
  type DebateListReply,
  type DebateOpenReply,
  debateAnswerSchema,
  debateChallengeSchema,
  debateCloseSchema,
  debateConcedeSchema,
  debateEvidenceSchema,
  debateGetSchema,
  debateListSchema,
  debateOpenSchema,
} from "./lead/debate.ts";
import {
  type MergeAttachReply,
  type MergeCancelReply,
  type MergeQueueReply,
  type MergeReply,
  type MergeTakeReply,
  mergeAttachSchema,
  mergeCancelSchema,
  mergeQueueSchema,
  mergeReportSchema,
  mergeTakeSchema,
} from "./lead/merge.ts";
import { type AgentReleaseReply, agentReleaseSchema } from "./lead/release.ts";
import { type RoleSetReply, roleSetSchema } from "./lead/role-set.ts";
import {
  type SpawnCreateReply,
  type SpawnRemoveReply,
  type SpawnReplaceReply,
  type SpawnReply,
  spawnCreateSchema,
  spawnRemoveSchema,
  spawnReplaceSchema,
  spawnUpdateSchema,
} from "./lead/spawn.ts";
import {
  type FileCheckReply,
  type FileLockReply,
  type FileUnlockReply,
  fileCheckSchema,
  fileLockSchema,
  fileTouchSchema,
  fileUnlockSchema,
} from "./lock.ts";
import {
  type BroadcastReply,
  broadcastSchema,
  type MessageAckReply,
  type MessageListReply,
  type MessageSendReply,
  messageAckSchema,
  messageListSchema,
  messageSendSchema,
  type ResumeReply,
  resumeSchema,
} from "./message.ts";
import { type SessionRenameReply, sessionRenameSchema } from "./rename.ts";
import {
  deregisterSchema,
  type HelloReply,
  heartbeatSchema,
  helloSchema,
  type OkReply,
  type RegisterReply,
  registerSchema,
  type WhoamiReply,
  whoamiSchema,
} from "./session.ts";
import {
  type TaskCreateReply,
  type TaskImportReply,
  type TaskRemoveReply,
  type TaskReply,
  taskApproveSchema,
  taskClaimSchema,
  taskCreateSchema,
  taskGetSchema,
  taskImportSchema,
  taskReleaseSchema,
  taskRemoveSchema,
  taskUpdateSchema,
} from "./task.ts";

/** The protocol version in `hello`. */
export const protocolVersion = 1;

/** Pairs a request's schema with the type of its success reply; only the compiler uses the second. */
function request<P extends z.ZodType, R>(params: P, _reply?: R): { readonly params: P; readonly reply: R } {
  return { params, reply: _reply as R };
}

/** Every request of the wire, once. Server, client, hooks and tools take their types from this table. */
export const requests = {
  hello: request<typeof helloSchema, HelloReply>(helloSchema),
  register: request<typeof registerSchema, RegisterReply>(registerSchema),
  heartbeat: request<typeof heartbeatSchema, OkReply>(heartbeatSchema),
  deregister: request<typeof deregisterSchema, OkReply>(deregisterSchema),
  whoami: request<typeof whoamiSchema, WhoamiReply>(whoamiSchema),
  file_lock: request<typeof fileLockSchema, FileLockReply>(fileLockSchema),
  file_unlock: request<typeof fileUnlockSchema, FileUnlockReply>(fileUnlockSchema),
  file_check: request<typeof fileCheckSchema, FileCheckReply>(fileCheckSchema),
  file_touch: request<typeof fileTouchSchema, OkReply>(fileTouchSchema),
  task_create: request<typeof taskCreateSchema, TaskCreateReply>(taskCreateSchema),
  task_update: request<typeof taskUpdateSchema, TaskReply>(taskUpdateSchema),
  task_get: request<typeof taskGetSchema, TaskReply>(taskGetSchema),
  task_claim: request<typeof taskClaimSchema, TaskReply>(taskClaimSchema),
  task_release: request<typeof taskReleaseSchema, TaskReply>(taskReleaseSchema),
  task_remove: request<typeof taskRemoveSchema, TaskRemoveReply>(taskRemoveSchema),
  task_import: request<typeof taskImportSchema, TaskImportReply>(taskImportSchema),
  task_approve: request<typeof taskApproveSchema, TaskReply>(taskApproveSchema),
  session_rename: request<typeof sessionRenameSchema, SessionRenameReply>(sessionRenameSchema),
  role_set: request<typeof roleSetSchema, RoleSetReply>(roleSetSchema),
  declare: request<typeof declareSchema, DeclareReply>(declareSchema),
  context_set: request<typeof contextSetSchema, ContextSetReply>(contextSetSchema),
  context_get: request<typeof contextGetSchema, ContextGetReply>(contextGetSchema),
  context_list: request<typeof contextListSchema, ContextListReply>(contextListSchema),
  context_delete: request<typeof contextDeleteSchema, ContextDeleteReply>(contextDeleteSchema),
  debate_open: request<typeof debateOpenSchema, DebateOpenReply>(debateOpenSchema),
  debate_challenge: request<typeof debateChallengeSchema, DebateEntryReply>(debateChallengeSchema),
  debate_evidence: request<typeof debateEvidenceSchema, DebateEntryReply>(debateEvidenceSchema),
  debate_answer: request<typeof debateAnswerSchema, DebateEntryReply>(debateAnswerSchema),
  debate_concede: request<typeof debateConcedeSchema, DebateEntryReply>(debateConcedeSchema),
  debate_close: request<typeof debateCloseSchema, DebateCloseReply>(debateCloseSchema),
  debate_get: request<typeof debateGetSchema, DebateGetReply>(debateGetSchema),
  debate_list: request<typeof debateListSchema, DebateListReply>(debateListSchema),
  message_send: request<typeof messageSendSchema, MessageSendReply>(messageSendSchema),
  message_list: request<typeof messageListSchema, MessageListReply>(messageListSchema),
  message_ack: request<typeof messageAckSchema, MessageAckReply>(messageAckSchema),
  broadcast: request<typeof broadcastSchema, BroadcastReply>(broadcastSchema),
  resume: request<typeof resumeSchema, ResumeReply>(resumeSchema),
  agent_release: request<typeof agentReleaseSchema, AgentReleaseReply>(agentReleaseSchema),
  worktree_state: request<typeof worktreeStateSchema, WorktreeStateReply>(worktreeStateSchema),
  check_record: request<typeof checkRecordSchema, CheckRecordReply>(checkRecordSchema),
  spawn_create: request<typeof spawnCreateSchema, SpawnCreateReply>(spawnCreateSchema),
  spawn_replace: request<typeof spawnReplaceSchema, SpawnReplaceReply>(spawnReplaceSchema),
  spawn_update: request<typeof spawnUpdateSchema, SpawnReply>(spawnUpdateSchema),
  spawn_remove: request<typeof spawnRemoveSchema, SpawnRemoveReply>(spawnRemoveSchema),
  merge_queue: request<typeof mergeQueueSchema, MergeQueueReply>(mergeQueueSchema),
  merge_take: request<typeof mergeTakeSchema, MergeTakeReply>(mergeTakeSchema),
  merge_attach: request<typeof mergeAttachSchema, MergeAttachReply>(mergeAttachSchema),
  merge_report: request<typeof mergeReportSchema, MergeReply>(mergeReportSchema),
  merge_cancel: request<typeof mergeCancelSchema, MergeCancelReply>(mergeCancelSchema),
  hook: request<typeof hookSchema, HookReply>(hookSchema),
  subscribe: request<typeof subscribeSchema, SubscribeReply>(subscribeSchema),
  query: request<typeof querySchema, QueryReply>(querySchema),
  stats: request<typeof plainSchema, StatsReply>(plainSchema),
  ping: request<typeof plainSchema, PingReply>(plainSchema),
  shutdown: request<typeof shutdownSchema, OkReply>(shutdownSchema),
} as const;

export type Requests = typeof requests;
export type RequestType = keyof Requests;
/** The validated parameters of request `T`. */
export type RequestOf<T extends RequestType> = z.output<Requests[T]["params"]>;
/** The fields that a client sends for `T`, without `type`. */
export type ParamsOf<T extends RequestType> = z.input<Requests[T]["params"]>;
/** The success reply of `T`. */
export type ReplyOf<T extends RequestType> = Requests[T]["reply"];
/** The success reply of `T`, or a refusal. */
export type Answer<T extends RequestType = RequestType> = ReplyOf<T> | Refusal;
