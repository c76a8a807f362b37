/** What the daemon has for the rescue of work. Null: the person's setting is off, and none of its code runs. */
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Config } from "../config/config.ts";
import type { Actor, FileRef } from "../core/frame/actors.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import type { BudgetedFs } from "../facts/filesystem.ts";
import { KeptFileFacts } from "../facts/git/kept-files.ts";
import type { GitChild } from "../facts/git/process.ts";
import type { HookParts, Needs } from "../hooks/parts.ts";
import type { Services } from "../options.ts";
import { Archive } from "./archive.ts";
import { FileKeeper, KeepQueue, UnkeptFiles } from "./keep.ts";
import { Losses, runsLine, WipingLines } from "./losses.ts";
import type { Author } from "./versions.ts";

/** A restore that has begun and not ended. */
export interface OpenRestore {
  readonly file: FileRef;
  /** Null: a person. */
  readonly by: Actor | null;
  /** Ends it: as an edit's end, with what that tells of the file. */
  readonly end: (wrote: boolean) => Promise<void>;
}

/** A write that was granted and of which nobody heard the end; it may still run. */
export interface OpenFlight {
  readonly file: Pick<FileRef, "key" | "lexical" | "path">;
  readonly by: Author;
  /** Wall time in milliseconds: what the file had before is not this write's. */
  readonly sinceMs: number;
  /** Its agent's turn is over: others may have changed the file since. */
  readonly isPast?: boolean;
}

/** What is remembered of the comparisons; in memory only. */
export class Compared {
  /** When each worktree was compared last, by the daemon's clock; infinite while a comparison of it waits. */
  readonly worktrees = new BoundedMap<string, number>({ entriesMax: limits.headsMax });
  /** Files that were found gone, by their paths: as what they were seen last. */
  readonly gone = new BoundedMap<string, string>({ entriesMax: limits.baselinesMax });
  /** How files without uncommitted work were when they were compared, by their paths. */
  readonly settled = new BoundedMap<string, string | null>({ entriesMax: limits.baselinesMax });
  /** Writes that were granted before this start, by the keys of their files. */
  readonly flights = new Map<string, OpenFlight>();
  /** How many shell lines of each worktree have ended and are still to be looked at. */
  readonly ends = new Map<string, number>();
}

export interface Rescue {
  /** By their ids, the oldest first. */
  readonly restores: Map<string, OpenRestore>;
  readonly archive: Archive;
  readonly unkept: UnkeptFiles;
  readonly keeper: FileKeeper;
  readonly queue: KeepQueue;
  readonly lines: WipingLines;
  readonly losses: Losses;
  readonly compared: Compared;
  /** Writes that wait to be kept, and pieces of work after them. */
  readonly waiting: number;
  /** Does work after what is queued, one piece after the other; resolves when it is done, or has failed and is reported. */
  later(work: () => Promise<void>): Promise<void>;
  /** Resolves when the versions of before are known and what was written is kept, as far as that takes no longer than it may. */
  settled(): Promise<void>;
  /** Stops keeping; resolves when what has begun is stored. */
  close(): Promise<void>;
}

export interface RescueParts extends HookParts {
  readonly rescue: Rescue | null;
}

export interface RescueServices extends Services, RescueParts {}

/** What the rescue's own work needs, which outlives the events that begin it. */
export type LastingServices = Services & Needs<"config" | "edits">;

interface RescueOptions {
  readonly paths: Pick<KitePaths, "rescue">;
  readonly config: Pick<Config, "values">;
  readonly outside: BudgetedFs;
  readonly git: GitChild;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** Opens the store, and does not wait for it. */
export function openRescue(
  services: Services,
  { config: { rules } }: Needs<"config">,
  { paths, config, outside, git: gitChild, onTrouble }: RescueOptions,
): Rescue | null {
  if (config.values.rescue === "off") return null;
  const { engine, clock, facts } = services;
  const archive = new Archive({
    dir: paths.rescue,
    wall: () => clock.wall(),
    dirtyPaths: () => new Set([...engine.state.writes.files.values()].map(pathOfWork)),
    onTrouble,
  });
  const unkept = new UnkeptFiles();
  const git = new KeptFileFacts(outside, gitChild);
  const never = config.values.rescueNever;
  const keeper = new FileKeeper({ archive, unkept, engine, rules, facts, git, outside, never });
  const compared = new Compared();
  const lines = new WipingLines();
  const queue = new KeepQueue({
    keeper,
    isWritten: ({ key, session }) => {
      const { locks, sessions } = engine.state;
      const worktree = sessions.live.get(session ?? "")?.worktree ?? "";
      const isInFlight = (locks.holds.get(key)?.flights.length ?? 0) > 0;
      return isInFlight || runsLine(services, { lines, compared }, worktree);
    },
    onMissed: ({ path }, why) => onTrouble(`a version of ${path} was not kept: ${why}`, null),
  });
  void archive.open();
  const losses = new Losses({ archive, facts, git, outside });
  const works = new LaterWorks(queue, onTrouble);
  return {
    restores: new Map(),
    archive,
    unkept,
    keeper,
    queue,
    lines,
    losses,
    compared,
    get waiting() {
      return queue.size + works.pending;
    },
    later: work => works.later(work),
    settled: async () => {
      await archive.ready;
      await queue.settled();
      await withinMs(works.last, limits.rescueSettleMs);
    },
    close: async () => {
      await queue.close();
      await withinMs(works.last, limits.rescueStopMs);
      await archive.close();
    },
  };
}

/**
 * Pieces of work after what is queued. Invariant: one after the other; a piece that fails is reported, and the next begins.
 */
class LaterWorks {
  readonly #queue: KeepQueue;
  readonly #onTrouble: RescueOptions["onTrouble"];
  /** Resolves when every piece so far is done. */
  last: Promise<void> = Promise.resolve();
  pending = 0;

  constructor(queue: KeepQueue, onTrouble: RescueOptions["onTrouble"]) {
    this.#queue = queue;
    this.#onTrouble = onTrouble;
  }

  later(work: () => Promise<void>): Promise<void> {
    this.pending += 1;
    this.last = this.#after(this.last, work)
      .catch((error: unknown) => this.#onTrouble("changed files could not be looked at", error))
      .finally(() => {
        this.pending -= 1;
      });
    return this.last;
  }

  async #after(before: Promise<void>, work: () => Promise<void>): Promise<void> {
    await before;
    await this.#queue.settled(limits.rescueLaterMs);
    await work();
  }
}

/** Resolves with the work, or after this time. */
export async function withinMs(work: Promise<void>, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, waitMs);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
