/** Sends a command's requests to the daemon, and reports failures. */

import { LocalError, NotRunning } from "../../client/errors.ts";
import { readPersonToken } from "../../daemon/instance/socket.ts";
import { type Refusal, storeUnknown } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { QueryReply, StatsReply } from "../../protocol/schemas/daemon.ts";
import type { Answer, ParamsOf, ReplyOf, RequestType } from "../../protocol/schemas/requests.ts";
import type { StoreStale } from "../../protocol/schemas/store.ts";
import { isObject } from "../../protocol/wire.ts";
import { refusalText } from "../refusal-text.ts";
import { isRow, type Rows } from "../row-list.ts";
import { staleText } from "../view/store.ts";
import { clean, type Screen, widthOf, wrap } from "../view/text.ts";
import { actingSession, isTerminalSession } from "./actor.ts";
import { sweepFiles } from "./held-file.ts";
import {
  type Client,
  type ProcessContext,
  print,
  printFramed,
  printJson,
  screenOf,
} from "./process-context.ts";

// What replies say of a store that is away: whoever asked hears once as of when its tasks and messages are.

/** What the replies of one command or tool call said. */
interface StaleReads<C> {
  readonly client: C;
  /** The oldest `storeAsOf` of the replies so far: null if nothing is known; undefined: none had one. */
  readonly asOf: () => number | null | undefined;
}

/** Returns the client, as one that notes what its replies say. */
export function notingStale<C extends Pick<Client, "request">>(client: C): StaleReads<C> {
  let oldest: number | null | undefined;
  const request = async (...params: Parameters<C["request"]>): Promise<Answer<RequestType>> => {
    const answer = await (client.request as (...all: unknown[]) => Promise<Answer<RequestType>>)(...params);
    const asOf = staleIn(answer);
    if (asOf !== undefined && oldest !== null)
      oldest = asOf === null || oldest === undefined ? asOf : Math.min(oldest, asOf);
    return answer;
  };
  const noting = new Proxy(client, {
    get(target, name) {
      if (name === "request") return request;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { client: noting, asOf: () => oldest };
}

/** Returns `storeAsOf` of a reply. */
function staleIn(answer: unknown): StoreStale["storeAsOf"] {
  const asOf = isObject(answer) ? answer["storeAsOf"] : undefined;
  return asOf === null || typeof asOf === "number" ? asOf : undefined;
}

/** Returns the refusal of a list that is empty because nothing is known of the project; null: it is empty. */
function unknownIn(pages: readonly unknown[]): typeof storeUnknown | null {
  return pages.some(page => staleIn(page) === null) ? storeUnknown : null;
}

/** Exit codes of commands that are not `kite lock`; commander's own for a wrong command line is 1. */
export const exitCodes = { done: 0, failed: 1, notRunning: 3 } as const;

/** The daemon refused a request that the command needs. Its message is for a terminal. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly refusal: Refusal;

  constructor(refusal: Refusal, message: string = refusalText(refusal, "terminal")) {
    super(message);
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

/**
 * Prints a command's failure on standard error; with `json`, as an object on standard output. Returns the exit code of a
 * command that failed.
 */
export function fail(world: ProcessContext, json: boolean, code: string, error: string): number {
  if (json) printJson(world, { ok: false, code, error });
  else {
    const isPersons = actingSession(world.env) === null && world.env["CLAUDECODE"] !== "1";
    world.stderr.write(`${failureLines(`kite: ${clean(error)}`, isPersons).join("\n")}\n`);
  }
  return exitCodes.failed;
}

/** A line of a failure has so many columns at most, if its sentences have. */
const failureColumns = 120;

/**
 * Returns a failure's lines: a long one goes on below, sentence by sentence. A sentence with a command of Kite's or of the
 * shell is never broken, so that the command can be copied. For an agent no line is broken: the rest of a foreign text would
 * stand where a line of Kite's own begins.
 */
function failureLines(text: string, isPersons: boolean): string[] {
  if (!isPersons || widthOf(text) <= failureColumns) return [text];
  const lines: string[] = [];
  for (const part of text.split(/(?<=[;.]) (?=\S)/)) {
    const last = lines.at(-1);
    const margin = lines.length === 0 ? "" : "  ";
    if (last !== undefined && widthOf(last) + 1 + widthOf(part) <= failureColumns)
      lines.push(`${lines.pop()} ${part}`);
    else if (
      /: (?:cd|ch[a-z]+|cp|find|git|ln|mkdir|mv|npm|rm|sudo) |\bkite /.test(part.replace(/^kite: /, ""))
    )
      lines.push(margin + part);
    else
      lines.push(
        ...wrap(part, failureColumns - margin.length, lines.length === 0 ? 2 : 0).map(line => margin + line),
      );
  }
  return lines;
}

/** Prints what a command did: as JSON, or in lines. Returns the exit code of success. */
export function printDone(
  world: ProcessContext,
  json: boolean,
  value: unknown,
  lines: (screen: Screen) => readonly string[],
): number {
  if (json) printJson(world, value);
  else print(world, lines(screenOf(world)));
  return exitCodes.done;
}

/** Prints what a command shows of others' words: as JSON, or in lines behind the frame. Returns the exit code of success. */
export function printShown(
  world: ProcessContext,
  json: boolean,
  value: unknown,
  lines: (screen: Screen) => readonly string[],
): number {
  if (json) printJson(world, value);
  else printFramed(world, lines(screenOf(world)));
  return exitCodes.done;
}

export interface AskOptions {
  /** What the connection is called; `kite`. */
  readonly name?: string;
  /** Reconnect after a lost connection. */
  readonly reconnect?: boolean;
  /** How long an absence may last, in milliseconds. */
  readonly reconnectMs?: number;
  /** The command only looks on: for it alone the daemon does not stay. */
  readonly onlooker?: true;
  /** See `asPerson`. */
  readonly person?: "always" | "unnamed";
  /** The command itself says of a store that is away as of when its rows are. */
  readonly saysStale?: true;
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
  sweepFiles(world.paths);
  let client: Client;
  try {
    const { name = "kite", reconnect = false, reconnectMs } = options;
    const lasts = reconnectMs === undefined ? {} : { reconnectMs };
    const person = options.person === undefined ? {} : tokenOf(world, options.person);
    const onlooker = options.onlooker === true ? { onlooker: true as const } : {};
    client = await world.connect({ name, reconnect, ...lasts, ...person, ...onlooker });
  } catch (error) {
    if (!(error instanceof NotRunning)) throw error;
    if (options.absent !== undefined) options.absent();
    else fail(world, json, "not_running", error.message);
    return exitCodes.notRunning;
  }
  const noting = options.saysStale === true ? null : notingStale(client);
  let code: number = exitCodes.failed;
  try {
    code = await reported(world, json, () =>
      work(noting?.client ?? client).catch(async error =>
        throwKnown(world, await readable(world, client, error), options),
      ),
    );
    if (noting !== null) sayStale(world, noting.asOf(), code);
    return code;
  } finally {
    client.close();
  }
}

/**
 * Says on standard error as of when it is what a command printed, since a script reads its output. `asOf`: undefined if it is as of
 * now. A refusal has said already that nothing is known.
 */
export function sayStale(world: ProcessContext, asOf: number | null | undefined, code: number): void {
  const isSaid = asOf === null && code !== exitCodes.done;
  if (asOf !== undefined && !isSaid) world.stderr.write(`kite: ${staleText(asOf, world.now())}\n`);
}

/** Returns a refusal with the numbers of the tasks that it names. */
async function readable(world: ProcessContext, client: Client, error: unknown): Promise<unknown> {
  if (!(error instanceof Refused) || !/\bt-[0-9a-z]+-/.test(error.message)) return error;
  const { ownProject } = await import("./project.ts");
  const [{ inNumbers }, { numbersIn }] = await Promise.all([
    import("../view/task-names.ts"),
    import("./task-numbers.ts"),
  ]);
  const project = await ownProject(world);
  // The refusal is what the person needs to read, also if the connection is lost meanwhile.
  const numbers = project === null ? null : await numbersIn(client, project, error.message).catch(() => null);
  return numbers === null ? error : new Refused(error.refusal, inNumbers(error.message, numbers));
}

/** A person's command without its token learns why the daemon takes it for an agent's. */
function throwKnown({ paths }: ProcessContext, error: unknown, { person }: AskOptions): never {
  const isUnknown = error instanceof Refused && error.refusal.code === "person_only";
  if (person === undefined || !isUnknown || readPersonToken(paths.personToken) !== null) throw error;
  const missing = `${paths.personToken} is missing, by which Kite knows a person; to have it made anew: kite down && kite up`;
  throw new Refused({ ok: false, code: "person_only", error: missing });
}

/**
 * As `withDaemon`, for a command that `refuseAgent` let go on. Its requests count as a person's, unless it acts in the
 * name of a session. With `person: "always"` they count as a person's also then.
 */
export function asPerson(
  world: ProcessContext,
  json: boolean,
  work: (client: Client) => Promise<number>,
  options: AskOptions = {},
): Promise<number> {
  return withDaemon(world, json, work, { person: "unnamed", ...options });
}

/** Returns the token for a command's own connection, on which it asks as a person unless it acts in the name of a session. */
export function unnamedPerson(world: ProcessContext): { readonly person?: string } {
  return tokenOf(world, "unnamed");
}

/** Returns the person's token; if only who is `unnamed` is a person, not in the name of an agent's session. */
function tokenOf(
  { env, paths }: ProcessContext,
  when: NonNullable<AskOptions["person"]>,
): { readonly person?: string } {
  const acting = actingSession(env);
  if (when === "unnamed" && acting !== null && !isTerminalSession(env, acting.id)) return {};
  const token = readPersonToken(paths.personToken);
  return token === null ? {} : { person: token };
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

/** Filters of a query; `id` is a session's. */
export type RowFilter = Pick<
  ParamsOf<"query">,
  "id" | "project" | "status" | "assignee" | "label" | "text" | "file" | "reader"
>;

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

/** The same for who says that there are none: throws `Refused` if there are none because nothing is known of a shared project. */
export async function knownRowsOf<T extends keyof Rows>(
  client: Pick<Client, "request" | "daemon">,
  target: T,
  filter: RowFilter = {},
  max: number = limits.rowsShownMax,
): Promise<Rows[T][]> {
  const first = await ask(client, "query", { target, limit: limits.rowsMax, ...filter });
  const rows = await rowsFrom(client, target, first, filter, max);
  if (rows.length === 0) throwIfUnknown([first]);
  return rows;
}

/** Throws `Refused` if these pages have nothing because nothing is known of a shared project. */
export function throwIfUnknown(pages: readonly unknown[]): void {
  const unknown = unknownIn(pages);
  if (unknown !== null) throw new Refused(unknown);
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

/** Asks for page after page: `ask` gets the end of the page before. */
export async function pagesOf<Page extends { readonly next?: string }>(
  ask: (from: { readonly after?: string }) => Promise<Page>,
): Promise<Page[]> {
  const pages = [await ask({})];
  for (;;) {
    const after = pages.at(-1)?.next;
    if (after === undefined) return pages;
    pages.push(await ask({ after }));
  }
}

// What is said of a daemon that may open too few files.

/** A sentence, and the shell line that mends it. */
interface FewFiles {
  readonly text: string;
  readonly line: string;
}

/** Returns null if the daemon may open enough files. */
export function fewFiles({ filesFree }: Pick<StatsReply, "filesFree">): FewFiles | null {
  if (filesFree === undefined) return null;
  const text = `the daemon began with room for ${filesFree} open files (ulimit -n), and needs ${limits.descriptorsWanted}: with less, edits of many sessions are refused instead of waiting`;
  return { text, line: "ulimit -n 256 && kite down && kite up" };
}

// Which sessions are at work: what a person does then may be in an agent's way.

/** Returns the names of the sessions in which an agent is active; none if no daemon tells. */
export async function atWork(world: ProcessContext): Promise<readonly string[]> {
  try {
    const client = await world.connect({ name: "kite" });
    try {
      const rows = await rowsOf(client, "sessions");
      const isActive = ({ status }: { readonly status: string }) => status === "active";
      return rows.filter(row => isActive(row) || row.agents.some(isActive)).map(({ name }) => clean(name));
    } finally {
      client.close();
    }
  } catch (error) {
    // A daemon that does not tell its sessions is stopped all the same, which reports what is wrong with it.
    if (error instanceof LocalError || error instanceof Refused) return [];
    throw error;
  }
}

// How live views end.

/** Resolves when a stream ends: null if `until` is aborted, else why the connection is lost for good. */
export async function streamEnd(client: Client, until: AbortSignal): Promise<string | null> {
  const stopListening = new AbortController();
  const aborted = new Promise<null>(resolve => {
    if (until.aborted) resolve(null);
    until.addEventListener("abort", () => resolve(null), { signal: stopListening.signal });
  });
  const why = await Promise.race([aborted, client.closed.then(({ message }) => message)]);
  stopListening.abort();
  return why;
}

/** Returns the exit code for a stream that ended so; prints why if the daemon has gone. */
export function streamCode(world: ProcessContext, json: boolean, why: string | null): number {
  if (why === null) return exitCodes.done;
  fail(world, json, "not_running", why);
  return exitCodes.notRunning;
}
