/** What a shell line is made of, as far as it matters which programs it runs, with what words and where. */

/** A piece of a word. What is `opaque` is known only when the shell runs; the commands in it run before that. */
export type Part =
  | { readonly kind: "text"; readonly text: string; readonly quoted: boolean }
  | { readonly kind: "variable"; readonly name: string; readonly quoted: boolean }
  | { readonly kind: "opaque"; readonly commands: readonly Node[] };

export type Word = readonly Part[];

export interface Assignment {
  readonly name: string;
  /** null: an array, an element, or something put at the end of what was there. */
  readonly value: Word | null;
}

export type Node =
  | {
      /** A command with its words; `asides` are those of redirections, arrays and here-documents. */
      readonly kind: "simple";
      readonly assignments: readonly Assignment[];
      readonly words: readonly Word[];
      readonly asides: readonly Word[];
    }
  | { readonly kind: "sequence"; readonly nodes: readonly Node[] }
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
