/** Tokens for a terminal: numbers alone. */
import type { Tokens } from "../../hooks/claude-code/transcripts.ts";
import { type SessionTokens, totalOf } from "../tokens/session.ts";
import { counted } from "./text.ts";

/** Returns a number with its thousands apart. */
export function grouped(n: number): string {
  return n.toString().replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** Sentences about what transcripts count. */
export function tokenSentences(tokens: SessionTokens): string[] {
  const { own, agents, agentCount } = tokens;
  const isPartial = own.isPartial || agents.isPartial;
  const more = isPartial ? ["That is not all: ask again, and Kite counts on from there."] : [];
  const all = `Its transcript counts ${words(own.tokens)}, in ${counted(own.messages, "message")}.`;
  if (agentCount === 0) return [all, ...more];
  const their = agentCount === 1 ? "Its agent adds" : `Its ${agentCount} agents add`;
  return [all, `${their} ${words(agents.tokens)}; together ${words(totalOf(tokens))}.`, ...more];
}

function words({ input, output, cacheRead, cacheWritten }: Tokens): string {
  const cache = `${grouped(cacheRead)} from the cache and ${grouped(cacheWritten)} into it`;
  return `${grouped(input)} tokens in, ${grouped(output)} out, ${cache}`;
}
