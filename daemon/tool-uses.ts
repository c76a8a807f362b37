/** Which agent makes which call: the event before it names both, the call itself only the tool use. */
import { limits } from "../protocol/limits.ts";

export interface ToolUse {
  readonly session: string;
  readonly agent: string | null;
  /** Where the agent worked then. */
  readonly cwd: string;
}

/** The latest ones, gone with the daemon: the call follows its event at once. */
export class ToolUses {
  readonly #uses = new Map<string, ToolUse>();

  note(id: string, use: ToolUse): void {
    this.#uses.delete(id);
    this.#uses.set(id, use);
    if (this.#uses.size <= limits.toolUsesMax) return;
    const [oldest] = this.#uses.keys();
    if (oldest !== undefined) this.#uses.delete(oldest);
  }

  of(id: string): ToolUse | null {
    return this.#uses.get(id) ?? null;
  }
}
