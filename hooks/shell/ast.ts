/** The parts of a shell line that tell which programs it runs, with which words and where. */

/**
 * A piece of a word. A `variable` is a name, a number, `@`, `*` or an element of an array (`NAME[@]`, `NAME[0]`).
 * `output` is what commands write, `file` a file that holds it. Only the shell knows an `opaque` piece; the commands in
 * it run before it is used. A `value` is the result of a piece: no reader of lines makes one.
 */
export type Part =
  | { readonly kind: "text"; readonly text: string; readonly quoted: boolean }
  | { readonly kind: "variable"; readonly name: string; readonly quoted: boolean }
  /** `${NAME:-WORD}`, or without the colon: the word if the variable is not set, or `isEmptyToo`. */
  | {
      readonly kind: "default";
      readonly name: string;
      readonly isEmptyToo: boolean;
      readonly word: Word;
      readonly quoted: boolean;
    }
  | { readonly kind: "output"; readonly node: Node; readonly quoted: boolean }
  | { readonly kind: "file"; readonly node: Node }
  | { readonly kind: "opaque"; readonly commands: readonly Node[] }
  | { readonly kind: "value"; readonly text: string; readonly quoted: boolean };

export type Word = readonly Part[];

/** `adds`: the value is appended to the old one. A value of null: an element of an array. */
export type Assignment = { readonly name: string; readonly adds: boolean } & (
  | { readonly kind: "word"; readonly value: Word | null }
  | { readonly kind: "list"; readonly value: readonly Word[] }
);

/** A here-document, whose text comes after its line, or a here-string. */
export interface Document {
  word: Word;
}

/** The standard input of a command: a text of the line, or the file that the word names. */
export type Input = { readonly document: Document } | { readonly from: Word };

/** A file into which a redirection writes; with `empties` what was in it is gone. */
export interface Output {
  readonly file: Word;
  readonly empties: boolean;
}

export type Node =
  | {
      /** A command with its words; `asides` are words of redirections and of subscripts, `outputs` files that it writes. */
      readonly kind: "simple";
      readonly assignments: readonly Assignment[];
      readonly words: readonly Word[];
      readonly asides: readonly Word[];
      readonly outputs: readonly Output[];
    }
  | {
      /** `documents` are all of its here-documents; `input` is its standard input if that is another one. */
      readonly kind: "redirected";
      readonly node: Node;
      readonly asides: readonly Word[];
      readonly outputs: readonly Output[];
      readonly documents: readonly Document[];
      readonly input: Input | null;
      /** Its output goes to a file. */
      readonly isWritten: boolean;
    }
  | { readonly kind: "sequence"; readonly nodes: readonly Node[] }
  /** Each runs in a process of its own and reads the output of the one before. */
  | { readonly kind: "pipe"; readonly nodes: readonly Node[] }
  | { readonly kind: "chain"; readonly first: Node; readonly rest: readonly Link[] }
  /** Runs in a process of its own: its changes of directory and variables end with it. */
  | { readonly kind: "apart"; readonly node: Node }
  | { readonly kind: "if"; readonly arms: readonly Arm[]; readonly otherwise: Node | null }
  | { readonly kind: "case"; readonly arms: readonly Node[] }
  | {
      /** `for` with its variable and words (null: the arguments), or `while` with its condition. */
      readonly kind: "loop";
      readonly variable: string | null;
      readonly words: readonly Word[] | null;
      readonly condition: Node | null;
      readonly body: Node;
    }
  | { readonly kind: "function"; readonly name: string; readonly body: Node };

export interface Link {
  readonly when: "&&" | "||";
  readonly node: Node;
}

export interface Arm {
  readonly condition: Node;
  readonly body: Node;
}
