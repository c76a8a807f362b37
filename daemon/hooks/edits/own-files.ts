/** Kite's own files: those of the running daemon's own home. Another home is nothing but files. */

import { existsSync, rmSync } from "node:fs";
import { relative } from "node:path";
import type { KitePaths } from "../../../protocol/paths.ts";
import { offFiles } from "../../config/off-switch.ts";
import type { FileRef } from "../../core/frame/actors.ts";
import { refs } from "../../facts/facts.ts";
import type { Services } from "../../options.ts";
import { isRefusal } from "../../server/call.ts";

type Looking = Pick<Services, "node" | "facts">;

export class OwnFiles {
  readonly home: string;
  /** The names in Kite's directory that are Kite's, in lower case. */
  readonly #names: ReadonlySet<string>;
  /** The key of the directory, once it could be read. */
  #key: string | null = null;

  constructor(paths: KitePaths) {
    const { home, merges, ...own } = paths;
    this.home = home;
    // In `merges` are worktrees of projects.
    const all = [...Object.values(own), ...Object.values(offFiles(home))].map(path => relative(home, path));
    this.#names = new Set(all.flatMap(name => name.split("/").slice(0, 1)).map(name => name.toLowerCase()));
  }

  /** Reads where the directory is. Until that works, files count by their paths alone. */
  async place(services: Looking): Promise<void> {
    if (this.#key !== null) return;
    const found = await refs(services, "/", [this.home]);
    if (!isRefusal(found)) this.#key = found[0]?.key ?? null;
  }

  /** Returns the file's name in Kite's directory, which it names by its path or through links; null: it is not Kite's. */
  nameOf({ lexical, key }: Pick<FileRef, "lexical"> & { readonly key: string | null }): string | null {
    const byPath = lexical.startsWith(this.home) ? lexical.slice(this.home.length) : null;
    const byKey =
      key !== null && this.#key !== null && key.startsWith(this.#key) ? key.slice(this.#key.length) : null;
    if (byPath === null && byKey === null) return null;
    return this.#nameIn(byPath) ?? this.#nameIn(byKey);
  }

  #nameIn(rest: string | null): string | null {
    if (rest === null || rest === "") return rest;
    // Else the path begins with the directory's name and goes on with it.
    if (!rest.startsWith("/")) return null;
    const [, first = ""] = rest.split("/");
    // A pattern may match any of them.
    return this.#names.has(first.toLowerCase()) || /[*?[]/.test(first) ? rest.slice(1) : null;
  }
}

// The file in which hook clients count failures while the daemon does not answer. After a few failures they stop asking
// for a while. A daemon that runs again removes the file, so that they ask at once.

export class HookFailures {
  readonly #file: string;
  readonly #onTrouble: (message: string, error: unknown) => void;
  #told = false;

  /** `onTrouble` is called once if the file cannot be removed. */
  constructor(file: string, onTrouble: (message: string, error: unknown) => void) {
    this.#file = file;
    this.#onTrouble = onTrouble;
  }

  /** Removes the file. Cheap if there is none. */
  clear(): void {
    if (!existsSync(this.#file)) return;
    try {
      rmSync(this.#file, { force: true });
    } catch (error) {
      if (this.#told) return;
      this.#told = true;
      this.#onTrouble(`hooks may pause without need: ${this.#file} cannot be removed; remove it`, error);
    }
  }
}
