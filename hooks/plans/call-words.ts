/** An id for a call whose client gives it none. */
import type { HookContext } from "../seam/plan.ts";
import type { Event } from "./event.ts";

/** Of a longer input only this much of its start and of its end counts, and its length. */
const endChars = 100_000;

/** Returns the event with an id of its call: the event after a call gets that of the event before it. */
export function withCall(event: Event, { calls }: Pick<HookContext, "calls">): Event {
  const { client, step } = event;
  if (client.limits.namesCalls || step === null) return event;
  const words = wordsOf(event);
  return { ...event, toolUseId: step === "before" ? calls.begins(words) : calls.ends(words) };
}

/** The same for two calls if session, agent, tool and input are the same; at most 16 characters. */
function wordsOf({ session, agent, tool, raw }: Event): string {
  const input = JSON.stringify(raw["tool_input"] ?? null);
  const isLong = input.length > 2 * endChars;
  const read = isLong ? input.slice(0, endChars) + input.slice(-endChars) : input;
  return hash(JSON.stringify([session, agent, tool, input.length, read]));
}

/** Two 32-bit FNV-1a hashes from different starts: only calls of one session with one tool must differ in it. */
function hash(text: string): string {
  let [a, b] = [0x811c9dc5, 0x9747b28c];
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit ^ (a >>> 16), 0x01000193);
  }
  return [a, b].map(half => (half >>> 0).toString(16).padStart(8, "0")).join("");
}
