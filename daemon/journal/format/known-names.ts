/**
 * Names that a journal tells again and again. Equal ones become one object: it costs no further memory, and a table that
 * is asked for it knows its hash and need not compare it letter by letter.
 */
import { limits } from "../../../protocol/limits.ts";
import type { Actor, FileName, FileRef } from "../../core/frame/actors.ts";

/** A file as a lock and as an unlock name it: `lexical` is `above` and `file`, `key` is `before` and `lexical`. */
export interface KnownFile {
  readonly above: string;
  readonly before: string;
  readonly refs: readonly FileRef[];
  readonly names: readonly FileName[];
}

/**
 * The latest names of a journal that is being read, `limits.knownNamesMax` of each kind. Invariant: what it returns equals
 * what a caller would make.
 */
export class KnownNames {
  readonly #actors = new Map<string, Actor>();
  readonly #files = new Map<string, KnownFile>();

  /** Returns the main agent of a session's first incarnation. */
  actor(session: string): Actor {
    return this.#actors.get(session) ?? kept(this.#actors, session, { session, agent: null, incarnation: 0 });
  }

  /** Returns a list of the file alone. */
  refs(file: string, above: string, before: string): readonly FileRef[] {
    return this.file(file, above, before).refs;
  }

  /** Returns a list of the file to release alone. */
  names(file: string, above: string, before: string): readonly FileName[] {
    return this.file(file, above, before).names;
  }

  file(file: string, above: string, before: string): KnownFile {
    const known = this.#files.get(file);
    if (known !== undefined && known.above === above && known.before === before) return known;
    // One text, and parts of it: tables and comparisons read fewer places in memory than with texts put together by "+".
    const key = [before, above, file].join("");
    const lexical = key.slice(before.length);
    const names = [{ file, lexical, key }];
    const refs = [{ file, lexical, key, dir: false }];
    return kept(this.#files, file, { above, before, refs, names });
  }
}

function kept<Value>(known: Map<string, Value>, name: string, value: Value): Value {
  if (known.size >= limits.knownNamesMax) known.clear();
  known.set(name, value);
  return value;
}
