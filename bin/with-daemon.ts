/** Sends a command's requests to the daemon, and reports failures. */
import { NotRunning } from "../client/errors.ts";
import type { Refusal } from "../protocol/codes.ts";
import type { QueryReply, RefusalRow } from "../protocol/daemon.ts";
import type { DeclarationRow } from "../protocol/declaration.ts";
import type { CheckRow } from "../protocol/lead/check.ts";
import type { MergeRow } from "../protocol/lead/merge.ts";
import type { SpawnRow } from "../protocol/lead/spawn.ts";
import type { TeamRow } from "../protocol/lead/team.ts";
import { limits } from "../protocol/limits.ts";
import type { LockRow } from "../protocol/lock.ts";
import type { HoldRow, PostedRow } from "../protocol/message.ts";
import type { ParamsOf, ReplyOf, RequestType } from "../protocol/requests.ts";
import type { SessionRow } from "../protocol/session-rows.ts";
import type { ClientTaskRow, TaskRow } from "../protocol/task.ts";
import type { RiskRow, WriteRow } from "../protocol/write.ts";
import { type Client, type ProcessContext, printJson } from "./process-context.ts";
import { refusalText } from "./refusal-text.ts";
import { clean } from "./view/text.ts";

/** Exit codes of commands that are not `kite lock`; commander's own for a wrong command line is 1. */
export const exitCodes = { done: 0, failed: 1, notRunning: 3 } as const;

/** The daemon refused a request that the command needs. Its message is for a terminal. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusalText(refusal, "terminal"));
    this.refusal = refusal;
  }
}

/** Returns the reply. Throws Refused if the daemon refused. */
export function granted<R extends { readonly ok: true }>(answer: R | Refusal): R {
  if (!answer.ok) throw new Refused(answer);
  return answer;
}

/** Sends a request and returns the reply. Throws Refused if the daemon refuses. */
export async function ask<T extends RequestType>(
  client: Pick<Client, "request">,
  type: T,
  params: ParamsOf<T>,
): Promise<ReplyOf<T>> {
  return granted<ReplyOf<T>>(await client.request(type, params));
}

/** Prints a command's failure on standard error; with `json`, as an object on standard output. */
export function fail(world: ProcessContext, json: boolean, code: string, error: string): void {
  if (json) printJson(world, { ok: false, code, error });
  else world.stderr.write(`kite: ${clean(error)}\n`);
}

export interface AskOptions {
  /** Reconnect after a lost connection. */
  readonly reconnect?: boolean;
  /** How long an absence may last, in milliseconds. */
  readonly reconnectMs?: number;
  /** Reports in the command's own way that no daemon runs. */
  readonly absent?: () => void;
}

/**
 * Connects, runs `work` and closes. Returns the exit code of `work`, or that of a refusal or an absent daemon, which
 * it reports with `fail`.
 */
export async function withDaemon(
  world: ProcessContext,
  json: boolean,
  work: (client: Client) => Promise<number>,
  options: AskOptions = {},
): Promise<number> {
  let client: Client;
  try {
    const { reconnect = false, reconnectMs } = options;
    const lasts = reconnectMs === undefined ? {} : { reconnectMs };
    client = await world.connect({ name: "kite", reconnect, ...lasts });
  } catch (error) {
    if (!(error instanceof NotRunning)) throw error;
    if (options.absent !== undefined) options.absent();
    else fail(world, json, "not_running", error.message);
    return exitCodes.notRunning;
  }
  try {
    return await reported(world, json, () => work(client));
  } finally {
    client.close();
  }
}

/** Returns the exit code of `work`; if it throws `Refused`, prints the refusal and returns `exitCodes.failed`. */
export async function reported(
  world: ProcessContext,
  json: boolean,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (json) printJson(world, error.refusal);
    else fail(world, false, error.refusal.code, error.message);
    return exitCodes.failed;
  }
}

interface Rows {
  readonly sessions: SessionRow;
  readonly locks: LockRow;
  readonly writes: WriteRow;
  readonly risks: RiskRow;
  readonly refusals: RefusalRow;
  readonly tasks: TaskRow;
  readonly task_ready: TaskRow;
  readonly task_blocked: TaskRow;
  readonly task_watched: TaskRow;
  readonly client_tasks: ClientTaskRow;
  readonly teams: TeamRow;
  readonly messages: PostedRow;
  readonly holds: HoldRow;
  readonly declarations: DeclarationRow;
  readonly declarations_ended: DeclarationRow;
  readonly checks: CheckRow;
  readonly merges: MergeRow;
  readonly spawns: SpawnRow;
}

const isDeclaration = (row: unknown): row is DeclarationRow =>
  has(row, "id", "role", "task", "files", "endedMs");
const isTask = (row: unknown): row is TaskRow => has(row, "id", "description", "status", "blockedBy", "risk");

/** Tests whether a row has the fields of this version; one without them comes from a daemon of another version. */
const isRow: { readonly [T in keyof Rows]: (row: unknown) => row is Rows[T] } = {
  sessions: (row): row is SessionRow =>
    has(row, "id", "name", "project", "worktree", "status", "agents", "task"),
  locks: (row): row is LockRow => has(row, "file", "path", "project", "kind", "holder", "waiters"),
  writes: (row): row is WriteRow => has(row, "file", "path", "worktree", "state", "writers", "holder"),
  risks: (row): row is RiskRow => has(row, "file", "project", "sides"),
  refusals: (row): row is RefusalRow => has(row, "at", "code", "error"),
  tasks: isTask,
  task_ready: isTask,
  task_blocked: isTask,
  task_watched: isTask,
  client_tasks: (row): row is ClientTaskRow => has(row, "list", "task", "subject", "state", "resting"),
  teams: (row): row is TeamRow => has(row, "team", "kind", "members", "tasks", "problems"),
  messages: (row): row is PostedRow => has(row, "id", "from", "to", "text", "thread"),
  holds: (row): row is HoldRow => has(row, "hold", "files", "by", "leftMs"),
  declarations: isDeclaration,
  declarations_ended: isDeclaration,
  merges: (row): row is MergeRow => has(row, "id", "base", "branch", "state", "runs", "reason"),
  spawns: (row): row is SpawnRow => has(row, "id", "name", "state", "backend", "handle", "attempts"),
  checks: (row): row is CheckRow => has(row, "project", "worktree", "name", "command", "exit", "dirty"),
};

function has(row: unknown, ...names: readonly string[]): boolean {
  return typeof row === "object" && row !== null && names.every(name => Object.hasOwn(row, name));
}

/** Filters of a query; `id` is a session's. */
export type RowFilter = Pick<ParamsOf<"query">, "id" | "project" | "status" | "assignee" | "label" | "text">;

/** Returns all rows, fetched page by page, at most `max`. Throws `Refused`. */
export async function rowsOf<T extends keyof Rows>(
  client: Pick<Client, "request" | "daemon">,
  target: T,
  filter: RowFilter = {},
  max: number = limits.rowsShownMax,
): Promise<Rows[T][]> {
  const first = await ask(client, "query", { target, limit: limits.rowsMax, ...filter });
  return rowsFrom(client, target, first, filter, max);
}

/** Returns the rows of a first page and those after it, at most `max`. Throws `Refused`. */
export async function rowsFrom<T extends keyof Rows>(
  client: Pick<Client, "request" | "daemon">,
  target: T,
  first: QueryReply,
  filter: RowFilter = {},
  max: number = limits.rowsShownMax,
): Promise<Rows[T][]> {
  const rows: Rows[T][] = [];
  for (let page = first; ; ) {
    for (const row of page.rows) {
      if (!isRow[target](row)) throw unknownForm(client, `sends ${target} in an unknown form`);
      rows.push(row);
    }
    const { next: after } = page;
    if (after === undefined || rows.length >= max) return rows;
    page = await ask(client, "query", { target, limit: limits.rowsMax, ...filter, after });
  }
}

/** Returns the refusal of what a daemon of another version says. */
export function unknownForm({ daemon }: Pick<Client, "daemon">, what: string): Refused {
  const error = `the daemon (version ${daemon.version}) ${what}; restart it: kite down && kite up`;
  return new Refused({ ok: false, code: "unsupported_protocol", error });
}
