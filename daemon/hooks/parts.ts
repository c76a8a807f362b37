/** What hooks keep between events: a part for each feature, of which an action names those that it needs. */

import type { HookAdapter } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { UserConfig } from "../config/config.ts";
import { type EntriesIn, OffSwitchReader, SeenFiles } from "../config/off-switch.ts";
import { ProjectRules, type ProjectRulesOptions } from "../config/project-rules.ts";
import type { BudgetedFs } from "../facts/filesystem.ts";
import type { Services } from "../options.ts";
import type { EventHub } from "../server/events.ts";
import { ClientTasks } from "../sessions/client-tasks.ts";
import { noteChangedFile, noteOff } from "../trail/decisions.ts";
import { Baselines, SeenWrites, Writers } from "../worktree/writers.ts";
import { NotedDecisions, OpenCalls, ToolFailures, ToolUses } from "./calls.ts";
import { HookLocks } from "./edits/edit-lock.ts";
import { OwnFiles } from "./edits/own-files.ts";
import {
  CommitLines,
  GuardConfirmations,
  HeadLines,
  LineEdits,
  RunningGitCommands,
  StashLines,
} from "./guard/memory.ts";
import { fileNotes, firstDenials, mergeRisks, Notices, Pending, terminalCounts } from "./notices.ts";
import type { HookPoints } from "./points.ts";
import { PeerMemory, SessionWorks } from "./session-work.ts";
import { HookWakes } from "./wake.ts";

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

/** Returns the parts of the base. Nothing in them holds an event. */
export function hookParts(services: Services, options: HookPartsOptions & FromSlices) {
  const { adapters, paths, config, outside, trusted, trustedIn, onProblem } = options;
  const { facts } = services;
  const { repository } = facts;
  const [writers, baselines] = [new Writers(), new Baselines(facts)];
  return {
    /** The clients' entries: who they are, and what their events said of themselves. */
    entry: {
      /** By the name that an entry gives; `undefined`: of entries that give none. Empty: this daemon answers no hook. */
      adapters: byName(adapters),
      socket: paths.socket,
      /** The number of events of each name since the daemon started. */
      counts: new Map<string, number>(),
      /** Sessions whose client tells no agents apart. */
      untoldAgents: new Set<string>(),
      /** By agent and event: a digest of the last words that were not said, since Kite only observed. */
      unsaid: new BoundedMap<string, string>({ entriesMax: limits.gatedActorsMax }),
    },
    /** Files that people write: settings as they are now, rules of projects, switches, and Kite's own. */
    config: {
      settings: config,
      rules: new ProjectRules({ config, configFile: paths.config, trusted, outside, repository, onProblem }),
      offSwitches: new OffSwitchReader(paths.home, row => noteOff(services, row)),
      seenFiles: new SeenFiles(paths, trustedIn, row => noteChangedFile(services, row)),
      ownFiles: new OwnFiles(paths),
    },
    /** What edits leave for later events: their requests, their writes, and whom a freed file wakes. */
    edits: {
      locks: new HookLocks({ ...services, writers, baselines }),
      wakes: new HookWakes(),
      writers,
      seenWrites: new SeenWrites(),
      baselines,
    },
    /** What guarded lines leave for later events. */
    guard: {
      confirmations: new GuardConfirmations(),
      gitCommands: new RunningGitCommands(),
      stashLines: new StashLines(),
      commitLines: new CommitLines(),
      lineEdits: new LineEdits(),
      heads: new HeadLines(),
    },
    notes: noticeBoard(),
    /** Calls of tools under way, and what came of those before. */
    calls: {
      ids: new OpenCalls(),
      uses: new ToolUses(),
      failures: new ToolFailures(),
      decisions: new NotedDecisions(),
      tasks: new ClientTasks(),
    },
    /** What sessions know of each other. */
    peers: {
      memory: new PeerMemory(),
      works: new SessionWorks(),
    },
  };
}

/** What waits to be told to agents, and what they were told. */
function noticeBoard() {
  const [files, risks] = [new Notices(fileNotes), new Notices(mergeRisks)];
  const [terminals, denials] = [new Notices(terminalCounts), new Notices(firstDenials)];
  return { pending: new Pending(), files, risks, terminals, denials };
}

/** What hooks keep between events, by feature. */
export interface HookParts extends Readonly<ReturnType<typeof hookParts>> {
  readonly points: HookPoints;
}

export type EditMemory = HookParts["edits"];

/** The parts that an action or a request names. */
export type Needs<P extends keyof HookParts> = Pick<HookParts, P>;

/** All of `P` but the points, which are made last: what joins in there uses the others. */
export type Kept<P extends HookParts> = Omit<P, "points">;

function byName(adapters: readonly HookAdapter[]): ReadonlyMap<string | undefined, HookAdapter> {
  const [first] = adapters;
  const named = adapters.map(adapter => [adapter.name, adapter] as const);
  return new Map(first === undefined ? [] : [[undefined, first], ...named]);
}
