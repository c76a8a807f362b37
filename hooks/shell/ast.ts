/** What a shell line is made of, as far as it matters which programs it runs, with what words and where. */

/**
 * A piece of a word. A `variable` is a name, a number, `@`, `*` or an element of an array (`NAME[@]`, `NAME[0]`).
 * `output` is what commands write, `file` one that holds it. What is `opaque` is known only when the shell runs; the
 * commands in it run before that. A `value` is what a piece came to: no reader of lines makes one.
 */
export type Part =
  | { readonly kind: "text"; readonly text: string; readonly quoted: boolean }
  | { readonly kind: "variable"; readonly name: string; readonly quoted: boolean }
  | { readonly kind: "output"; readonly node: Node; readonly quoted: boolean }
  | { readonly kind: "file"; readonly node: Node }
  | { readonly kind: "opaque"; readonly commands: readonly Node[] }
  | { readonly kind: "value"; readonly text: string; readonly quoted: boolean };

export type Word = readonly Part[];

/** `adds`: it is put at the end of what was there. A value of null: an element of an array. */
export type Assignment = { readonly name: string; readonly adds: boolean } & (
  | { readonly kind: "word"; readonly value: Word | null }
  | { readonly kind: "list"; readonly value: readonly Word[] }
);

/** A here-document, whose text stands after the line that asks for it, or a here-string. */
export interface Document {
  word: Word;
}

/** What a command reads: a text of the line, or what the word names. */
export type Input = { readonly document: Document } | { readonly from: Word };

export type Node =
  | {
      /** A command with its words; `asides` are those of redirections and of subscripts. */
      readonly kind: "simple";
      readonly assignments: readonly Assignment[];
      readonly words: readonly Word[];
      readonly asides: readonly Word[];
    }
  | {
      /** `documents` are all of its here-documents, `input` is what its standard input is, where it is another one. */
      readonly kind: "redirected";
      readonly node: Node;
      readonly asides: readonly Word[];
      readonly documents: readonly Document[];
      readonly input: Input | null;
      /** What it writes goes to a file. */
      readonly isWritten: boolean;
    }
  | { readonly kind: "sequence"; readonly nodes: readonly Node[] }
  /** Each runs in a process of its own and reads what the one before writes. */
  | { readonly kind: "pipe"; readonly nodes: readonly Node[] }
  | { readonly kind: "chain"; readonly first: Node; readonly rest: readonly Link[] }
  /** Runs in a process of its own: what it changes of directory and variables ends with it. */
  | { readonly kind: "apart"; readonly node: Node }
  | { readonly kind: "if"; readonly arms: readonly Arm[]; readonly otherwise: Node | null }
  | { readonly kind: "case"; readonly arms: readonly Node[] }
  | {
      /** `for` with its variable and words (null: those of whoever runs it), or `while` with its condition. */
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
