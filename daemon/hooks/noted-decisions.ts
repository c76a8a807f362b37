/**
 * Which decisions on shell lines the trail has. A client runs one hook for each of its rules that a line matches, and each is
 * decided by itself: the line and its denial still count once.
 */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";

/** What tells a line from others: its session, and the id of its call. Without an id each hook is one of its own. */
interface Line {
  readonly session: string | null;
  readonly toolUseId?: string;
}

/** In memory only: a line that is sent again after a restart counts again. */
export class NotedDecisions {
  readonly #noted = new BoundedMap<string, true>({ entriesMax: limits.guardToldMax });

  /** Returns whether this is the first hook of the line for which `decision` is noted. */
  isFirst({ session, toolUseId }: Line, decision: string): boolean {
    if (toolUseId === undefined) return true;
    const key = `${session}\n${toolUseId}\n${decision}`;
    if (this.#noted.has(key)) return false;
    this.#noted.set(key, true);
    return true;
  }
}
