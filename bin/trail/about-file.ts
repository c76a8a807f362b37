/** A file, a directory or a resource: its holders, waiters, freezes and last writer. */
import { existsSync } from "node:fs";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { isResource, lockKey, nameInKey } from "../../protocol/names.ts";
import type { LockRow, WaiterRow } from "../../protocol/schemas/lock.ts";
import type { WriteRow } from "../../protocol/work.ts";
import type { Client } from "../process-context.ts";
import { rowsOf } from "../with-daemon.ts";
import type { About } from "./about.ts";
import { type Explained, Story } from "./explained.ts";
import { isAbout, isWithin, pathIn } from "./filter.ts";
import { actorIn, type LockHistory, type Taken } from "./lock-history.ts";

/** A lock. `kind` is null if only the trail tells of it. */
export interface HolderNow {
  readonly file: string;
  readonly project: string | null;
  readonly who: string;
  readonly kind: LockRow["kind"] | null;
  readonly heldMs: number;
  /** As in `LockRow`. */
  readonly leaseLeftMs?: number;
}

export interface WaiterNow {
  readonly file: string;
  readonly project: string;
  readonly who: string;
  readonly waitedMs: number;
  /** From 1. */
  readonly position: number;
  readonly holder: string | null;
}

/** The present of a file, a directory or a resource, whose `path` is its name; `heldMs`, `waitedMs` and `leftMs` count from the answer. */
export interface FileNow {
  readonly path: string;
  readonly holders: readonly HolderNow[];
  readonly waiters: readonly WaiterNow[];
  readonly freezes: readonly {
    readonly file: string;
    readonly project: string;
    /** Null: a person. */
    readonly who: string | null;
    readonly leftMs: number;
  }[];
  readonly lastWrite: {
    readonly file: string;
    readonly project: string | null;
    readonly who: string;
    readonly at: number;
    readonly by: "edit" | "shell";
    /** Null: unknown. */
    readonly isCommitted: boolean | null;
  } | null;
}

export class AboutFile implements About {
  readonly #paths: readonly string[];
  readonly #story: Story;
  #lastWrite: TrailLine | null = null;
  #isInTrail = false;

  /** `paths`: all absolute names of the file, the last one its real path; or the key of a resource. */
  constructor(paths: readonly string[], max: number) {
    this.#paths = paths;
    this.#story = new Story(line => this.#isAbout(line), max);
  }

  get path(): string {
    return this.#paths.at(-1) ?? "/";
  }

  get explained(): readonly Explained[] {
    return this.#story.found;
  }

  get isKnown(): boolean {
    return this.#isInTrail || isResource(this.path) || existsSync(this.path);
  }

  add(line: TrailLine, history: LockHistory): void {
    if (!this.#isAbout(line)) return;
    this.#isInTrail = true;
    if (line.decision !== "event") this.#story.add(line, history);
    else if (line.rule === "write") this.#lastWrite = line;
  }

  #isAbout(line: TrailLine): boolean {
    return this.#paths.some(path => isAbout(line, path));
  }

  /** Without a daemon, the trail alone tells. */
  async now(client: Client | null, history: LockHistory, nowMs: number): Promise<FileNow> {
    const { path } = this;
    const isMine = (other: string) => isWithin(other, path) || isWithin(path, other);
    const lastWrite = this.#written();
    if (client === null) {
      const taken = history.holders(({ file }) =>
        this.#paths.some(one => isWithin(file, one) || isWithin(one, file)),
      );
      const holders = taken.map(one => takenNow(one, nowMs));
      return { path: nameInKey(path), holders, waiters: [], freezes: [], lastWrite };
    }
    const locks = (await rowsOf(client, "locks")).filter(row => isMine(lockKey(row)));
    const [holders, waiters] = [locks.flatMap(holderOf), locks.flatMap(row => waitersOf(row))];
    if (isResource(path)) return { path: nameInKey(path), holders, waiters, freezes: [], lastWrite: null };
    const holds = (await rowsOf(client, "holds")).flatMap(({ paths, project: of, by, leftMs }) =>
      paths.filter(isMine).map(file => ({ file, project: of, who: by?.name ?? null, leftMs })),
    );
    const sessions = await rowsOf(client, "sessions");
    const project = lastWrite?.project ?? sessions.find(row => isWithin(path, row.worktree))?.project;
    // The query runs git, so it is asked for one project only.
    const writes = project === undefined ? [] : await rowsOf(client, "writes", { project });
    return {
      path,
      holders,
      waiters,
      freezes: holds,
      lastWrite: latest(
        lastWrite,
        writes.filter(row => isWithin(row.path, path)),
      ),
    };
  }

  #written(): FileNow["lastWrite"] {
    const line = this.#lastWrite;
    if (line === null) return null;
    const { at, project } = line;
    return { file: pathIn(line) ?? "", project, who: actorIn(line), at, by: "edit", isCommitted: null };
  }
}

export function holderOf({ path, project, holder, kind, heldMs, leaseLeftMs }: LockRow): HolderNow[] {
  if (holder === null) return [];
  const lease = leaseLeftMs === undefined ? {} : { leaseLeftMs };
  return [{ file: path, project, who: holder.name, kind, heldMs, ...lease }];
}

/** A lock of which only the trail tells. */
export function takenNow({ file, project, who, at }: Taken, nowMs: number): HolderNow {
  return { file: nameInKey(file), project, who, kind: null, heldMs: nowMs - at };
}

/** The waiters that `isMeant` selects, in queue order. */
export function waitersOf(
  { path, project, holder, waiters }: LockRow,
  isMeant: (waiter: WaiterRow) => boolean = () => true,
): WaiterNow[] {
  return waiters.flatMap((waiter, index) => {
    if (!isMeant(waiter)) return [];
    const { name: who, waitedMs } = waiter;
    return [{ file: path, project, who, waitedMs, position: index + 1, holder: holder?.name ?? null }];
  });
}

/** The later one of the trail's latest write and the uncommitted work that the daemon knows. */
function latest(told: FileNow["lastWrite"], rows: readonly WriteRow[]): FileNow["lastWrite"] {
  const works = rows.flatMap(({ path, project, state, writers }) =>
    writers.slice(0, 1).map(({ name, at, by }) => {
      return { file: path, project, who: name, at, by, isCommitted: state === "unknown" ? null : false };
    }),
  );
  const [work] = works.sort((a, b) => b.at - a.at);
  if (work === undefined) return told;
  // The work of a file is the later one: its entry follows the line of its write.
  return told === null || work.file === told.file || work.at >= told.at ? work : told;
}
