/** What hooks keep between events: a part for each feature, of which an action names those that it needs. */

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

/** The clients' entries: who they are, and what their events said of themselves. */
interface EntryMemory {
  /** By the name that an entry gives; `undefined`: of entries that give none. Empty: this daemon answers no hook. */
  readonly adapters: ReadonlyMap<string | undefined, HookAdapter>;
  readonly socket: string;
  /** The number of events of each name since the daemon started. */
  readonly counts: Map<string, number>;
  /** Sessions whose client tells no agents apart. */
  readonly untoldAgents: Set<string>;
  /** By agent and event: a digest of the last words that were not said, since Kite only observed. */
  readonly unsaid: BoundedMap<string, string>;
}

/** Files that people write: settings, rules of projects, switches, and Kite's own. */
interface ConfigFiles {
  /** The user's, as they are now. */
  readonly settings: UserConfig;
  readonly rules: ProjectRules;
  readonly offSwitches: OffSwitchReader;
  readonly seenFiles: SeenFiles;
  readonly ownFiles: OwnFiles;
}

/** What edits leave for later events: their requests, their writes, and whom a freed file wakes. */
export interface EditMemory {
  readonly locks: HookLocks;
  readonly wakes: HookWakes;
  readonly writers: Writers;
  readonly seenWrites: SeenWrites;
  readonly baselines: Baselines;
}

/** What guarded lines leave for later events. */
interface GuardMemory {
  readonly confirmations: GuardConfirmations;
  readonly gitCommands: RunningGitCommands;
  readonly stashLines: StashLines;
  readonly lineEdits: LineEdits;
}

/** What waits to be told to agents, and what they were told. */
interface NoticeBoard {
  readonly pending: Pending;
  readonly files: Notices<Whose, number, FileNote>;
  readonly risks: Notices<string, string, MergeNote>;
  readonly terminals: Notices<Terminal, "open", number>;
  readonly denials: Notices<string, "first", true>;
}

/** Calls of tools under way, and what came of those before. */
interface CallMemory {
  readonly ids: OpenCalls;
  readonly uses: ToolUses;
  readonly failures: ToolFailures;
  readonly decisions: NotedDecisions;
  readonly tasks: ClientTasks;
}

/** What sessions know of each other. */
export interface PeerKnowledge {
  readonly memory: PeerMemory;
  readonly works: SessionWorks;
  readonly branches: BranchLooks;
}

/** What hooks keep between events, by feature. Nothing here holds an event. */
export interface HookParts {
  readonly entry: EntryMemory;
  readonly config: ConfigFiles;
  readonly edits: EditMemory;
  readonly guard: GuardMemory;
  readonly notes: NoticeBoard;
  readonly calls: CallMemory;
  readonly peers: PeerKnowledge;
  readonly points: HookPoints;
}

/** The parts that an action or a request names. */
export type Needs<P extends keyof HookParts> = Pick<HookParts, P>;

/** All of `P` but the points, which are made last: what joins in there uses the others. */
export type Kept<P extends HookParts> = Omit<P, "points">;

export interface HookPartsOptions {
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
}

/** Returns the parts of the base. */
export function hookParts(services: Services, options: HookPartsOptions & FromSlices): Kept<HookParts> {
  const { adapters, paths, config, outside, trusted, trustedIn, onProblem } = options;
  const { facts } = services;
  const { repository } = facts;
  const [writers, baselines] = [new Writers(), new Baselines(facts)];
  return {
    entry: {
      adapters: byName(adapters),
      socket: paths.socket,
      counts: new Map(),
      untoldAgents: new Set(),
      unsaid: new BoundedMap({ entriesMax: limits.gatedActorsMax }),
    },
    config: {
      settings: config,
      rules: new ProjectRules({ config, configFile: paths.config, trusted, outside, repository, onProblem }),
      offSwitches: new OffSwitchReader(paths.home, row => noteOff(services, row)),
      seenFiles: new SeenFiles(paths, trustedIn, row => noteChangedFile(services, row)),
      ownFiles: new OwnFiles(paths),
    },
    edits: {
      locks: new HookLocks({ ...services, writers, baselines }),
      wakes: new HookWakes(),
      writers,
      seenWrites: new SeenWrites(),
      baselines,
    },
    guard: {
      confirmations: new GuardConfirmations(),
      gitCommands: new RunningGitCommands(),
      stashLines: new StashLines(),
      lineEdits: new LineEdits(),
    },
    notes: {
      pending: new Pending(),
      files: new Notices(fileNotes),
      risks: new Notices(mergeRisks),
      terminals: new Notices(terminalCounts),
      denials: new Notices(firstDenials),
    },
    calls: {
      ids: new OpenCalls(),
      uses: new ToolUses(),
      failures: new ToolFailures(),
      decisions: new NotedDecisions(),
      tasks: new ClientTasks(),
    },
    peers: {
      memory: new PeerMemory(),
      works: new SessionWorks(),
      branches: new BranchLooks(services, options.onTrouble),
    },
  };
}

function byName(adapters: readonly HookAdapter[]): EntryMemory["adapters"] {
  const [first] = adapters;
  const named = adapters.map(adapter => [adapter.name, adapter] as const);
  return new Map(first === undefined ? [] : [[undefined, first], ...named]);
}
