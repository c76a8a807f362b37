/** Which agent makes which call. The event before a call names both; the call itself names the tool use, or nothing. */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";

export interface ToolUse {
  readonly session: string;
  readonly agent: string | null;
  /** The agent's directory at that time. */
  readonly cwd: string;
  /** The shell line that makes the call; null if a tool makes it. */
  readonly command: string | null;
}

/** A shell line, and how many of its commands have asked which agent types them. */
interface Noted extends ToolUse {
  asked: number;
}

/** The latest tool uses, in memory only: a call follows its event at once. */
export class ToolUses {
  readonly #uses = new BoundedMap<string, Noted>({ entriesMax: limits.toolUsesMax });

  note(id: string, use: ToolUse): void {
    this.#uses.set(id, { ...use, asked: 0 });
  }

  /** Forgets a shell line that has run. */
  ended(id: string): void {
    if (this.#uses.get(id)?.command) this.#uses.delete(id);
  }

  of(id: string): ToolUse | null {
    return this.#uses.get(id) ?? null;
  }

  /**
   * The line of this session that contains these words. Of several, the latest that was asked for least often: a line's
   * end may be reported late, or never. If no line contains them (a shell made them up) and all lines are one agent's,
   * it is one of these.
   */
  findByCommandLine(session: string, words: string): ToolUse | null {
    const lines = [...this.#uses.values()].filter(use => use.session === session && use.command !== null);
    const fits = lines.filter(use => containsWords(words, use.command));
    const isOnes = new Set(lines.map(({ agent }) => agent)).size === 1;
    const candidates = fits.length > 0 ? fits : isOnes ? lines : [];
    let found: Noted | null = null;
    for (const use of candidates) if (found === null || use.asked <= found.asked) found = use;
    if (found !== null) found.asked += 1;
    return found;
  }
}

/** Compares without quotes and blanks, which the shell takes away. */
function containsWords(words: string, command: string | null): boolean {
  return command !== null && withoutQuotes(command).includes(withoutQuotes(`kite ${words}`));
}

function withoutQuotes(text: string): string {
  return text.replace(/["'\\\s]+/g, "");
}
