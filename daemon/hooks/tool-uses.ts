/** Which agent makes which call: the event before it names both, the call itself only the tool use, or nothing. */
import { limits } from "../../protocol/limits.ts";

export interface ToolUse {
  readonly session: string;
  readonly agent: string | null;
  /** Where the agent worked then. */
  readonly cwd: string;
  /** The shell line that makes the call; null where a tool does. */
  readonly command: string | null;
}

/** A shell line, and how many commands in it have asked who types them. */
interface Noted extends ToolUse {
  asked: number;
}

/** The latest ones, gone with the daemon: the call follows its event at once. */
export class ToolUses {
  readonly #uses = new Map<string, Noted>();

  note(id: string, use: ToolUse): void {
    this.#uses.delete(id);
    this.#uses.set(id, { ...use, asked: 0 });
    if (this.#uses.size <= limits.toolUsesMax) return;
    const [oldest] = this.#uses.keys();
    if (oldest !== undefined) this.#uses.delete(oldest);
  }

  /** The shell line has run. */
  ended(id: string): void {
    if (this.#uses.get(id)?.command) this.#uses.delete(id);
  }

  of(id: string): ToolUse | null {
    return this.#uses.get(id) ?? null;
  }

  /**
   * The line of this session in which these words stand. Of several, one that was not asked for yet, the latest: the
   * end of a line may be told late, or never. Where they stand in none (the shell wrote them), the lines of one agent
   * are its lines whatever they are.
   */
  typed(session: string, words: string): ToolUse | null {
    const lines = [...this.#uses.values()].filter(use => use.session === session && use.command !== null);
    const fits = lines.filter(use => stands(words, use.command));
    const isOnes = new Set(lines.map(({ agent }) => agent)).size === 1;
    const candidates = fits.length > 0 ? fits : isOnes ? lines : [];
    let found: Noted | null = null;
    for (const use of candidates) if (found === null || use.asked <= found.asked) found = use;
    if (found !== null) found.asked += 1;
    return found;
  }
}

/** Quotes and blanks are the shell's: they are not looked at. */
function stands(words: string, command: string | null): boolean {
  return command !== null && bare(command).includes(bare(`kite ${words}`));
}

function bare(text: string): string {
  return text.replace(/["'\\\s]+/g, "");
}
