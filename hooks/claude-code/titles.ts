/** What a session is about, from the records in which its client keeps that: its transcript has a line for each. */
import { within } from "../plans/event.ts";
import { parsed } from "./transcript-lines.ts";

export interface SessionWords {
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
