/** How a line of the client's transcripts is read, whatever is asked of it. */

import { limits } from "../../protocol/limits.ts";
import { within } from "../plans/event.ts";
import type { ClientStatus, LifeFiles, LikelySubagent, TranscriptEnd } from "../seam/plan.ts";

/** Null for a line that is cut or half-written, or not the client's. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** The blocks of a message; a content that is one text counts as a block of it. */
function blocksOf(message: unknown): readonly unknown[] {
  const content = within(message, "content");
  return Array.isArray(content) ? content : [{ type: "text", text: content }];
}

// What a session is about, from the records in which its client keeps that: its transcript has a line for each.

interface SessionWords {
  /** The title that the client made of the first prompt, else the one that a person gave; null: there is none here. */
  readonly title: string | null;
  /** The latest prompt; null: there is none here. */
  readonly prompt: string | null;
}

/**
 * Returns what a part of the session's transcript says; a line that is cut counts as none. The client repeats these records
 * at the end of the file as it grows, and writes the first title at its beginning.
 */
export function wordsIn(part: string, session: string): SessionWords {
  return {
    title: last(part, session, "ai-title", "aiTitle") ?? last(part, session, "custom-title", "customTitle"),
    prompt: last(part, session, "last-prompt", "lastPrompt"),
  };
}

/** Only a record begins a line so: a text of an agent or a prompt stands escaped within its own line. */
function last(part: string, session: string, type: string, field: string): string | null {
  const begin = `{"type":"${type}",`;
  for (let at = part.lastIndexOf(begin); at !== -1; at = at === 0 ? -1 : part.lastIndexOf(begin, at - 1)) {
    if (at > 0 && part[at - 1] !== "\n") continue;
    const end = part.indexOf("\n", at);
    const record = parsed(part.slice(at, end === -1 ? undefined : end));
    const text = within(record, field);
    if (within(record, "sessionId") === session && typeof text === "string") return text.trim() || null;
  }
  return null;
}

// What a transcript counts of tokens. Of a line nothing else leaves this file: no prompt, no answer, no name of a file.

/** Tokens, as the model's service counted them. */
export interface Tokens {
  /** Read anew: neither from the cache nor into it. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWritten: number;
}

/** A record of a message. A message may have several, of which the last one counts. */
interface MessageTokens {
  readonly message: string;
  readonly tokens: Tokens;
}

/** Returns what a line of a transcript counts; null: it is no answer of a model, or half-written. */
export function tokensIn(line: string): MessageTokens | null {
  // Most lines are long and have none.
  if (!line.includes('"usage"')) return null;
  const value = jsonOrNull(line);
  if (within(value, "type") !== "assistant") return null;
  const answer = within(value, "message");
  const [usage, message] = [within(answer, "usage"), within(answer, "id")];
  if (typeof message !== "string" || message.length > limits.idBytes) return null;
  const count = (name: string): number => {
    const found = within(usage, name);
    return typeof found === "number" && Number.isSafeInteger(found) && found > 0 ? found : 0;
  };
  const tokens = {
    input: count("input_tokens"),
    output: count("output_tokens"),
    cacheRead: count("cache_read_input_tokens"),
    cacheWritten: count("cache_creation_input_tokens"),
  };
  return { message, tokens };
}

/** Null for a line that is cut or half-written, or not the client's. */
function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// Which subagent of a session acts, by the calls in the session's transcript: for clients whose events do not say.

/** The tool that begins a subagent, by its name and its former one. */
const beginners: ReadonlySet<unknown> = new Set(["Agent", "Task"]);

/** What the client runs if a call names no kind. */
const usualType = "general-purpose";

interface OpenCall {
  readonly type: string;
  readonly description: string | null;
  readonly isNested: boolean;
}

/**
 * Returns the subagent of the latest call without a result. Lines that are cut or have another form count as none. A prompt
 * to the main agent shows that the turn before is over, and with it its calls.
 */
function subagentIn(lines: readonly string[]): LikelySubagent | null {
  const open = new Map<string, OpenCall>();
  for (const text of lines) {
    const line = parsed(text);
    const role = within(line, "type");
    if (role !== "user" && role !== "assistant") continue;
    const isNested = within(line, "isSidechain") === true;
    const blocks = blocksOf(within(line, "message"));
    if (role === "assistant") for (const block of blocks) begin(open, block, isNested);
    else if (blocks.some(block => within(block, "type") === "tool_result"))
      for (const block of blocks) end(open, within(block, "tool_use_id"));
    else if (!isNested && within(line, "isMeta") !== true) open.clear();
  }
  const calls = [...open.values()];
  const latest = calls.at(-1);
  if (latest === undefined) return null;
  // A call around a nested one waits for it.
  const beside = calls.filter(({ isNested }) => isNested === latest.isNested);
  return { ...latest, others: beside.length - 1 };
}

function begin(open: Map<string, OpenCall>, block: unknown, isNested: boolean): void {
  if (within(block, "type") !== "tool_use" || !beginners.has(within(block, "name"))) return;
  const id = within(block, "id");
  if (typeof id !== "string") return;
  const input = within(block, "input");
  const type = nameIn(input, "subagent_type") ?? usualType;
  open.set(id, { type, description: nameIn(input, "description"), isNested });
}

/** The subagents of one that has ended are over, too. */
function end(open: Map<string, OpenCall>, id: unknown): void {
  const ended = typeof id === "string" ? open.get(id) : undefined;
  if (typeof id !== "string" || ended === undefined) return;
  open.delete(id);
  if (ended.isNested || [...open.values()].some(({ isNested }) => !isNested)) return;
  open.clear();
}

function nameIn(input: unknown, field: string): string | null {
  const value = within(input, field);
  return typeof value === "string" && value.trim() !== "" ? value.trim().slice(0, limits.nameBytes) : null;
}

// The files in which the client shows that an agent lives: its transcript, and the status of its process.

/** A session's transcript, below the client's own folder. */
const transcriptPattern = /^(\/.+)\/projects\/[^/]+\/[\w-]+\.jsonl$/;

export const lifeFiles: LifeFiles = {
  of: ({ session, agent, transcript, pid }) => {
    const [, home] = transcriptPattern.exec(transcript) ?? [];
    if (home === undefined || /\/\.\.?\//.test(transcript)) return null;
    if (agent === null) return { transcript, status: pid === null ? null : `${home}/sessions/${pid}.json` };
    if (!/^[\w-]+$/.test(agent) || !/^[\w-]+$/.test(session)) return null;
    const folder = transcript.slice(0, transcript.lastIndexOf("/"));
    // The dialogs of an agent are its process's: the same file tells of them.
    const status = pid === null ? null : `${home}/sessions/${pid}.json`;
    return { transcript: `${folder}/${session}/subagents/agent-${agent}.jsonl`, status };
  },
  readEnd,
  readSubagent: subagentIn,
  readStatus,
};

/**
 * The client writes a line for each message, and one before each request to the model's service. The calls of one answer
 * may have a line each, with results of others between them.
 */
function readEnd(lines: readonly string[]): TranscriptEnd {
  const answered = new Set<string>();
  /** Requests since the latest message. */
  let requests = 0;
  let hasMessage = false;
  let answer: unknown = null;
  for (const text of lines.toReversed()) {
    const line = parsed(text);
    const type = within(line, "type");
    if (type === "api-request" && !hasMessage) requests += 1;
    if (type !== "user" && type !== "assistant") continue;
    hasMessage = true;
    const message = within(line, "message");
    const blocks = blocksOf(message);
    if (type === "user") {
      if (isInterruption(blocks)) return "interrupted";
      for (const id of blocks.map(block => within(block, "tool_use_id")))
        if (typeof id === "string") answered.add(id);
      const isPrompt = blocks.every(block => within(block, "type") !== "tool_result");
      if (isPrompt) return asking(requests);
      continue;
    }
    const id = within(message, "id");
    if (answer !== null && id !== answer) return asking(requests);
    answer = id ?? "";
    const isCalled = (block: unknown) =>
      within(block, "type") === "tool_use" && !answered.has(String(within(block, "id")));
    if (blocks.some(isCalled)) return "tool";
  }
  return hasMessage ? asking(requests) : "unknown";
}

/** The client writes one line a request: several in a row are tries that failed. */
function asking(requests: number): TranscriptEnd {
  return requests > 1 ? "service" : "model";
}

function isInterruption(blocks: readonly unknown[]): boolean {
  return blocks.some(block => String(within(block, "text")).startsWith("[Request interrupted by user"));
}

function readStatus(text: string, session: string): ClientStatus | null {
  const value = parsed(text);
  if (within(value, "sessionId") !== session) return null;
  const status = within(value, "status");
  if (status !== "busy" && status !== "idle" && status !== "waiting") return null;
  const on = within(value, "waitingFor");
  return { status, on: typeof on === "string" ? on.slice(0, limits.quoteChars) : "" };
}

// What an agent and its user said last, from the lines of a session's transcript.

export interface LastMessage {
  /** `agent`: the model; `prompt`: who prompts it. */
  readonly by: "agent" | "prompt";
  /** When, as the client writes it (ISO 8601); null: the line does not say. */
  readonly at: string | null;
  readonly text: string;
}

/** Returns the last `max` messages, oldest first. A message without words says which tools it uses; results of tools are none. */
export function messagesIn(lines: readonly string[], max: number): LastMessage[] {
  const found: LastMessage[] = [];
  for (const line of lines.toReversed()) {
    const message = saidIn(line);
    if (message !== null) found.push(message);
    if (found.length === max) break;
  }
  return found.reverse();
}

function saidIn(line: string): LastMessage | null {
  const value = jsonOrNull(line);
  const type = within(value, "type");
  if ((type !== "user" && type !== "assistant") || within(value, "isMeta") === true) return null;
  const text = textOf(within(within(value, "message"), "content"));
  const at = within(value, "timestamp");
  return text === ""
    ? null
    : { by: type === "user" ? "prompt" : "agent", at: typeof at === "string" ? at : null, text };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content.trim();
  if (!Array.isArray(content)) return "";
  const texts = content.flatMap(block =>
    within(block, "type") === "text" ? [String(within(block, "text"))] : [],
  );
  const tools = content.flatMap(block =>
    within(block, "type") === "tool_use" ? [String(within(block, "name"))] : [],
  );
  const words = texts.join("\n").trim();
  return words === "" && tools.length > 0 ? `uses ${tools.join(", ")}` : words;
}
