/** The facts of a path that locks need, and their cache. */
import { dirname, resolve } from "node:path";
import { limits } from "../../protocol/limits.ts";

/**
 * What a lock needs to know of a path. `lexical`: absolute, from the text alone (`..` removes the word before it, even
 * a link). `real`: the real path of the deepest existing ancestor, then the remaining words as given. `key`: equal for
 * all spellings of one file, different for two files: `real`, folded as its directories fold. `dir`: the path names an
 * existing directory, or ends with `/`.
 */
export interface PathFact {
  readonly lexical: string;
  readonly real: string;
  readonly key: string;
  readonly dir: boolean;
}

/** A name as a request spells it, with its cached fact, which is valid while its directory is the same. */
export interface Named {
  /** The absolute path, from the text alone. */
  readonly lexical: string;
  readonly parent: string;
  /** The `id` of the directory that the fact was made for. */
  directory: string | null;
  path: string;
  key: string;
  fact: PathFact | null;
  /** The number of the callback in which the file was last looked at. */
  look: number;
}

/**
 * Caches the names of recent requests. Requests repeat the same files, and building a path costs more than looking at
 * the file. Locks share these strings as keys.
 */
export class Names {
  readonly #from = new Map<string, Map<string, Named>>();
  #count = 0;

  get(cwd: string, file: string): Named {
    const known = this.#from.get(cwd)?.get(file);
    if (known !== undefined) return known;
    if (this.#count >= limits.namesKeptMax) {
      this.#from.clear();
      this.#count = 0;
    }
    const lexical = resolve("/", cwd, file);
    const named: Named = {
      lexical,
      parent: dirname(lexical),
      directory: null,
      path: "",
      key: "",
      fact: null,
      look: -1,
    };
    const siblings = this.#from.get(cwd);
    if (siblings === undefined) this.#from.set(cwd, new Map([[file, named]]));
    else siblings.set(file, named);
    this.#count += 1;
    return named;
  }
}
