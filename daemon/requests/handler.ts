/** What a request is handled by, and what handlers may use. */
import type { RequestOf, RequestType } from "../../protocol/requests.ts";
import type { EventHub } from "../events/hub.ts";
import type { Call } from "../server/call.ts";
import type { Connection } from "../server/connection.ts";
import type { Services } from "../services.ts";

/** For requests about the daemon itself. */
export interface DaemonServices extends Services {
  readonly version: string;
  /** By the daemon's clock, in milliseconds. */
  readonly startedAt: number;
  readonly events: EventHub;
  readonly counters: Counters;
  /** How often each hook event came since the daemon started. */
  readonly hookCounts: ReadonlyMap<string, number>;
  connections(): Iterable<Connection>;
  /** Bytes in the journal after the last snapshot, and whether the disk is full. */
  journal(): { readonly bytes: number; readonly full: boolean };
  /** Ends the daemon after the replies under way. */
  stop(why: string): void;
}

/** Since the daemon started. */
export interface Counters {
  requests: number;
  refused: number;
}

/**
 * Answers one request, now or later. Returns a promise where the connection's next line has to wait until this
 * one is proposed.
 */
export type RequestHandler<T extends RequestType, S extends Services = Services> = (
  services: S,
  request: RequestOf<T>,
  call: Call,
) => Promise<void> | undefined;
