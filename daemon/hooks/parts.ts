/** The services of the base that only hook events need. */

import type { MergeNote } from "../../hooks/seam/outcomes.ts";
import type { HookAdapter } from "../../hooks/seam/plan.ts";
import type { FileNote } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { UserConfig } from "../config/config.ts";
import { type EntriesIn, OffSwitchReader, SeenFiles } from "../config/off-switch.ts";
import { ProjectRules, type ProjectRulesOptions } from "../config/project-rules.ts";
import type { Whose } from "../core/tables/messages.ts";
import type { BudgetedFs } from "../facts/filesystem.ts";
import type { Services } from "../options.ts";
import type { EventHub } from "../server/events.ts";
import { ClientTasks } from "../sessions/client-tasks.ts";
import { noteChangedFile, noteOff } from "../trail/decisions.ts";
import { Baselines, SeenWrites, Writers } from "../worktree/writers.ts";
import { NotedDecisions, OpenCalls, ToolFailures, ToolUses } from "./calls.ts";
import { HookLocks } from "./edits/edit-lock.ts";
import { OwnFiles } from "./edits/own-files.ts";
import { GuardConfirmations, LineEdits, RunningGitCommands, StashLines } from "./guard/memory.ts";
import {
  fileNotes,
  firstDenials,
  mergeRisks,
  Notices,
  Pending,
  type Terminal,
  terminalCounts,
} from "./notices.ts";
import type { HookPoints } from "./points.ts";
import { BranchLooks, PeerMemory, SessionWorks } from "./session-work.ts";
import { HookWakes } from "./wake.ts";

export interface HookServices extends Services {
  /** By the name that an entry gives; `undefined`: of entries that give none. Empty: this daemon answers no hook. */
  readonly adapters: ReadonlyMap<string | undefined, HookAdapter>;
  readonly points: HookPoints<HookServices>;
  readonly pending: Pending;
  readonly socket: string;
  readonly ownFiles: OwnFiles;
  readonly seenFiles: SeenFiles;
  /** The number of events of each name since the daemon started. */
  readonly hookCounts: Map<string, number>;
  readonly offSwitches: OffSwitchReader;
  /** Whether the event that these services are for is only observed (`plan-filters.ts`). */
  readonly observes: boolean;
  /** Sessions whose client tells no agents apart, and who probably acts in the event that these services are for. */
  readonly untoldAgents: Set<string>;
  readonly likelyActor: string | null;
  /** By agent and event: a digest of the last words that were not said, since Kite only observed. */
  readonly unsaid: BoundedMap<string, string>;
  /** The user's, as they are now. */
  readonly settings: UserConfig;
  readonly rules: ProjectRules;
  readonly hookLocks: HookLocks;
  readonly hookNotes: Notices<Whose, number, FileNote>;
  readonly hookWakes: HookWakes;
  readonly writers: Writers;
  readonly seenWrites: SeenWrites;
  readonly riskNotes: Notices<string, string, MergeNote>;
  readonly terminalNotes: Notices<Terminal, "open", number>;
  readonly denialNotes: Notices<string, "first", true>;
  readonly toolUses: ToolUses;
  readonly calls: OpenCalls;
  readonly toolFailures: ToolFailures;
  readonly peerMemory: PeerMemory;
  readonly sessionWorks: SessionWorks;
  readonly clientTasks: ClientTasks;
  readonly baselines: Baselines;
  readonly branchLooks: BranchLooks;
  readonly guardConfirmations: GuardConfirmations;
  readonly runningGitCommands: RunningGitCommands;
  readonly stashLines: StashLines;
  readonly lineEdits: LineEdits;
  readonly notedDecisions: NotedDecisions;
}

export interface HookServicesOptions {
  /** Events whose entry names no client are of the first. */
  readonly adapters: readonly HookAdapter[];
  readonly paths: KitePaths;
  readonly config: UserConfig;
  readonly outside: BudgetedFs;
  readonly events: Pick<EventHub, "tell">;
  readonly onTrouble: (message: string, error: unknown) => void;
  /** Called with each problem in a project's own settings. */
  readonly onProblem: (problem: string) => void;
}

/** What the list of slices gives the base. */
interface FromSlices {
  readonly trusted: ProjectRulesOptions["trusted"];
  readonly trustedIn: EntriesIn;
  readonly points: HookPoints<HookServices>;
}

/** Returns `services` with those of the base that hooks need. */
export function hookServices(services: Services, options: HookServicesOptions & FromSlices): HookServices {
  const { adapters, paths, config, outside, trusted, trustedIn, points, onProblem } = options;
  const { facts } = services;
  const configFile = paths.config;
  return {
    ...services,
    adapters: byName(adapters),
    points,
    pending: new Pending(),
    socket: paths.socket,
    ownFiles: new OwnFiles(paths),
    seenFiles: new SeenFiles(paths, trustedIn, row => noteChangedFile(services, row)),
    hookCounts: new Map(),
    offSwitches: new OffSwitchReader(paths.home, row => noteOff(services, row)),
    observes: false,
    untoldAgents: new Set(),
    likelyActor: null,
    unsaid: new BoundedMap({ entriesMax: limits.gatedActorsMax }),
    settings: config,
    rules: new ProjectRules({
      config,
      configFile,
      trusted,
      outside,
      repository: facts.repository,
      onProblem,
    }),
    hookLocks: new HookLocks(),
    hookNotes: new Notices(fileNotes),
    hookWakes: new HookWakes(),
    writers: new Writers(),
    seenWrites: new SeenWrites(),
    riskNotes: new Notices(mergeRisks),
    terminalNotes: new Notices(terminalCounts),
    denialNotes: new Notices(firstDenials),
    toolUses: new ToolUses(),
    calls: new OpenCalls(),
    toolFailures: new ToolFailures(),
    peerMemory: new PeerMemory(),
    sessionWorks: new SessionWorks(),
    clientTasks: new ClientTasks(),
    baselines: new Baselines(facts),
    branchLooks: new BranchLooks(options.onTrouble),
    guardConfirmations: new GuardConfirmations(),
    runningGitCommands: new RunningGitCommands(),
    stashLines: new StashLines(),
    lineEdits: new LineEdits(),
    notedDecisions: new NotedDecisions(),
  };
}

function byName(adapters: readonly HookAdapter[]): HookServices["adapters"] {
  const [first] = adapters;
  const named = adapters.map(adapter => [adapter.name, adapter] as const);
  return new Map(first === undefined ? [] : [[undefined, first], ...named]);
}
