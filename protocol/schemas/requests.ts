/** The list of the features' requests, and the types that follow from it. */

import type { z } from "zod";
import type { Refusal } from "../codes.ts";
import { contextRequests } from "./context.ts";
import { daemonRequests } from "./daemon.ts";
import { declarationRequests } from "./declaration.ts";
import { hookRequests } from "./hook.ts";
import { leadRequests } from "./leading.ts";
import { lockRequests } from "./lock.ts";
import { messageRequests } from "./message.ts";
import { overviewRequests } from "./overview.ts";
import { rescueRequests } from "./rescue.ts";
import { sessionRequests } from "./session.ts";
import { storeRequests } from "./store.ts";
import { taskRequests } from "./task.ts";

/** The protocol version in `hello`. */
export const protocolVersion = 1;

/** Every request of the wire, once. Server, client, hooks and tools take their types from this table. */
export const requests = {
  ...sessionRequests,
  ...lockRequests,
  ...taskRequests,
  ...declarationRequests,
  ...contextRequests,
  ...messageRequests,
  ...hookRequests,
  ...daemonRequests,
  ...overviewRequests,
  ...rescueRequests,
  ...storeRequests,
  ...leadRequests,
};

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
