/** The parts of the leading half that hook events and requests need. */

import { limits } from "../../protocol/limits.ts";
import { strangeWorktree } from "../config/off-switch.ts";
import type { ProjectRules } from "../config/project-rules.ts";
import type { BudgetedFs, Unreachable } from "../facts/filesystem.ts";
import { processWords } from "../facts/programs.ts";
import type { Repository } from "../facts/repositories.ts";
import type { HookParts, HookPartsOptions, Kept } from "../hooks/parts.ts";
import type { Services } from "../options.ts";
import { CompletionTries, GateMemory, GreenRuns } from "./gate-memory.ts";
import { HealthNotes, HealthWatch, healthListener } from "./health-watch.ts";
import { type Check, projectFile, type Trust, TrustedReader, trustOf } from "./settings.ts";
import { Teams } from "./team-facts.ts";

// The checks of a project, as far as a person has trusted them.

interface ProjectChecksOptions {
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

export interface LeadParts extends HookParts {
  readonly checks: ProjectChecks;
  readonly gateMemory: GateMemory;
  readonly greenRuns: GreenRuns;
  readonly completionTries: CompletionTries;
  readonly teams: Teams;
  readonly health: HealthWatch;
  readonly healthNotes: HealthNotes;
}

export interface LeadServices extends Services, LeadParts {}

/** Returns what reads the gates and checks that a person trusted. */
export function trustedReader({ outside, paths }: HookPartsOptions): TrustedReader {
  return new TrustedReader(outside, paths.trusted);
}

/** Returns the parts of the base with those of the leading half. */
export function leadParts(
  services: Services,
  parts: Kept<HookParts>,
  options: HookPartsOptions & { readonly trusted: TrustedReader },
): Kept<LeadParts> {
  const { adapters, paths, config, outside, trusted, events, onTrouble } = options;
  const { rules } = parts.config;
  const { repository } = services.facts;
  const client = adapters.flatMap(({ teams }) => teams ?? [])[0] ?? null;
  const healthNotes = new HealthNotes(parts.notes.pending);
  const setting = () => config.values.health;
  const listener = healthListener(services, {
    notes: healthNotes,
    events,
    setting,
    // Only the main agent of a session stops and can be woken.
    wake: ({ session, agent }) => (agent === null ? parts.edits.wakes.alarmed(session) : undefined),
    onTrouble,
  });
  return {
    ...parts,
    checks: new ProjectChecks({ rules, trusted, configFile: paths.config, outside, repository }),
    gateMemory: new GateMemory(),
    greenRuns: new GreenRuns(),
    completionTries: new CompletionTries(),
    teams: new Teams({ outside, client, words: processWords }),
    health: new HealthWatch(services, setting, listener),
    healthNotes,
  };
}
