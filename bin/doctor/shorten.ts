/**
 * Shortens what tells of a person and their work: the same path and the same name get the same short name throughout.
 *
 * Invariant: of a path there remain its place below a known folder, Kite's and the system's own names, and the end of a
 * file's name. Nothing else of it, and no name that was told, is in a shortened text.
 */
import { basename } from "node:path";
import type { KitePaths } from "../../protocol/paths.ts";

/** Parts of paths that are the same on every machine. */
const plainParts: readonly string[] = [
  ..."bin boot dev etc home lib mnt opt private proc root run sbin srv sys tmp usr var local share Users".split(
    " ",
  ),
  ".claude .claude.json .git .kite settings.json settings.local.json managed-settings.json claude-code".split(
    " ",
  ),
  "log hook.pl hook.cjs hook node start mcp statusline kite claude git perl flock dist kite.cjs daemon.mjs".split(
    " ",
  ),
].flat();

const ending = /^.+?(\.[a-z]{1,5})$/;
/** An absolute path, or one below the home directory, up to a blank, a quotation mark or a mark of punctuation. */
const paths = /(?<![\w.])~?(?:\/[^\s/"'`,;:()<>{}[\]|]+)+\/?/g;
/** Words so long are tokens, hashes or ids. */
const tokens = /[A-Za-z0-9_+=-]{20,}/g;
const quoted = /"[^"]*"|'[^']*'|`[^`]*`/g;
const mails = /[^\s@]+@[^\s@]+/g;

export class Shortener {
  readonly #names = new Map<string, string>();
  /** Whole paths, which a sentence may name with blanks in them. */
  readonly #paths = new Map<string, string>();
  readonly #parts = new Map<string, string>();
  readonly #folders: readonly (readonly [path: string, short: string])[];

  /** `home`: the person's home directory. */
  constructor(kite: KitePaths, home: string) {
    for (const part of [...plainParts, ...Object.values(kite).map(path => basename(path))])
      this.#parts.set(part, part);
    const folders: readonly (readonly [string, string])[] = [
      [kite.home, "KITE"],
      [home, "~"],
    ];
    this.#folders = folders.filter(([path]) => path.length > 1);
  }

  /** Makes a short name for a name; null stays. `kind` begins it: `agent` makes `agent1`. */
  name(name: string | null | undefined, kind: string): string | null {
    if (name === null || name === undefined || name === "") return null;
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const short = `${kind}${[...this.#names.values()].filter(one => one.startsWith(kind)).length + 1}`;
    this.#names.set(name, short);
    return short;
  }

  path(path: string): string {
    const short = this.#shortPath(path);
    if (path.length > 1) this.#paths.set(path, short);
    return short;
  }

  #shortPath(path: string): string {
    const [folder, short] = this.#folders.find(([one]) => path === one || path.startsWith(`${one}/`)) ?? [
      "",
      "",
    ];
    const rest = path.slice(folder.length).split("/");
    return short + rest.map(part => this.#part(part)).join("/");
  }

  /** Shortens the paths and the names in a sentence; quotations and tokens go. */
  text(text: string): string {
    const names = [...this.#names].sort(([a], [b]) => b.length - a.length);
    const named = names.reduce(
      (all, [name, short]) => all.replaceAll(wordOf(name), short),
      this.#inPaths(text),
    );
    return named.replaceAll(mails, "MAIL").replaceAll(quoted, '"..."').replaceAll(tokens, "...");
  }

  #inPaths(text: string): string {
    const known = [...this.#paths].sort(([a], [b]) => b.length - a.length);
    return known
      .reduce((all, [path, short]) => all.replaceAll(path, short), text)
      .replaceAll(paths, path => {
        const end = /[.!?]+$/.exec(path)?.[0] ?? "";
        return this.#shortPath(path.slice(0, path.length - end.length)) + end;
      });
  }

  #part(part: string): string {
    if (part === "" || part === "~" || part === "." || part === "..") return part;
    const known = this.#parts.get(part);
    if (known !== undefined) return known;
    const short = `p${this.#parts.size}${ending.exec(part)?.[1] ?? ""}`;
    this.#parts.set(part, short);
    this.#parts.set(short, short);
    return short;
  }
}

/** The name as a word of its own. */
function wordOf(name: string): RegExp {
  return new RegExp(`(?<![\\w-])${name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w-])`, "g");
}
