/** The checks of a project, as far as a person has trusted them. */
import { limits } from "../../../protocol/limits.ts";
import { strangeWorktree } from "../../config/own-worktree.ts";
import type { ProjectRules } from "../../config/project-rules.ts";
import type { BudgetedFs, Unreachable } from "../../facts/filesystem.ts";
import type { Repository } from "../../facts/repositories.ts";
import type { Check } from "./setting.ts";
import { projectFile, type Trust, trustOf } from "./trusted-file.ts";
import type { TrustedReader } from "./trusted-reader.ts";

export interface ProjectChecksOptions {
  readonly rules: Pick<ProjectRules, "at">;
  readonly trusted: Pick<TrustedReader, "fresh">;
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

/** Finds checks by the project's rules, at most `limits.repositoryKeptMs` old, and by `trusted.json` as it is. */
export class ProjectChecks {
  readonly #options: ProjectChecksOptions;

  constructor(options: ProjectChecksOptions) {
    this.#options = options;
  }

  /** Returns the trusted checks for a directory (absolute), or why they are not known. */
  async for(directory: string): Promise<FoundChecks | Unreachable> {
    const { rules, repository, configFile, trusted: reader } = this.#options;
    const found = await repository(directory);
    if ("unreachable" in found) return found;
    const { project, worktree } = found;
    const file = projectFile(project);
    if (file === configFile) return { project, worktree, file, trust: "none", checks: [] };
    const strange = await this.#strange(found);
    if (strange !== null) return { unreachable: strange };
    const { own, sections, unread } = await rules.at({ project, worktree });
    if (unread !== null) return { unreachable: unread };
    const trusted = await reader.fresh();
    if ("unreachable" in trusted) return trusted;
    const { checks } = sections;
    const trust = trustOf(trusted, file, { ...sections, gates: own.gates ?? null });
    return { project, worktree, file, trust, checks: trust === "trusted" ? checks : [] };
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
}
