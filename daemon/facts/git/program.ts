import { findProgram, isOf, type Program } from "../programs.ts";

export interface GitProgramOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directories in which sessions work at the moment. */
  readonly workedIn: () => Iterable<string>;
}

/**
 * The git that the daemon runs, by the rule of programs.ts. The daemon searches once, and again if the program is gone
 * or a session starts to work in a folder above it.
 */
export class GitProgram {
  readonly #options: GitProgramOptions;
  #found: Program | null = null;

  constructor(options: GitProgramOptions) {
    this.#options = options;
  }

  /** Returns git for a command in `cwd`, or null; never a git that belongs to the project of `cwd`. */
  for(cwd: string): Program | null {
    if (this.#found === null || isOf(this.#found, cwd)) {
      const { env, workedIn } = this.#options;
      this.#found = findProgram("git", { env, workedIn: [...workedIn(), cwd] });
    }
    return this.#found;
  }

  /** Notes that a session now works in these directories. */
  workedIn(directories: readonly string[]): void {
    const found = this.#found;
    if (found !== null && directories.some(directory => isOf(found, directory))) this.#found = null;
  }

  /** Called when git could not be started: an update may have moved it. */
  forget(): void {
    this.#found = null;
  }
}
