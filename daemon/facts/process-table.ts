/** Reads the system's process table: `/proc` on Linux, `ps` elsewhere. */

import { execFile, spawnSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs";
import { promisify } from "node:util";
import { limits } from "../../protocol/limits.ts";

// Keeps files `/proc/<pid>/stat` open, because the same processes are checked every second. Reading an open one again costs
// a tenth of opening it. An open file belongs to its very process. It cannot be read any more when that process is gone,
// even if its pid is used again.
//
// Beside each one `/proc/<pid>/statm` is kept open, which costs a third to read: a process that has memory lives. Only a
// few looks in a row are content with that. A look that finds nothing new makes no object.

interface Shown {
  readonly parent: number;
  readonly zombie: boolean;
  readonly stopped: boolean;
}

interface OpenStat<Row> {
  readonly fd: number;
  readonly memoryFd: number;
  /** What was read last, and what it said: a process at rest says the same again. */
  bytes: Buffer;
  row: Row | null;
  /** Looks that may still take `row` for the truth if the process has memory. */
  looksLeft: number;
}

const filesPerProcess = 2;

/** At most `limits.statsOpenMax` files; a process beyond that is for the caller to read. */
class OpenStats<Row extends Shown> {
  readonly #open = new Map<number, OpenStat<Row>>();
  readonly #buffer = Buffer.alloc(limits.statBytes);
  readonly #parse: (text: string) => Row | null;
  #pids: readonly number[] = [];
  /** The files of `#pids`, in their order; undefined: not open. */
  #selected: (OpenStat<Row> | undefined)[] = [];

  constructor(parse: (text: string) => Row | null) {
    this.#parse = parse;
  }

  /** Names the processes that `read` reads, each once, and closes the files of all others. Costs nothing for the same list. */
  select(pids: readonly number[]): void {
    if (pids === this.#pids) return;
    const wanted = new Set(pids);
    for (const [pid, known] of this.#open) if (!wanted.has(pid)) this.#close(pid, known);
    this.#pids = pids;
    this.#selected = pids.map(pid => this.#open.get(pid));
  }

  /**
   * Returns the row of the selected process at `index`, the same object as before if it shows the same. Null if it has
   * to be read in another way: it is gone, there is no room, or an error.
   */
  read(index: number): Row | null {
    const known = this.#selected[index] ?? this.#opened(index);
    if (known === null) return null;
    try {
      if (known.looksLeft > 0 && this.#hasMemory(known.memoryFd)) {
        known.looksLeft -= 1;
        return known.row;
      }
      const size = readSync(known.fd, this.#buffer, 0, limits.statBytes, 0);
      if (size === 0 || size === limits.statBytes) return this.#drop(index, known);
      if (known.row === null || !this.#isAsRead(known.bytes, size)) {
        known.bytes = Buffer.from(this.#buffer.subarray(0, size));
        const row = this.#parse(known.bytes.toString("latin1"));
        if (!isSame(known.row, row)) known.row = row;
      }
      // A stopped process shows as soon as it runs on.
      const isAtWork = known.row !== null && !known.row.stopped && !known.row.zombie;
      known.looksLeft = isAtWork ? limits.briefLooksMax : 0;
      return known.row;
    } catch {
      // The process is gone: another one may have its pid.
      return this.#drop(index, known);
    }
  }

  #isAsRead(bytes: Buffer, size: number): boolean {
    return bytes.length === size && this.#buffer.compare(bytes, 0, size, 0, size) === 0;
  }

  /** Throws if the process is gone. A process that has ended and was not collected yet has no memory: `0 0 0 ...`. */
  #hasMemory(memoryFd: number): boolean {
    const size = readSync(memoryFd, this.#buffer, 0, limits.statBytes, 0);
    return size > 2 && !(this.#buffer[0] === zero && this.#buffer[1] === blank);
  }

  #opened(index: number): OpenStat<Row> | null {
    const pid = this.#pids[index];
    if (pid === undefined || (this.#open.size + 1) * filesPerProcess > limits.statsOpenMax) return null;
    let fd: number | null = null;
    try {
      fd = openSync(`/proc/${pid}/stat`, "r");
      const memoryFd = openSync(`/proc/${pid}/statm`, "r");
      const known: OpenStat<Row> = { fd, memoryFd, bytes: Buffer.alloc(0), row: null, looksLeft: 0 };
      this.#open.set(pid, known);
      this.#selected[index] = known;
      return known;
    } catch {
      // The caller's own way tells why.
      if (fd !== null) closeSync(fd);
      return null;
    }
  }

  #drop(index: number, known: OpenStat<Row>): null {
    this.#selected[index] = undefined;
    const pid = this.#pids[index];
    if (pid !== undefined) this.#close(pid, known);
    return null;
  }

  #close(pid: number, { fd, memoryFd }: OpenStat<Row>): void {
    this.#open.delete(pid);
    closeSync(fd);
    closeSync(memoryFd);
  }
}

/** Whether two rows of one process show the same: one that runs for a while has other counts, and the same row. */
function isSame(a: Shown | null, b: Shown | null): boolean {
  return a?.parent === b?.parent && a?.zombie === b?.zombie && a?.stopped === b?.stopped;
}

const zero = 0x30;
const blank = 0x20;

/** One process as the system shows it. Pid and `startTime` together identify it for good. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  /** Ended, but its parent has not collected it yet. */
  readonly zombie: boolean;
  /** A signal stopped it, or a debugger did. */
  readonly stopped: boolean;
  readonly startTime: string;
}

/** One process as a look sees it. "unknown": the table could not be read, which proves no death. */
export type Seen = ProcessRow | "absent" | "unknown";

/** The system's table of processes. */
export interface ProcessTable {
  /** Reads one process, synchronously. */
  row(pid: number): Seen;
  /** Whether the process is this user's, and in the daemon's pid namespace. */
  isOurs(pid: number): boolean;
  /**
   * Returns how long the youngest child of a process has run, in milliseconds. "none": it has no child that runs. "unknown":
   * the system does not tell.
   */
  youngestChildMs(pid: number): number | "none" | "unknown";
  /**
   * Returns the rows of `pids`, each of which is there once, in their order. A process that shows the same as at the last call may have the same
   * object. The watch asks for the same list again and again, so what that needs may be kept until it asks for another.
   */
  rows(pids: readonly number[]): Promise<readonly Seen[]>;
}

/**
 * Linux: `/proc`. A start time is `<clock ticks since boot>@<boot id>`, because after a reboot the same pid can begin
 * at the same tick.
 */
class ProcTable implements ProcessTable {
  readonly #boot: string;
  readonly #namespace: string | null;
  readonly #usable: boolean;
  readonly #open = new OpenStats(text => parseStat(text, this.#boot));

  constructor() {
    this.#boot = (readProc("/proc/sys/kernel/random/boot_id") ?? "").trim().slice(0, 8);
    this.#namespace = linkOf("/proc/self/ns/pid");
    // A /proc of another pid namespace shows other processes under the same numbers.
    this.#usable = linkOf("/proc/self") === String(process.pid);
  }

  row(pid: number): Seen {
    if (!this.#usable) return "unknown";
    try {
      return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"), this.#boot) ?? "unknown";
    } catch (error) {
      // Only these errors prove that the process is gone; too many open files, for example, does not.
      const code = error instanceof Error && "code" in error ? error.code : null;
      return code === "ENOENT" || code === "ESRCH" ? "absent" : "unknown";
    }
  }

  isOurs(pid: number): boolean {
    const status = readProc(`/proc/${pid}/status`);
    if (status === null || !this.#usable) return false;
    const uid = status.match(/^Uid:\s+(\d+)/m)?.[1];
    if (uid === undefined || Number(uid) !== process.getuid?.()) return false;
    // One number for each namespace: a process in an inner one has more numbers than the daemon.
    const depth = (text: string | null): number =>
      text
        ?.match(/^NSpid:(.*)$/m)?.[1]
        ?.trim()
        .split(/\s+/).length ?? 0;
    if (depth(status) !== depth(readProc("/proc/self/status"))) return false;
    const namespace = linkOf(`/proc/${pid}/ns/pid`);
    return namespace === null || this.#namespace === null || namespace === this.#namespace;
  }

  youngestChildMs(pid: number): number | "none" | "unknown" {
    const upMs = Number.parseFloat(readProc("/proc/uptime") ?? "") * 1000;
    const threads = namesIn(`/proc/${pid}/task`)?.slice(0, limits.processThreadsMax);
    if (!this.#usable || threads === undefined || Number.isNaN(upMs)) return "unknown";
    const lists = threads.map(thread => readProc(`/proc/${pid}/task/${thread}/children`));
    // The kernel was built without these lists.
    if (lists.every(list => list === null)) return "unknown";
    const children = lists.flatMap(list => list?.trim().split(" ") ?? []).filter(child => child !== "");
    let youngest: number | "none" = "none";
    for (const child of children.slice(-limits.processChildrenMax)) {
      const row = this.row(Number(child));
      if (typeof row === "string" || row.zombie) continue;
      const age = upMs - Number.parseInt(row.startTime, 10) * tickMs;
      youngest = youngest === "none" ? age : Math.min(youngest, age);
    }
    return youngest;
  }

  async rows(pids: readonly number[]): Promise<readonly Seen[]> {
    if (!this.#usable) return pids.map(() => "unknown");
    const seen: Seen[] = [];
    for (const pid of pids) {
      const i = seen.length;
      if (i > 0 && i % limits.anchorBatchMax === 0) await new Promise(resolve => setImmediate(resolve));
      // Again after each pause, in which another call may have selected others.
      if (i % limits.anchorBatchMax === 0) this.#open.select(pids);
      seen.push(this.#open.read(i) ?? this.row(pid));
    }
    if (pids.length === 0) this.#open.select(pids);
    return seen;
  }
}

/**
 * Returns the fields of `/proc/<pid>/stat` from the third one, the state, on: `pid (name) state ppid ...`. The name may
 * contain blanks and parentheses, so the fields are counted from the last parenthesis.
 */
export function statFields(text: string): readonly string[] {
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** Parses `/proc/<pid>/stat`, with the start time in field 22. */
export function parseStat(text: string, boot: string): ProcessRow | null {
  const pid = Number.parseInt(text, 10);
  const [state, parent, ...rest] = statFields(text);
  const ticks = rest[17];
  if (state === undefined || ticks === undefined || Number.isNaN(pid)) return null;
  const stopped = "Tt".includes(state);
  return {
    pid,
    parent: Number(parent),
    zombie: "ZXx".includes(state),
    stopped,
    startTime: `${ticks}@${boot}`,
  };
}

/** Other systems: `ps`, with times in UTC and in English so that they compare. */
export class PsTable implements ProcessTable {
  row(pid: number): Seen {
    const seen = this.#look(pid);
    return seen === "unknown" ? seen : (seen.rows.get(pid) ?? "absent");
  }

  isOurs(pid: number): boolean {
    const seen = this.#look(pid);
    return seen !== "unknown" && seen.uids.get(pid) === process.getuid?.();
  }

  /** `ps` would list all processes to tell the children of one. */
  youngestChildMs(): "unknown" {
    return "unknown";
  }

  async rows(pids: readonly number[]): Promise<readonly Seen[]> {
    if (pids.length === 0) return [];
    try {
      const { stdout } = await promisify(execFile)("ps", psArguments(pids), psOptions);
      const { rows } = parsePs(stdout);
      return pids.map(pid => rows.get(pid) ?? "absent");
    } catch (error) {
      // `ps` exits with 1 if no process is left; any other failure proves nothing.
      const isNoneLeft = error instanceof Error && "code" in error && error.code === 1;
      return pids.map(() => (isNoneLeft ? "absent" : "unknown"));
    }
  }

  #look(pid: number): PsRows | "unknown" {
    const ran = spawnSync("ps", psArguments([pid]), psOptions);
    if (ran.error !== undefined || (ran.status !== 0 && ran.status !== 1)) return "unknown";
    return parsePs(ran.stdout);
  }
}

interface PsRows {
  readonly rows: ReadonlyMap<number, ProcessRow>;
  readonly uids: ReadonlyMap<number, number>;
}

const psOptions = {
  encoding: "utf8" as const,
  timeout: limits.anchorPollMs,
  maxBuffer: limits.lineBytes,
  env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" },
};

/** One `-o` for each column: the `ps` of the BSDs takes a list with empty headings for one heading. */
function psArguments(pids: readonly number[]): string[] {
  const columns = ["pid", "ppid", "uid", "stat", "lstart"].flatMap(name => ["-o", `${name}=`]);
  return [...columns, "-p", pids.join(",")];
}

/** Parses lines `pid ppid uid stat lstart`. */
export function parsePs(text: string): PsRows {
  const rows = new Map<number, ProcessRow>();
  const uids = new Map<number, number>();
  for (const line of text.split("\n")) {
    const [pid, parent, uid, state, ...start] = line.trim().split(/\s+/);
    if (pid === undefined || state === undefined || start.length === 0) continue;
    const row = {
      pid: Number(pid),
      parent: Number(parent),
      zombie: state.startsWith("Z"),
      stopped: state.startsWith("T"),
      startTime: start.join(" "),
    };
    rows.set(row.pid, row);
    uids.set(row.pid, Number(uid));
  }
  return { rows, uids };
}

/** Returns the process table of this system. */
export function systemTable(): ProcessTable {
  return process.platform === "linux" ? new ProcTable() : new PsTable();
}

/** The kernel counts times of processes in hundredths of a second, whatever its own clock does. */
const tickMs = 10;

/** The names in a folder of `/proc`; undefined: it cannot be read. */
export function namesIn(path: string): readonly string[] | undefined {
  try {
    return readdirSync(path);
  } catch {
    // The process does not exist or is hidden from the daemon.
    return undefined;
  }
}

/** The text of a file of `/proc`; null: it cannot be read. */
export function readProc(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process does not exist or is hidden from the daemon, which is the same here.
    return null;
  }
}

/** Where a link of `/proc` leads; null: it cannot be read. */
export function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    // Readable only if the daemon may trace the process.
    return null;
  }
}
