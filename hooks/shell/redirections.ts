/** What a command of a shell line reads and writes instead of its terminal. */

import type { Document, Input, Node, Word } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { readWord } from "./words.ts";

/** The redirections of one command, collected as they are read: they may stand between its words. */
export class Redirections {
  readonly asides: Word[] = [];
  readonly #documents: Document[] = [];
  #input: Input | null = null;
  #isWritten = false;

  /** Reads those that come next. A here-document's text follows after the line. */
  read(cursor: Cursor): void {
    while (true) {
      cursor.skipBlanks();
      const operator = cursor.match(
        /(?:\d+|\{[A-Za-z_]\w*\})?(?:<<<|<<-?|<>|<&|>>|>&|>\||<(?!\()|>(?!\())|&>>?/y,
      );
      if (operator === null) return;
      cursor.skipBlanks();
      const from = cursor.at;
      const target = readWord(cursor);
      if (target === null) cursor.fail("a redirection leads nowhere");
      else this.#take(cursor, operator, target, cursor.text.slice(from, cursor.at));
    }
  }

  #take(cursor: Cursor, operator: string, target: Word, spelled: string): void {
    const [, channel = "", sign = ""] = /^([^<>&]*)(.*)$/.exec(operator) ?? [];
    const isInput = sign.startsWith("<") && (channel === "" || channel === "0");
    if (sign.startsWith("<<")) {
      const document: Document = { word: [] };
      this.#documents.push(document);
      if (isInput) this.#input = { document };
      if (sign === "<<<") document.word = [...target, { kind: "text", text: "\n", quoted: true }];
      else {
        const isQuoted = /['"\\]/.test(spelled);
        const isIndented = sign === "<<-";
        cursor.hereDocuments.push({ end: plainText(target), isQuoted, isIndented, document });
      }
      return;
    }
    if (isInput) this.#input = { from: target };
    else this.asides.push(target);
    const isOutput = sign.startsWith("&") || (sign.startsWith(">") && (channel === "" || channel === "1"));
    if (isOutput && !(sign === ">&" && spelled === "1")) this.#isWritten = true;
  }

  /** The command with what was collected. */
  around(node: Node): Node {
    const { asides } = this;
    const isPlain = this.#documents.length === 0 && this.#input === null && !this.#isWritten;
    if (isPlain && (asides.length === 0 || node.kind === "simple")) return withAsides(node, asides);
    const [documents, input, isWritten] = [this.#documents, this.#input, this.#isWritten];
    return { kind: "redirected", node, asides, documents, input, isWritten };
  }
}

function withAsides(node: Node, asides: readonly Word[]): Node {
  return node.kind === "simple" ? { ...node, asides: [...node.asides, ...asides] } : node;
}

function plainText(word: Word): string {
  return word.map(part => (part.kind === "text" ? part.text : "")).join("");
}
