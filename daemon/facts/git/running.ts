/**
 * The git processes that run on this machine, and which of them may hold a lock file of a repository.
 *
 * Git names no holder in a lock file. A process holds none that is older than itself, nor one of another repository. A
 * process that cannot be read holds none as far as Kite knows.
 */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { limits } from "../../../protocol/limits.ts";
import { linkOf, namesIn, parseStat, readProc } from "../process-table.ts";

/** A git process that may change a repository. */
export interface GitProcess {
  readonly pid: number;
  /** The processes above it, the nearest first, at most `limits.ancestorsMax`. */
  readonly ancestors: readonly number[];
  /** Where it works: git itself goes to the top of its worktree. */
  readonly cwd: string;
  /** The given `--git-dir`, as it stands; null: none. */
  readonly gitDir: string | null;
  /** The command in short form: `git commit`. */
  readonly name: string;
  /** How long it has run, in milliseconds. */
  readonly ranMs: number;
}

/** These hold no lock file, or one that git makes anew at once: readers, servers, and what tidies in the background. */
const harmless: ReadonlySet<string> = new Set(
  (
    "annotate archive blame bundle cat-file check-attr check-ignore check-mailmap cherry credential credential-cache " +
    "credential-cache--daemon credential-store daemon describe diff diff-files diff-index diff-tree difftool " +
    "for-each-ref format-patch fsck fsmonitor--daemon grep help http-backend instaweb log ls-files ls-remote ls-tree " +
    "maintenance merge-base name-rev pack-objects rev-list rev-parse shortlog show show-branch show-ref upload-archive " +
    "upload-pack var version whatchanged"
  ).split(" "),
);

/** Options of git itself whose value is the next word. */
const valued = /^(?:-C|-c|--git-dir|--work-tree|--namespace|--super-prefix|--config-env|--attr-source)$/;

/** The command that git runs, by the words of its process; null: it holds no lock file. */
export function gitCommandOf(words: readonly string[]): Pick<GitProcess, "name" | "gitDir"> | null {
  let gitDir: string | null = null;
  for (let i = 1; i < words.length; i += 1) {
    const word = words[i] ?? "";
    if (!word.startsWith("-")) {
      const isBackground = word === "gc" && words.includes("--auto");
      return harmless.has(word) || isBackground ? null : { name: `git ${word}`, gitDir };
    }
    if (word.startsWith("--git-dir=")) gitDir = word.slice("--git-dir=".length);
    if (!valued.test(word)) continue;
    i += 1;
    if (word === "--git-dir") gitDir = words[i] ?? null;
  }
  return null;
}

/** Returns the git processes of this user that may hold a lock file, but for those that this process started. */
export async function gitProcesses(): Promise<readonly GitProcess[]> {
  const found = process.platform === "linux" ? await inProc() : await inPs();
  return found.filter(({ ancestors }) => !ancestors.includes(process.pid));
}

/** Linux: `/proc`. Other work gets its turn now and then. */
async function inProc(): Promise<readonly GitProcess[]> {
  const upMs = Number.parseFloat(readProc("/proc/uptime") ?? "") * 1000;
  const pids = (namesIn("/proc") ?? []).filter(name => /^\d+$/.test(name));
  const found: GitProcess[] = [];
  for (const [i, pid] of pids.entries()) {
    if (i > 0 && i % limits.anchorBatchMax === 0) await new Promise(resolve => setImmediate(resolve));
    if (readProc(`/proc/${pid}/comm`)?.trim() !== "git") continue;
    const command = gitCommandOf(readProc(`/proc/${pid}/cmdline`)?.split("\0") ?? []);
    const stat = readProc(`/proc/${pid}/stat`);
    const cwd = linkOf(`/proc/${pid}/cwd`);
    const row = stat === null ? null : parseStat(stat, "");
    if (command === null || cwd === null || row === null || row.zombie) continue;
    const ranMs = upMs - Number.parseInt(row.startTime, 10) * tickMs;
    found.push({ ...command, pid: row.pid, ancestors: above(row.parent, parentInProc), cwd, ranMs });
  }
  return found;
}

/** The kernel counts times of processes in hundredths of a second. */
const tickMs = 10;

function parentInProc(pid: number): number | null {
  const stat = readProc(`/proc/${pid}/stat`);
  return stat === null ? null : (parseStat(stat, "")?.parent ?? null);
}

function above(parent: number, parentOf: (pid: number) => number | null): readonly number[] {
  const found: number[] = [];
  for (let at: number | null = parent; at !== null && at > 0 && found.length < limits.ancestorsMax; ) {
    found.push(at);
    at = parentOf(at);
  }
  return found;
}

const options = {
  encoding: "utf8" as const,
  timeout: limits.anchorPollMs,
  maxBuffer: limits.lineBytes,
  env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C" },
};

/** Other systems: `ps`, and `lsof` for the folders of the git processes alone. */
async function inPs(): Promise<readonly GitProcess[]> {
  const columns = ["pid", "ppid", "etime", "args"].flatMap(name => ["-o", `${name}=`]);
  const rows = parsePsRows(await output("ps", ["-ax", ...columns]));
  const parents = new Map(rows.map(({ pid, parent }) => [pid, parent]));
  const calls = rows.flatMap(({ pid, parent, ranMs, words }) => {
    const isGit = /(?:^|\/)git$/.test(words[0] ?? "");
    const command = isGit ? gitCommandOf(words) : null;
    return command === null ? [] : [{ ...command, pid, parent, ranMs }];
  });
  if (calls.length === 0) return [];
  const pids = calls.map(({ pid }) => pid).join(",");
  const folders = parseLsof(await output("lsof", ["-a", "-d", "cwd", "-Fpn", "-p", pids]));
  return calls.flatMap(({ parent, ...call }) => {
    const cwd = folders.get(call.pid);
    if (cwd === undefined) return [];
    return [{ ...call, ancestors: above(parent, pid => parents.get(pid) ?? null), cwd }];
  });
}

/** Empty if the program fails: then no process is known. */
async function output(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(program, args, options)).stdout;
  } catch (error) {
    // `lsof` fails if one of the processes has ended, and tells of the others.
    return error instanceof Error && "stdout" in error && typeof error.stdout === "string"
      ? error.stdout
      : "";
  }
}

interface PsRow {
  readonly pid: number;
  readonly parent: number;
  readonly ranMs: number;
  readonly words: readonly string[];
}

/** Parses lines `pid ppid [[days-]hours:]minutes:seconds words...`. */
export function parsePsRows(text: string): readonly PsRow[] {
  return text.split("\n").flatMap(line => {
    const [, pid, parent, days = 0, hours = 0, minutes, seconds, words = ""] =
      /^\s*(\d+)\s+(\d+)\s+(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)\s+(.*)$/.exec(line) ?? [];
    if (pid === undefined || parent === undefined) return [];
    const ranS = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
    return [{ pid: Number(pid), parent: Number(parent), ranMs: ranS * 1000, words: words.split(/\s+/) }];
  });
}

/** Parses `lsof -Fpn`: a line `p<pid>` for each process, and `n<folder>` behind it. */
export function parseLsof(text: string): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  let pid: number | null = null;
  for (const line of text.split("\n")) {
    if (line.startsWith("p")) pid = Number(line.slice(1));
    else if (line.startsWith("n") && pid !== null) found.set(pid, line.slice(1));
  }
  return found;
}
