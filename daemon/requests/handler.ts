/** The type of request handlers, and the services they may use. */

import type { Refusal } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { StatsReply } from "../../protocol/schemas/daemon.ts";
import type { PostedRow } from "../../protocol/schemas/message.ts";
import type { RequestOf, RequestType } from "../../protocol/schemas/requests.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Actor } from "../core/frame/actors.ts";
import { inboxOf } from "../core/messages/inbox.ts";
import type { Command, Reply } from "../core/tables/entries.ts";
import type { Session } from "../core/tables/sessions.ts";
import { type Logs, mailLogs } from "../engine/log-view.ts";
import type { HookParts, Needs } from "../hooks/parts.ts";
import type { Services } from "../options.ts";
import { type Call, isRefusal, retryOf } from "../server/call.ts";
import type { Connection } from "../server/connection.ts";
import type { EventHub } from "../server/events.ts";
import { actorOf, signOfLife } from "../sessions/proposals.ts";
import type { Shared } from "../store/shared.ts";
import { noteReply } from "../trail/decisions.ts";
import type { TrailLine } from "../trail/line.ts";
import { postedRow } from "../views/messages.ts";
import type { Keyed, PageStart, RowsOf } from "../views/paging.ts";

// Messages that their readers acknowledged, and that so are in no inbox: kept for people who look on.
//
// Invariants: they are in memory alone, at most `limits.acknowledgedMax` and `limits.acknowledgedBytes`; one whose readers have all
// ended is shown no more, as those in their inboxes.

interface Kept {
  readonly row: PostedRow;
  readonly bytes: number;
}

export class Acknowledged {
  readonly #kept = new BoundedMap<string, Kept>({
    entriesMax: limits.acknowledgedMax,
    weightMax: limits.acknowledgedBytes,
    weightOf: ({ bytes }) => bytes,
  });
  /** What requests that are under way acknowledge. */
  readonly #asked = new WeakMap<object, readonly Kept[]>();

  /** Notes what the request is about to acknowledge. */
  asked(request: object, logs: Logs, actor: Actor, ids: readonly string[]): void {
    const found: Kept[] = [];
    for (const log of mailLogs(logs, actor.session))
      for (const id of ids) {
        const message = log.state.messages.all.get(id);
        const letter = message?.letters.get(inboxOf(log.actor(actor)));
        if (message === undefined || letter === undefined) continue;
        const row = { ...postedRow(message), to: [{ ...letter.to, state: "acknowledged" as const }] };
        found.push({ row, bytes: message.bytes });
      }
    this.#asked.set(request, found);
  }

  /** The request was granted. */
  granted(request: object): void {
    for (const { row, bytes } of this.#asked.get(request) ?? []) {
      const key = `${row.id} ${row.at}`;
      const to = [...(this.#kept.get(key)?.row.to ?? []), ...row.to];
      this.#kept.set(key, { row: { ...row, to }, bytes });
    }
  }

  /** Returns the latest `max`, the oldest first; `project`, `id`: only those of the project, and of the session. */
  rows(
    { state }: Pick<Logs, "state">,
    {
      project,
      id,
      max,
    }: { readonly project?: string | undefined; readonly id?: string | undefined; readonly max: number },
  ): PostedRow[] {
    const rows = [...this.#kept.values()].map(({ row }) => row);
    return rows
      .filter(
        ({ project: of, from, to }) =>
          (project === undefined || project === of) &&
          (id === undefined || from?.id === id || to.some(one => one.id === id)) &&
          to.some(one => state.sessions.live.has(one.id)),
      )
      .slice(-max);
  }
}

/** Services for requests about the daemon itself. */
export interface DaemonServices extends Services, Needs<"entry" | "config" | "calls"> {
  /** The store that this machine shares with others; null: none is set. */
  readonly shared: Shared | null;
  readonly version: string;
  /** Time of the start by the daemon's clock, in milliseconds. */
  readonly startedAt: number;
  readonly events: EventHub;
  readonly counters: Counters;
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
interface Counters {
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

// Finds out which actor and project a request is for, from its fields or from its connection.

export interface Asking {
  readonly id?: string | undefined;
  readonly agent?: string | undefined;
  readonly project?: string | undefined;
}

/** Returns the acting part of a session; null if the request names none: a person. */
export function callerOf(services: Services, asking: Asking, call: Call): Actor | null {
  const { id, agent } = asking;
  return id === undefined ? null : actorOfId(services, id, agent, call);
}

export function actorOfId(services: Services, id: string, agent: string | undefined, call: Call): Actor {
  return actorOf(services, id, agent ?? null, call.connection.sessions.get(id) ?? null);
}

/** Returns the request's project, else its session's, else that of a session on this connection, else `default`. */
export function projectOf(services: Services, { id, project }: Asking, call: Call): string {
  const own = id === undefined ? undefined : services.engine.state.sessions.live.get(id)?.project;
  return project ?? own ?? sessionProject(services, call) ?? "default";
}

/** Returns the project of a session registered on this connection. */
export function sessionProject(services: Services, { connection }: Call): string | undefined {
  for (const id of connection.sessions.keys()) return services.engine.state.sessions.live.get(id)?.project;
  return undefined;
}

// Requests that only become a command of the log: each is a row of a feature's table of handlers.

/** What the daemon adds to a request: who makes it, for which project, and when. */
interface Stamp<T extends RequestType> {
  /** Null: a person. */
  readonly by: RequestOf<T> extends { readonly id: string } ? Actor : Actor | null;
  readonly project: string;
  readonly wallMs: number;
}

interface Forwarded<T extends RequestType, S extends Services = Services> {
  /** Returns the command, to which the retry is added, or why there is none. */
  readonly command: (request: RequestOf<T>, stamp: Stamp<T>, services: S, call: Call) => Command | Refusal;
  /** Returns what the request's line in the trail says of the reply; without it the trail has no line. */
  readonly line?: (reply: Reply, request: RequestOf<T>, stamp: Stamp<T>) => Partial<TrailLine>;
  /** Returns the reply that the client gets; without it the core's. */
  readonly reply?: (reply: Reply, request: RequestOf<T>, services: S, stamp: Stamp<T>) => Reply;
}

/** Returns the handler of such a request. The request is a sign of life of the agent that makes it. */
export function forward<T extends RequestType, S extends Services = Services>({
  command,
  line,
  reply: shape,
}: Forwarded<T, S>): RequestHandler<T, S> {
  return (services, request, call) => {
    const asking: Asking & { readonly requestId?: string | undefined } = request;
    if (asking.id !== undefined) signOfLife(services, asking.id, asking.agent ?? null);
    const by = callerOf(services, asking, call);
    const project = projectOf(services, asking, call);
    const stamp = { by, project, wallMs: services.clock.wall() } as Stamp<T>;
    const made = command(request, stamp, services, call);
    if (isRefusal(made)) {
      call.reply(made);
      return undefined;
    }
    call.propose({ ...made, ...retryOf(asking, call) }, answer => {
      const reply = shape?.(answer, request, services, stamp) ?? answer;
      if (line !== undefined) noteReply(services, call.type, by, reply, line(reply, request, stamp));
      return reply;
    });
    return undefined;
  };
}

// The point at which features change what the answer to a declaration says.

/** Looks before the declaration is made, and returns what shapes its reply. */
export type DeclarePart = (services: Needs<"config">, session: Session) => Promise<(reply: Reply) => Reply>;

// The point at which features have a say before an agent creates tasks, or calls one done.

/** What the agent is about to do: to create tasks or bring them in, or to call one done. */
export type TaskStep = "create" | Completion;

interface Completion {
  /** Null: a task that the queue does not have yet. */
  readonly task: string | null;
  /** The requester's directory, if it is known. */
  readonly cwd: string | null;
  /** The words with which a refusal begins, before what is missing. */
  readonly what: string;
}

/** What is wrong with the step. */
interface TaskFinding {
  /** The gate lets it pass, and the reply has these sentences. */
  readonly warnings: readonly string[];
  /** Null: it passes. */
  readonly refusal: Refusal | null;
  /** What the trail says, without an agent's own text; null: nothing. */
  readonly line: { readonly rule: string; readonly why: string } | null;
}

/** `S`: the services that it needs. */
export interface TaskGate<S extends Services & HookParts = Services & HookParts> {
  /** Null: there is nothing to ask. */
  ask(services: S, by: Actor, step: TaskStep): Promise<TaskFinding> | null;
}

// The points at which features add to what a query shows.

export interface Wanted extends RowsOf {
  readonly from: PageStart | null;
  /** Only rows of this absolute path, or of what is below it. */
  readonly file?: string | undefined;
  /** The session that asks, if it sees its own project alone. */
  readonly reader?: string | undefined;
}

type OfProject = { readonly project: string };

/** What `query` shows of a target. */
export interface Target<Row extends OfProject = OfProject> {
  /** Reads what is outside of the state, if anything, and returns what makes the rows in their order. */
  open(services: DaemonServices, wanted: Wanted): Rows<Row> | Promise<Rows<Row>>;
  /** Returns the sessions that a row belongs to. Without it, `id` does not filter. */
  ids?(row: Row): readonly (string | null | undefined)[];
}

/** A row that is undefined is not wanted. */
type Rows<Row> = () => Iterable<Keyed<Row | undefined>>;

/** What a feature adds to `stats`. */
export type StatsColumn = (services: DaemonServices) => Partial<StatsReply>;
