/** The files in which the client shows that an agent lives: its transcript, and the status of its process. */
import { limits } from "../../protocol/limits.ts";
import { within } from "../plans/event.ts";
import type { ClientStatus, LifeFiles, TranscriptEnd } from "../seam/plan.ts";
import { subagentIn } from "./subagent-calls.ts";
import { blocksOf, parsed } from "./transcript-lines.ts";

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
