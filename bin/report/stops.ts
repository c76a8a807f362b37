/** Commands that the guard denied, and the work that they would have wiped. */
import type { TrailLine } from "../../daemon/trail/line.ts";
import { countsOf, increment } from "./counts.ts";
import { type StopKind, type Stops, stopKinds } from "./figures.ts";

/** By the first words of a command in short form. */
const kinds: readonly (readonly [RegExp, StopKind])[] = [
  [/^git stash\b/, "stash"],
  [/^git (?:add|commit)\b/, "commit"],
  [/^git (?:clean|rm|worktree)\b/, "removal"],
  [/^git (?:reset|checkout|restore|switch|rebase|merge|pull|cherry-pick|revert|am|apply|bisect)\b/, "reset"],
  [/^(?:rm|unlink|rmdir|truncate|shred|mv|cp|tee|install|rsync|dd|apply_patch|>)(?:\s|$)/, "removal"],
];

export class StopCounter {
  readonly #commands = new Map<string, number>();
  readonly #kinds = Object.fromEntries(stopKinds.map(kind => [kind, 0])) as Record<StopKind, number>;
  #count = 0;
  #counted = 0;
  #countedLines = 0;
  #files = 0;
  #lines = 0;

  /** Takes a denial of the guard. */
  stop({ type }: TrailLine): void {
    const command = type ?? "a command";
    this.#count += 1;
    increment(this.#commands, command);
    this.#kinds[kinds.find(([begins]) => begins.test(command))?.[1] ?? "other"] += 1;
  }

  /** Takes what such a denial spared. */
  spare({ files = 0, lines }: TrailLine): void {
    this.#counted += 1;
    this.#files += files;
    if (lines === undefined) return;
    this.#countedLines += 1;
    this.#lines += lines;
  }

  get stops(): Stops {
    return {
      count: this.#count,
      commands: countsOf(this.#commands),
      kinds: { ...this.#kinds },
      counted: this.#counted,
      countedLines: this.#countedLines,
      files: this.#files,
      lines: this.#lines,
    };
  }
}
