import { GitProgram } from "../../daemon/facts/git/process.ts";
import type { Program } from "../../daemon/facts/programs.ts";

/** A git that is always this one. */
export class FixedGit extends GitProgram {
  readonly #program: Program | null;

  constructor(path: string | null) {
    super({ env: {}, workedIn: () => [] });
    this.#program = path === null ? null : { path, real: path };
  }

  override for(): Program | null {
    return this.#program;
  }
}
