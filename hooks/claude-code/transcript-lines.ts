/** How a line of the client's transcripts is read, whatever is asked of it. */
import { within } from "../plans/event.ts";

/** Null for a line that is cut or half-written, or not the client's. */
export function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** The blocks of a message; a content that is one text counts as a block of it. */
export function blocksOf(message: unknown): readonly unknown[] {
  const content = within(message, "content");
  return Array.isArray(content) ? content : [{ type: "text", text: content }];
}
