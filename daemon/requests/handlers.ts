/** The table of handlers, one for each request. */
import type { RequestOf, RequestType } from "../../protocol/requests.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import { checkRecord, worktreeState } from "../lead/checks/requests.ts";
import {
  debateAnswer,
  debateChallenge,
  debateClose,
  debateConcede,
  debateEvidence,
  debateGet,
  debateList,
  debateOpen,
} from "../lead/debates/requests.ts";
import { agentRelease } from "../lead/health/requests.ts";
import { mergeAttach, mergeCancel, mergeQueue, mergeReport, mergeTake } from "../lead/merges/requests.ts";
import { roleSet } from "../lead/roles/requests.ts";
import { spawnCreate, spawnRemove, spawnReplace, spawnUpdate } from "../lead/spawns/requests.ts";
import type { Call } from "../server/call.ts";
import { contextDelete, contextGet, contextList, contextSet } from "./context.ts";
import { hello, ping, query, shutdown, stats, subscribe } from "./daemon.ts";
import { declare } from "./declarations.ts";
import type { DaemonServices, RequestHandler } from "./handler.ts";
import { hook } from "./hook.ts";
import { fileCheck, fileLock, fileTouch, fileUnlock } from "./locks.ts";
import { broadcast, messageAck, messageList, messageSend, resume } from "./messages.ts";
import { sessionRename } from "./rename.ts";
import { deregister, heartbeat, register } from "./sessions.ts";
import {
  taskApprove,
  taskClaim,
  taskCreate,
  taskGet,
  taskImport,
  taskRelease,
  taskRemove,
  taskUpdate,
} from "./tasks.ts";
import { whoami } from "./whoami.ts";

/** The services of all handlers together. */
export type HandlerServices = DaemonServices & HookServices;

type RequestHandlers = { readonly [T in RequestType]: RequestHandler<T, HandlerServices> };

const handlers: RequestHandlers = {
  hello,
  register,
  heartbeat,
  deregister,
  whoami,
  file_lock: fileLock,
  file_unlock: fileUnlock,
  file_check: fileCheck,
  file_touch: fileTouch,
  declare,
  context_set: contextSet,
  context_get: contextGet,
  context_list: contextList,
  context_delete: contextDelete,
  debate_open: debateOpen,
  debate_challenge: debateChallenge,
  debate_evidence: debateEvidence,
  debate_answer: debateAnswer,
  debate_concede: debateConcede,
  debate_close: debateClose,
  debate_get: debateGet,
  debate_list: debateList,
  message_send: messageSend,
  message_list: messageList,
  message_ack: messageAck,
  broadcast,
  resume,
  task_create: taskCreate,
  task_update: taskUpdate,
  task_get: taskGet,
  task_claim: taskClaim,
  task_release: taskRelease,
  task_remove: taskRemove,
  task_import: taskImport,
  spawn_create: spawnCreate,
  spawn_replace: spawnReplace,
  spawn_update: spawnUpdate,
  spawn_remove: spawnRemove,
  task_approve: taskApprove,
  session_rename: sessionRename,
  role_set: roleSet,
  agent_release: agentRelease,
  worktree_state: worktreeState,
  check_record: checkRecord,
  merge_queue: mergeQueue,
  merge_take: mergeTake,
  merge_attach: mergeAttach,
  merge_report: mergeReport,
  merge_cancel: mergeCancel,
  hook,
  subscribe,
  query,
  stats,
  ping,
  shutdown,
};

export function run<T extends RequestType>(
  services: HandlerServices,
  type: T,
  request: RequestOf<T>,
  call: Call,
): Promise<void> | undefined {
  return handlers[type](services, request, call);
}
