/**
 * Watches the directories with held or dirty files while an agent without hooks is registered, since no event tells of its
 * writes. What such a write is: a change that no hooked agent's write or shell line explains.
 *
 * Invariants: without such an agent it hears of no lock and watches nothing. It holds nobody up. A change is an agent's
 * only if that agent is the only one without hooks in the worktree. It also waits until each hooked agent in a turn there has
 * given a sign of life. A shell line that wrote the file has then ended, and its end says so.
 */

import { watch } from "node:fs";
import { basename, dirname } from "node:path";
import { isSystemError } from "../../../protocol/errors.ts";
import { limits } from "../../../protocol/limits.ts";
import { isUnhooked } from "../../../protocol/names.ts";
import type { Written } from "../../core/frame/actors.ts";
import { pathOf, type Spelled } from "../../core/tables/naming.ts";
import { sessionsOf } from "../../core/tables/sessions.ts";
import { pathOfWork } from "../../core/work/dirty-files.ts";
import type { Listener, Listeners } from "../../engine/log-view.ts";
import type { Services } from "../../options.ts";
import { actorOf } from "../../sessions/proposals.ts";
import { decidedBy } from "../../trail/decisions.ts";
import type { Needs } from "../parts.ts";
import { watchedKeys, writtenAt } from "./write-actions.ts";

/** Watches one directory. Throws an error of the system if that is not possible; calls `failed` if it is no more. */
export type WatchDirectory = (
  dir: string,
  changed: (name: string | null) => void,
  failed: () => void,
) => () => void;

interface UnhookedWatchOptions {
  readonly listeners: Pick<Listeners, "add" | "remove">;
  /** Called with a sentence when the system's limit of watches is reached. */
  readonly warn: (problem: string) => void;
  readonly onTrouble: (message: string, error: unknown) => void;
  readonly watchDirectory?: WatchDirectory;
}

interface Folder {
  readonly close: () => void;
  /** The keys of its watched files, by their names in it. */
  files: ReadonlyMap<string, string>;
}

export class UnhookedWatch {
  readonly #services: Services & Needs<"edits">;
  readonly #options: UnhookedWatchOptions;
  readonly #watchDirectory: WatchDirectory;
  readonly #sessions = new Set<string>();
  readonly #folders = new Map<string, Folder>();
  /** When the change of a file was seen, in core time (ms), by the file's key. */
  readonly #seen = new Map<string, number>();
  #cancelRefresh: (() => void) | null = null;
  #cancelSettle: (() => void) | null = null;
  #isDegraded = false;
  #isClosed = false;

  /** Hears of sessions from their beginning on. */
  readonly sessions: Listener = {
    events: ["session_started", "session_ended"],
    stepped: (_entry, { events }) => {
      for (const { event } of events) {
        if (event.event === "session_started" && isUnhooked(event.id)) this.#begin(event.id);
        if (event.event === "session_ended") this.#end(event.id);
      }
    },
  };

  /** Hears of files while there is an agent without hooks. */
  readonly #files: Listener = {
    commands: ["flight_end", "writes_noted", "writes_settled"],
    events: ["lock_granted", "lock_released"],
    stepped: () => this.#refreshSoon(),
  };

  constructor(services: Services & Needs<"edits">, options: UnhookedWatchOptions) {
    this.#services = services;
    this.#options = options;
    this.#watchDirectory = options.watchDirectory ?? watchNode;
    for (const id of services.engine.state.sessions.live.keys()) if (isUnhooked(id)) this.#begin(id);
  }

  /** The directories that are watched. */
  get watched(): readonly string[] {
    return [...this.#folders.keys()];
  }

  close(): void {
    this.#isClosed = true;
    this.#rest();
  }

  #begin(id: string): void {
    if (this.#isClosed) return;
    if (this.#sessions.size === 0) this.#options.listeners.add(this.#files);
    this.#sessions.add(id);
    this.#refreshSoon();
  }

  #end(id: string): void {
    if (!this.#sessions.delete(id)) return;
    if (this.#sessions.size === 0) this.#rest();
    else this.#refreshSoon();
  }

  #rest(): void {
    this.#options.listeners.remove(this.#files);
    this.#cancelRefresh?.();
    this.#cancelSettle?.();
    [this.#cancelRefresh, this.#cancelSettle] = [null, null];
    for (const { close } of this.#folders.values()) close();
    this.#folders.clear();
    this.#seen.clear();
    this.#isDegraded = false;
  }

  #refreshSoon(): void {
    const { clock } = this.#services;
    this.#cancelRefresh ??= clock.at(clock.now() + limits.watchRefreshMs, () => {
      this.#cancelRefresh = null;
      this.#refresh();
    });
  }

  #refresh(): void {
    const wanted = this.#wanted();
    for (const [dir, { close }] of this.#folders) {
      if (wanted.has(dir)) continue;
      close();
      this.#folders.delete(dir);
    }
    for (const [dir, files] of wanted) {
      const known = this.#folders.get(dir);
      if (known === undefined) this.#open(dir, files);
      else known.files = files;
    }
  }

  /** The directories to watch, with the keys of their files by name. */
  #wanted(): ReadonlyMap<string, ReadonlyMap<string, string>> {
    const { engine, edits, facts } = this.#services;
    const { state } = engine;
    const wanted = new Map<string, Map<string, string>>();
    const projects = new Map([...this.#sessions].map(id => [state.sessions.live.get(id)?.project, id]));
    for (const id of projects.values())
      for (const key of watchedKeys(state, id)) {
        const file = this.#fileOf(key);
        if (file === null) continue;
        const path = pathOf(file);
        const dir = dirname(path);
        const files = wanted.get(dir) ?? new Map<string, string>();
        if (!wanted.has(dir) && wanted.size >= limits.watchedDirectoriesMax) continue;
        wanted.set(dir, files.set(basename(path), key));
        if (edits.baselines.seen(key) === undefined)
          void edits.baselines.take({ ...file, lexical: facts.lexical("/", path) });
      }
    return wanted;
  }

  #open(dir: string, files: Folder["files"]): void {
    if (this.#isDegraded) return;
    try {
      const failed = () => {
        this.#folders.get(dir)?.close();
        this.#folders.delete(dir);
      };
      const close = this.#watchDirectory(dir, name => this.#changed(dir, name), failed);
      this.#folders.set(dir, { close, files });
    } catch (error) {
      if (!isSystemError(error)) throw error;
      // A directory that is gone has no file that could change.
      if (!limitCodes.has(error.code ?? "")) return;
      this.#isDegraded = true;
      this.#options.warn(
        `Kite watches ${this.#folders.size} directories for agents without hooks, and the system allows no more (${error.code}): changes elsewhere are seen at the next shell line; raise fs.inotify.max_user_watches to see all`,
      );
    }
  }

  #fileOf(key: string): Spelled | null {
    const { state } = this.#services.engine;
    const work = state.writes.files.get(key);
    return work === undefined ? (state.locks.holds.get(key) ?? null) : { key, path: pathOfWork(work) };
  }

  #changed(dir: string, name: string | null): void {
    const files = this.#folders.get(dir)?.files ?? new Map<string, string>();
    const own = name === null ? undefined : files.get(name);
    const { engine, clock } = this.#services;
    for (const key of name === null ? files.values() : own === undefined ? [] : [own]) {
      // The end of a write that a hook saw begin tells of this one.
      if ((engine.state.locks.holds.get(key)?.flights.length ?? 0) > 0) continue;
      if (this.#seen.size < limits.watchedDirectoriesMax) this.#seen.set(key, clock.now());
    }
    this.#settleSoon();
  }

  #settleSoon(): void {
    if (this.#seen.size === 0) return;
    const { clock } = this.#services;
    this.#cancelSettle ??= clock.at(clock.now() + limits.watchSettleMs, () => {
      this.#settle().catch((error: unknown) =>
        this.#options.onTrouble("a change in a watched directory could not be looked at", error),
      );
    });
  }

  async #settle(): Promise<void> {
    try {
      for (const [key, at] of [...this.#seen]) {
        // The last such agent, or the daemon, may end meanwhile.
        if (!this.#seen.has(key)) continue;
        const isOver = this.#services.clock.now() - at >= limits.watchForgetMs;
        if (!isOver && !this.#hasSettled(key, at)) continue;
        this.#seen.delete(key);
        if (!isOver) await this.#account(key);
      }
    } finally {
      // A look that failed is over, too: the next change gets its own.
      this.#cancelSettle = null;
      if (!this.#isClosed) this.#settleSoon();
    }
  }

  /** Whether each hooked agent of the file's project that is in a turn has given a sign of life since. */
  #hasSettled(key: string, at: number): boolean {
    const { engine, presence, clock } = this.#services;
    const { state } = engine;
    if (clock.now() - at < limits.watchSettleMs) return false;
    const project = state.writes.files.get(key)?.project ?? this.#projectOf(key);
    if (project === null) return true;
    for (const { id } of sessionsOf(state.sessions, project)) {
      const row = presence.rows.get(id);
      // No event says whether a turn of an agent without hooks runs.
      if (row === undefined || this.#sessions.has(id)) continue;
      // What the sign's own event tells of files comes a moment after it.
      for (const { active, signAt } of [row, ...row.agents.values()])
        if (active && (signAt <= at || clock.now() - signAt < limits.watchSettleMs)) return false;
    }
    return true;
  }

  #projectOf(key: string): string | null {
    const { state } = this.#services.engine;
    const holder = state.locks.holds.get(key)?.actor.session;
    return (holder === undefined ? undefined : state.sessions.live.get(holder)?.project) ?? null;
  }

  /** Puts a change that nothing explains to the account of the only agent that can have made it. */
  async #account(key: string): Promise<void> {
    const services = this.#services;
    const file = this.#fileOf(key);
    const { engine, edits, clock } = services;
    if (file === null) return;
    const changedAt = await edits.baselines.changed(file);
    if (changedAt === null || (engine.state.locks.holds.get(key)?.flights.length ?? 0) > 0) return;
    const last = edits.writers.last(key);
    const writtenAtMs = last === null ? null : clock.wall() - (clock.now() - last.at);
    // A hooked agent's write, or what a formatter made of it.
    if (writtenAtMs !== null && changedAt <= writtenAtMs + limits.aftermathMs) return;
    const live = [...this.#sessions].flatMap(id => engine.state.sessions.live.get(id) ?? []);
    const [first] = live;
    if (first === undefined) return;
    const one = engine.state.writes.files.get(key) ?? (await writtenAt(services, file, first.id));
    if (one === null) return;
    const there = live.filter(({ worktree }) => worktree === one.worktree);
    const [only] = there;
    if (only === undefined) return;
    if (there.length > 1) {
      this.#noteUnknown(file, there.length, one.project);
      return;
    }
    const files: readonly Written[] = [{ key, file: one.file, worktree: one.worktree, project: one.project }];
    const actor = actorOf(services, only.id, null, null);
    const noted = { files, by: "shell", ancestors: [], wallMs: clock.wall() } as const;
    await engine.submitAndWait({ type: "writes_noted", actor, noted });
    services.recorder.note({
      ...decidedBy(services, actor),
      ...{ event: "write_seen", type: null, file: pathOf(file), decision: "note", rule: "watch" },
      why: "no hook told of this change, and no other agent without hooks works here",
    });
  }

  #noteUnknown(file: Spelled, count: number, project: string): void {
    const { clock, recorder } = this.#services;
    recorder.note({
      ...{ at: clock.wall(), event: "write_seen", id: null, agent: null, name: null, project },
      ...{ type: null, file: pathOf(file), decision: "note", rule: "watch" },
      why: `no hook told of this change, and ${count} agents without hooks work here`,
    });
  }
}

/** What the system says where no more can be watched. */
const limitCodes: ReadonlySet<string> = new Set(["ENOSPC", "EMFILE", "ENFILE", "ENOMEM"]);

const watchNode: WatchDirectory = (dir, changed, failed) => {
  const watcher = watch(dir, { persistent: false }, (_event, name) => changed(name));
  watcher.on("error", failed);
  return () => watcher.close();
};
