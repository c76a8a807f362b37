/** The type of request handlers, and the services they may use. */
import type { RequestOf, RequestType } from "../../protocol/schemas/requests.ts";
import type { EventHub } from "../events/hub.ts";
import type { Call } from "../server/call.ts";
import type { Connection } from "../server/connection.ts";
import type { Services } from "../services.ts";
import type { ClientTasks } from "../sessions/client-tasks.ts";
import type { SharedStore } from "../sharing/shared-store.ts";
import type { Acknowledged } from "./acknowledged.ts";

/** Services for requests about the daemon itself. */
export interface DaemonServices extends Services {
  /** The store that this machine shares with others; null: none is set. */
  readonly shared: SharedStore | null;
  readonly version: string;
  /** Time of the start by the daemon's clock, in milliseconds. */
  readonly startedAt: number;
  readonly events: EventHub;
  readonly counters: Counters;
  /** Number of each hook event since the daemon started. */
  readonly hookCounts: ReadonlyMap<string, number>;
  readonly clientTasks: ClientTasks;
  readonly acknowledged: Acknowledged;
  connections(): Iterable<Connection>;
  /** The free descriptors at the start, if those are fewer than a busy daemon needs; else null. */
  fewDescriptors(): number | null;
  /** Whether the text is the token of a person. */
  isPerson(text: string): boolean;
  /** Bytes in the journal after the last snapshot, and whether the disk is full. */
  journal(): { readonly bytes: number; readonly full: boolean };
  /** Resolves when every decision so far is in the trail, or counted as lost. */
  flushTrail(): Promise<void>;
  /** Ends the daemon after the pending replies. */
  stop(why: string): void;
}

/** Counters since the daemon started. */
export interface Counters {
  requests: number;
  refused: number;
}

/**
 * Answers one request, now or later. Returns a promise if the connection's next line has to wait until this one is
 * proposed.
 */
export type RequestHandler<T extends RequestType, S extends Services = Services> = (
  services: S,
  request: RequestOf<T>,
  call: Call,
) => Promise<void> | undefined;

/** The handlers of a feature, by its table of requests in `protocol/`; one that is missing does not compile. */
export type HandlersOf<Table, S extends Services = Services> = {
  readonly [T in keyof Table & RequestType]: RequestHandler<T, S>;
};
