/** The services of the leading half that hook events and requests need. */
import { processWords } from "../facts/process-words.ts";
import type { Run } from "../hooks/action.ts";
import type { HookServices, HookServicesOptions } from "../hooks/hook-services.ts";
import { ProjectChecks } from "./checks/project-checks.ts";
import { TrustedReader } from "./checks/trusted-reader.ts";
import { CompletionTries } from "./gates/completion-tries.ts";
import { GreenRuns } from "./gates/green-runs.ts";
import { GateMemory } from "./gates/memory.ts";
import { healthListener } from "./health/listener.ts";
import { HealthNotes } from "./health/notes.ts";
import { HealthWatch } from "./health/watch.ts";
import { Teams } from "./teams/teams.ts";

export interface LeadServices extends HookServices {
  readonly checks: ProjectChecks;
  readonly gateMemory: GateMemory;
  readonly greenRuns: GreenRuns;
  readonly completionTries: CompletionTries;
  readonly teams: Teams;
  readonly health: HealthWatch;
  readonly healthNotes: HealthNotes;
}

/** The run of an action of the leading half. */
export interface LeadRun extends Run {
  readonly services: LeadServices;
}

/** Returns what reads the gates and checks that a person trusted. */
export function trustedReader({ outside, paths }: HookServicesOptions): TrustedReader {
  return new TrustedReader(outside, paths.trusted);
}

/** Returns the services of hooks with those of the leading half. */
export function leadServices(
  hooks: HookServices,
  options: HookServicesOptions & { readonly trusted: TrustedReader },
): LeadServices {
  const { adapters, paths, config, outside, trusted, events, onTrouble } = options;
  const { rules, hookWakes, pending, facts } = hooks;
  const { repository } = facts;
  const client = adapters.flatMap(({ teams }) => teams ?? [])[0] ?? null;
  const healthNotes = new HealthNotes(pending);
  const setting = () => config.values.health;
  const listener = healthListener(hooks, {
    notes: healthNotes,
    events,
    setting,
    // Only the main agent of a session stops and can be woken.
    wake: ({ session, agent }) => (agent === null ? hookWakes.alarmed(session) : undefined),
    onTrouble,
  });
  return {
    ...hooks,
    checks: new ProjectChecks({ rules, trusted, configFile: paths.config, outside, repository }),
    gateMemory: new GateMemory(),
    greenRuns: new GreenRuns(),
    completionTries: new CompletionTries(),
    teams: new Teams({ outside, client, words: processWords }),
    health: new HealthWatch(hooks, setting, listener),
    healthNotes,
  };
}
