import { findProgram, isOf, type Program } from "./programs.ts";

export interface GitProgramOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directories in which sessions work now. */
  readonly workedIn: () => Iterable<string>;
}

/**
 * The git that the daemon runs, by the rule of programs.ts. It is looked for once, and again where a session begins to
 * work above it or it is not there any more.
 */
export class GitProgram {
  readonly #options: GitProgramOptions;
  #found: Program | null = null;

  constructor(options: GitProgramOptions) {
    this.#options = options;
  }

  /** For a command in `cwd`, of which it is not the project's own; null where there is none. */
  for(cwd: string): Program | null {
    if (this.#found === null || isOf(this.#found, cwd)) {
      const { env, workedIn } = this.#options;
      this.#found = findProgram("git", { env, workedIn: [...workedIn(), cwd] });
    }
    return this.#found;
  }

  /** A session works in these directories from now on. */
  workedIn(directories: readonly string[]): void {
    const found = this.#found;
    if (found !== null && directories.some(directory => isOf(found, directory))) this.#found = null;
  }

  /** It could not be started: an update may have moved it. */
  forget(): void {
    this.#found = null;
  }
}
