/**
 * Output that only a program knows, as a text that names the program. Whoever reads it behind a pipe may know what it
 * is; to everybody else it is a hole.
 */
import { asValue, hole, type Value, type Where } from "./variables.ts";

/** A program whose output is read. */
export interface Source {
  /** Its name, and its words. */
  readonly values: readonly Value[];
  /** Where it ran; null: only the shell knows. */
  readonly dir: string | null;
}

/** The text for the output of a program. Between two holes it has neither blanks nor quotes. */
export function outputBy(words: readonly string[], { dir, isBelow }: Where): string {
  const named = encodeURIComponent(JSON.stringify([isBelow ? null : dir, ...words]));
  const plain = named.replace(/[!'()*~]/g, character => `%${character.charCodeAt(0).toString(16)}`);
  return hole + plain + hole;
}

/** The program of which the text is the whole output; null: it is another text, or a part. */
export function sourceOf(text: string | null): Source | null {
  const [, named] = /^\0([^\0]+)\0\n?$/.exec(text ?? "") ?? [];
  // The number of a text of the line stands between two holes, too.
  if (named === undefined || /^\d+$/.test(named)) return null;
  const [dir, ...words]: [string | null, ...string[]] = JSON.parse(decodeURIComponent(named));
  return { values: words.map(asValue), dir };
}
