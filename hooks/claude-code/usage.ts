/** What a transcript counts of tokens. Of a line nothing else leaves this file: no prompt, no answer, no name of a file. */
import { limits } from "../../protocol/limits.ts";
import { within } from "../plans/event.ts";

/** Tokens, as the model's service counted them. */
export interface Tokens {
  /** Read anew: neither from the cache nor into it. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWritten: number;
}

/** A record of a message. A message may have several, of which the last one counts. */
export interface MessageTokens {
  readonly message: string;
  readonly tokens: Tokens;
}

/** Returns what a line of a transcript counts; null: it is no answer of a model, or half-written. */
export function tokensIn(line: string): MessageTokens | null {
  // Most lines are long and have none.
  if (!line.includes('"usage"')) return null;
  const value = parsed(line);
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
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
