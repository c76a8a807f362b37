import { limits } from "../../protocol/limits.ts";
import type { Document, Node, Word } from "./ast.ts";

/** A here-document whose text begins after the line that asked for it. */
interface HereDocument {
  readonly end: string;
  readonly isQuoted: boolean;
  readonly isIndented: boolean;
  /** Gets the text. */
  readonly document: Document;
}

/** How the commands inside a word are read: `parser.ts`, which itself needs words. */
export type CommandReader = (cursor: Cursor) => Node;

/**
 * A place in a shell line. Whoever cannot go on calls `fail`: from then on the line is at its end, so that every
 * loop over it ends too, and what was read until then stands.
 */
export class Cursor {
  readonly text: string;
  readonly commands: CommandReader;
  at = 0;
  /** Why the rest could not be read. */
  why: string | null = null;
  #depth: number;
  /** Characters that may yet be read a second time. */
  #again: number;
  readonly hereDocuments: HereDocument[] = [];

  constructor(text: string, commands: CommandReader, depth = 0) {
    this.text = text;
    this.commands = commands;
    this.#depth = depth;
    this.#again = 4 * text.length;
    if (text.length > limits.shellLineChars) this.fail("it is too long");
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** The next character; empty at the end. */
  get next(): string {
    return this.text.charAt(this.at);
  }

  fail(why: string): void {
    this.why ??= why;
    this.at = this.text.length;
  }

  startsWith(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }

  /** Goes past `text` if it comes next. */
  skip(text: string): boolean {
    if (!this.startsWith(text)) return false;
    this.at += text.length;
    return true;
  }

  /** Goes past what a sticky pattern finds here, and returns it. */
  match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? null;
    if (found !== null) this.at += found.length;
    return found;
  }

  /** Reads something one level deeper. */
  deeper<T>(read: () => T, otherwise: T): T {
    if (this.#depth >= limits.shellDepthMax) {
      this.fail("it is nested too deep");
      return otherwise;
    }
    this.#depth += 1;
    const result = read();
    this.#depth -= 1;
    return result;
  }

  /** Goes back to read in another way what was read from there on. */
  back(to: number): void {
    this.#again -= this.at - to;
    if (this.why !== null) return;
    this.at = to;
    if (this.#again < 0) this.fail("it can be read in too many ways");
  }

  /** Reads another text, such as a here-document's, as a part of this one. */
  within(text: string, read: (cursor: Cursor) => void): void {
    const inner = new Cursor(text, this.commands, this.#depth + 1);
    if (this.#depth >= limits.shellDepthMax) inner.fail("it is nested too deep");
    read(inner);
    if (inner.why !== null) this.fail(inner.why);
  }

  /** Blanks, line continuations and, where a word could begin, a comment. */
  skipBlanks(): void {
    this.match(/(?:[ \t]|\\\n)*(?:#[^\n]*)?/y);
  }

  /** The same and the ends of lines, after which here-documents begin; their texts are read as `read` does. */
  skipLines(read: (cursor: Cursor) => Word): void {
    for (this.skipBlanks(); this.next === "\n"; this.skipBlanks()) {
      this.at += 1;
      this.#readHereDocuments(read);
    }
  }

  #readHereDocuments(read: (cursor: Cursor) => Word): void {
    for (const { end, isQuoted, isIndented, document } of this.hereDocuments.splice(0)) {
      const from = this.at;
      let to = this.text.length;
      while (!this.isAtEnd) {
        const lineAt = this.at;
        const line = this.match(/[^\n]*/y) ?? "";
        this.at += 1;
        if ((isIndented ? line.replace(/^\t+/, "") : line) !== end) continue;
        to = lineAt;
        break;
      }
      this.at = Math.min(this.at, this.text.length);
      const raw = this.text.slice(from, to);
      const text = isIndented ? raw.replace(/^\t+/gm, "") : raw;
      if (isQuoted) document.word = [{ kind: "text", text, quoted: true }];
      else
        this.within(text, inner => {
          document.word = read(inner);
        });
    }
  }
}
