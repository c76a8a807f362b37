/** Reads the first address of the remote `origin` from the text of a repository's own configuration. Pure. */

/** `damaged`: git would not read the text either. */
export type OriginSearch =
  | { readonly is: "found"; readonly address: string }
  | { readonly is: "none" }
  | { readonly is: "damaged" };

/** Thrown and caught in this file: the text is no configuration. */
class Damage extends Error {}

/** What a quoted or escaped character stands for. */
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b", '"': '"', "\\": "\\" };

/**
 * Returns `remote.origin.url`. Files that the text includes are not read: they may lie anywhere. An empty value takes back
 * those before it, as git does since 2.46.
 */
export function originIn(text: string): OriginSearch {
  try {
    const addresses: string[] = [];
    for (const { section, key, value } of new Entries(text.replaceAll("\r\n", "\n"))) {
      if (section !== "remote.origin" || key !== "url" || value === null) continue;
      if (value === "") addresses.length = 0;
      else addresses.push(value);
    }
    const [address] = addresses;
    return address === undefined ? { is: "none" } : { is: "found", address };
  } catch (error) {
    if (error instanceof Damage) return { is: "damaged" };
    throw error;
  }
}

interface Entry {
  /** `remote.origin` for `[remote "origin"]`; the part before the dot in lower case. */
  readonly section: string;
  /** In lower case. */
  readonly key: string;
  /** Null: the key stands alone, which means true. */
  readonly value: string | null;
}

/** Walks through the text once, by the grammar of `git help config`. */
class Entries {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text.replace(/^\uFEFF/, "");
  }

  *[Symbol.iterator](): Generator<Entry> {
    let section = "";
    while (this.#at < this.#text.length) {
      if (this.#take(/\s+|[#;][^\n]*/y) !== null) continue;
      if (this.#take(/\[/y) !== null) {
        section = this.#section();
        continue;
      }
      const key = this.#need(/[A-Za-z][A-Za-z0-9-]*/y).toLowerCase();
      this.#take(/[ \t]+/y);
      const value = this.#take(/=/y) === null ? null : this.#value();
      if (value === null) this.#need(/\n|$/y);
      yield { section, key, value };
    }
  }

  #section(): string {
    const name = this.#need(/[A-Za-z0-9.-]+/y).toLowerCase();
    if (this.#take(/[ \t]+/y) === null) {
      this.#need(/\]/y);
      return name;
    }
    const quoted = this.#need(/"(?:[^"\\\n]|\\[^\n])*"/y);
    this.#need(/\]/y);
    return `${name}.${quoted.slice(1, -1).replace(/\\(.)/g, "$1")}`;
  }

  /** Reads up to the end of the line. Blanks around the value do not count, unless they stand in quotes. */
  #value(): string {
    const parts: string[] = [];
    let length = 0;
    let kept = 0;
    let isQuoted = false;
    const add = (part: string, counts: string) => {
      if (counts !== "") kept = length + counts.length;
      parts.push(part);
      length += part.length;
    };
    this.#take(/[^\S\n]+/y);
    for (;;) {
      const plain = this.#take(isQuoted ? /[^"\\\n]+/y : /[^"\\\n#;]+/y);
      if (plain !== null) {
        add(plain, isQuoted ? plain : plain.trimEnd());
      } else if (this.#take(/"/y) !== null) {
        isQuoted = !isQuoted;
      } else if (this.#take(/\\\n/y) === null) {
        const word = this.#take(/\\./y);
        if (word === null) break;
        const meant = escapes[word.slice(1)];
        if (meant === undefined) throw new Damage();
        add(meant, meant);
      }
    }
    if (isQuoted) throw new Damage();
    this.#need(/(?:[#;][^\n]*)?(?:\n|$)/y);
    return parts.join("").slice(0, kept);
  }

  #need(pattern: RegExp): string {
    const found = this.#take(pattern);
    if (found === null) throw new Damage();
    return found;
  }

  /** Returns what stands here if it fits, and goes after it. */
  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) return null;
    this.#at += found.length;
    return found;
  }
}
