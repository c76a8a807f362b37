import { dirname, resolve } from "node:path";
import { limits } from "../../protocol/limits.ts";

/**
 * What a lock needs to know of a path. `lexical`: absolute, in words alone (`..` takes back the word before
 * it, whatever that names). `real`: the real path of the deepest ancestor that exists, and the rest, spelled as they
 * were asked for. `key`: the same for all spellings of one file, and for no two files: `real`, folded where its
 * directories were seen to fold. `dir`: it names a directory that exists, or its words end with `/`.
 */
export interface PathFact {
  readonly lexical: string;
  readonly real: string;
  readonly key: string;
  readonly dir: boolean;
}

/** A name as a request spells it. What was found out for it is kept, and counts while its directory is the same. */
export interface Named {
  /** Absolute, in words alone. */
  readonly lexical: string;
  readonly parent: string;
  /** The `id` of the directory that the rest was made for. */
  directory: string | null;
  path: string;
  key: string;
  fact: PathFact | null;
}

/**
 * The names of the latest requests. The same files are asked for again and again, and a path that is made anew each
 * time costs more than the look at the file: the strings kept here are also those the locks are found by.
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
    };
    const siblings = this.#from.get(cwd);
    if (siblings === undefined) this.#from.set(cwd, new Map([[file, named]]));
    else siblings.set(file, named);
    this.#count += 1;
    return named;
  }
}
