/** The handler of each request. */
import type { RequestOf, RequestType } from "../protocol/requests.ts";
import type { Call } from "./call.ts";
import type { HookServices } from "./hook-services.ts";
import type { DaemonServices, RequestHandler } from "./request-handler.ts";
import { contextDelete, contextGet, contextList, contextSet } from "./requests-context.ts";
import { hello, ping, query, shutdown, stats, subscribe } from "./requests-daemon.ts";
import { hook } from "./requests-hook.ts";
import { fileCheck, fileLock, fileTouch, fileUnlock } from "./requests-lock.ts";
import { broadcast, messageAck, messageList, messageSend, resume } from "./requests-message.ts";
import { deregister, heartbeat, register } from "./requests-session.ts";
import {
  taskClaim,
  taskCreate,
  taskGet,
  taskImport,
  taskRelease,
  taskRemove,
  taskUpdate,
} from "./requests-task.ts";
import { whoami } from "./requests-whoami.ts";

/** What the handlers use, all together. */
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
  context_set: contextSet,
  context_get: contextGet,
  context_list: contextList,
  context_delete: contextDelete,
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
