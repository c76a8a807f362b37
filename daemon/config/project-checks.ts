/** The checks of a project, as far as a person has trusted them. */
import { limits } from "../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "../facts/filesystem.ts";
import type { Repository } from "../facts/repositories.ts";
import { type Check, concerns } from "./checks.ts";
import { strangeWorktree } from "./own-worktree.ts";
import type { ProjectRules } from "./project-rules.ts";
import { parseTrusted, projectFile, type Trust, type TrustedFiles, trustOf } from "./trusted-file.ts";

export interface ProjectChecksOptions {
  readonly rules: Pick<ProjectRules, "at">;
  /** Path of `trusted.json`. */
  readonly trustedFile: string;
  /** Path of the user's configuration: no project's checks are there. */
  readonly configFile: string;
  readonly outside: BudgetedFs;
  readonly repository: (directory: string) => Promise<Repository | Unreachable>;
}

/** The checks around a directory. */
export interface FoundChecks {
  readonly project: string;
  readonly worktree: string;
  /** The file that names the checks. */
  readonly file: string;
  readonly trust: Trust;
  /** Only trusted checks; none unless `trust` is `trusted`. */
  readonly checks: readonly Check[];
}

/** Reads `.kite/config.json` through the project's rules, and `trusted.json`; both at most `limits.repositoryKeptMs` old. */
export class ProjectChecks {
  readonly #options: ProjectChecksOptions;
  #reading: { readonly until: number; readonly files: Promise<TrustedFiles | Unreachable> } | null = null;

  constructor(options: ProjectChecksOptions) {
    this.#options = options;
  }

  /** Returns the trusted checks for a directory (absolute), or why they are not known. */
  async for(directory: string): Promise<FoundChecks | Unreachable> {
    const { rules, repository, configFile } = this.#options;
    const found = await repository(directory);
    if ("unreachable" in found) return found;
    const { project, worktree } = found;
    const file = projectFile(project);
    if (file === configFile) return { project, worktree, file, trust: "none", checks: [] };
    const strange = await this.#strange(found);
    if (strange !== null) return { unreachable: strange };
    const { checks, unread } = await rules.at({ project, worktree });
    if (unread !== null) return { unreachable: unread };
    const trusted = await this.#trusted();
    if ("unreachable" in trusted) return trusted;
    const trust = trustOf(trusted, file, checks);
    return { project, worktree, file, trust, checks: trust === "trusted" ? checks : [] };
  }

  /** The same, with those checks alone that matter after a change of `files` (paths from the top of the worktree). */
  async after(directory: string, files: readonly string[]): Promise<FoundChecks | Unreachable> {
    const found = await this.for(directory);
    if ("unreachable" in found) return found;
    return { ...found, checks: found.checks.filter(check => concerns(check, files)) };
  }

  /** Returns why the worktree's project is not known to be its own, or null. */
  async #strange(found: Repository): Promise<string | null> {
    const { outside } = this.#options;
    const how = { maybeElsewhere: true };
    const why = await outside.fact(budget =>
      strangeWorktree(found, {
        text: path =>
          outside.look(path, null, budget, (prober, p) => prober.readSmall(p, limits.smallFileBytes), how),
        real: path => outside.look(path, null, budget, (prober, p) => prober.realpath(p), how),
      }),
    );
    return why === null || typeof why === "string" ? why : why.unreachable;
  }

  #trusted(): Promise<TrustedFiles | Unreachable> {
    const now = this.#options.outside.now();
    if (this.#reading !== null && now < this.#reading.until) return this.#reading.files;
    const files = this.#read();
    this.#reading = { until: now + limits.repositoryKeptMs, files };
    return files;
  }

  async #read(): Promise<TrustedFiles | Unreachable> {
    const { outside, trustedFile } = this.#options;
    const how = { maybeElsewhere: true };
    const text = await outside.fact(budget =>
      outside.look(trustedFile, null, budget, (prober, p) => prober.readSmall(p, limits.trustedBytes), how),
    );
    if (text !== null && typeof text !== "string") {
      // A failure is not cached: the next caller reads again.
      this.#reading = null;
      return text;
    }
    if (text === null) return new Map();
    return parseTrusted(text) ?? { unreachable: `${trustedFile} is not as Kite writes it; remove it` };
  }
}
