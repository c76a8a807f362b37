/** Checks the daemon: whether it runs, answers and holds the lock, and which version it is. */

import { constants, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { HelloRefused, LocalError, NotRunning, WrongOwner } from "../../client/errors.ts";
import { statFields } from "../../daemon/facts/process-table.ts";
import { isAlive } from "../../daemon/facts/processes.ts";
import { processWords } from "../../daemon/facts/programs.ts";
import { readDaemonFile } from "../../daemon/instance/socket.ts";
import { isElsewhere } from "../../hooks/client/mounts.ts";
import { limits } from "../../protocol/limits.ts";
import type { StatsReply } from "../../protocol/schemas/daemon.ts";
import type { Client, ProcessContext } from "../context/process-context.ts";
import { fewFiles } from "../context/with-daemon.ts";
import { refusalText } from "../refusal-text.ts";
import { isRebuilt, version } from "../version.ts";
import { clean, cut } from "../view/text.ts";
import { missingOr } from "./files.ts";
import { barred, type OddFile, oddFile } from "./odd-files.ts";
import { advise, aside, type Check, type Fix, fail, ok, restart, warn } from "./results.ts";

// Who listens on Kite's socket, if it is not the daemon; and whether a process is stopped.

/** A process, for a person. */
interface Listener {
  readonly pid: number;
  /** The beginning of its command line. */
  readonly command: string;
}

const commandColumns = 60;

/** Returns the process that listens on the socket; null if the system does not tell it, as outside of Linux. */
function listenerOf(socket: string): Listener | null {
  const inodes = new Set(
    textOf("/proc/net/unix")
      .split("\n")
      .flatMap(line => {
        const [, , , flags, , , inode, path] = line.trim().split(/\s+/);
        // The kernel's flag for a socket that accepts connections.
        const listens = (Number.parseInt(flags ?? "0", 16) & 0x10000) !== 0;
        return path === socket && listens && inode !== undefined ? [inode] : [];
      }),
  );
  if (inodes.size === 0) return null;
  const pid = names("/proc")
    .filter(name => /^\d+$/.test(name))
    .find(name =>
      names(`/proc/${name}/fd`).some(fd =>
        inodes.has(/^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${name}/fd/${fd}`))?.[1] ?? ""),
      ),
    );
  if (pid === undefined) return null;
  const words = processWords(Number(pid))?.args ?? [];
  return { pid: Number(pid), command: cut(clean(words.join(" ")), commandColumns) };
}

/** Whether a signal stopped the process (Ctrl-Z, SIGSTOP): it lives and does nothing. */
function isStopped(pid: number): boolean {
  const stat = textOf(`/proc/${pid}/stat`);
  return /^[Tt]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}

/** Returns the text of a file of the system; "" if there is none. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // The process ended, or the system has no /proc: nothing is told.
  }
}

function names(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // As above; or another user's process.
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // Closed meanwhile.
  }
}

// Whether a process makes progress, as far as the system tells.

/** What a process has done so far. */
interface Work {
  /** Processor time in ticks of the system's clock. */
  readonly ticks: number;
  /** It waits for a disk, which no signal interrupts. */
  readonly isAtDisk: boolean;
}

/** Returns the work of a process; null if it is gone, or if the system does not tell, as outside of Linux. */
function workOf(pid: number): Work | null {
  const fields = statFields(textOf(`/proc/${pid}/stat`));
  // Fields 14 and 15: the times in the program and in the kernel.
  const ticks = Number(fields[11]) + Number(fields[12]);
  return Number.isNaN(ticks) ? null : { ticks, isAtDisk: fields[0] === "D" };
}

/** Whether the process did anything in between; null if the system does not tell. */
function hasWorked(before: Work | null, after: Work | null): boolean | null {
  if (before === null || after === null) return null;
  return after.ticks > before.ticks || before.isAtDisk || after.isAtDisk;
}

interface DaemonFindings {
  readonly checks: readonly Check[];
  /** Null if no daemon answers. */
  readonly stats: StatsReply | null;
}

/** A daemon whose process lives is asked for another `patienceMs`: a slow one is no silent one. */
export async function checkDaemon(
  world: ProcessContext,
  patienceMs: number = limits.patienceMs,
): Promise<DaemonFindings> {
  const found = await askOnce(world);
  if (!(found instanceof LocalError)) return found;
  // A refusal is an answer.
  const isRefusal = found instanceof HelloRefused || found instanceof WrongOwner;
  const pid = isRefusal ? null : livingDaemon(world);
  if (pid === null) return { checks: [withoutAnswer(world, found)], stats: null };
  const before = workOf(pid);
  const late = await askedAgain(world, patienceMs);
  if (late instanceof LocalError) {
    const isAtWork = hasWorked(before, workOf(pid));
    const isSame = livingDaemon(world) === pid;
    return {
      checks: [isSame ? silent(world, pid, late, isAtWork) : withoutAnswer(world, late)],
      stats: null,
    };
  }
  return { checks: late.checks.map(one => (one.check === "answers" ? slow(one) : one)), stats: late.stats };
}

/** Asks the daemon once; returns why it did not answer. */
async function askOnce(world: ProcessContext, timeoutMs?: number): Promise<DaemonFindings | LocalError> {
  let client: Client;
  try {
    client = await world.connect({ name: "kite doctor", ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return error;
  }
  try {
    const answered = await pinged(client);
    const stats = await client.request("stats", {});
    const few = stats.ok ? filesOf(stats) : [];
    const checks = [versionOf(world, client), answered, lockOf(world, client), ...few];
    return { checks, stats: stats.ok ? stats : null };
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return error;
  } finally {
    client.close();
  }
}

/** Asks until an answer comes, or for so long: a daemon that starts does not listen yet. */
async function askedAgain(world: ProcessContext, patienceMs: number): Promise<DaemonFindings | LocalError> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const found = await askOnce(world, Math.max(1, end - performance.now()));
    if (!(found instanceof LocalError) || performance.now() + limits.retryPauseMaxMs > end) return found;
    await delay(limits.retryPauseMaxMs);
  }
}

/** Returns the daemon's process if it lives and no signal stopped it, and its socket may be one; else null. */
function livingDaemon(world: ProcessContext): number | null {
  const { paths } = world;
  const there = lstatSync(paths.socket, { throwIfNoEntry: false });
  if (shutSocket(world) !== null) return null;
  const file = readDaemonFile(paths);
  if (file === null || !isAlive(file) || isStopped(file.pid)) return null;
  return there === undefined || there.isSocket() ? file.pid : null;
}

/** Returns why this user may not connect to the socket, or null. */
function shutSocket({ paths }: ProcessContext): OddFile | null {
  return barred(paths.socket, constants.R_OK | constants.W_OK);
}

function slow(answers: Check): Check {
  const { detail } = answers;
  if (answers.result !== "ok") return answers;
  return {
    ...answers,
    result: "warn",
    detail: `${detail}, but an earlier request got no answer in time`,
    todo: "see what else keeps the machine or its disk busy; Kite needs no restart",
  };
}

const check = "daemon";
/** Folders of a container that a line names. */
const foldersMax = 4;

/** Returns why no daemon answers: none runs, it hangs, or something else is in its place. */
function withoutAnswer(world: ProcessContext, error: LocalError): Check {
  const { paths } = world;
  const there = lstatSync(paths.socket, { throwIfNoEntry: false });
  if (there !== undefined && !there.isSocket()) {
    const detail = `${paths.socket} is ${there.isDirectory() ? "a folder" : "a file"}, not the daemon's socket`;
    return fail(check, detail, advise("put it aside", aside(paths.socket), "kite up"));
  }
  const shut = shutSocket(world);
  if (shut !== null) return fail(check, `${shut.what}, so no program reaches the daemon`, shut.advice);
  const file = readDaemonFile(paths);
  if (file !== null && isAlive(file) && isStopped(file.pid)) {
    const detail = `the daemon (process ${file.pid}) is stopped by a signal, so nobody gets an answer`;
    return fail(check, detail, advise("let it go on", `kill -CONT ${file.pid}`));
  }
  if (error instanceof NotRunning) {
    const kept = existsSync(paths.downFile) ? ", and hooks do not start it (kite down)" : "";
    if (isElsewhere(paths.home))
      return warn(check, "not running on the host of this container", "run kite up on the host");
    return warn(check, `not running${kept}`, advise("start it", "kite up"));
  }
  if (error instanceof WrongOwner || error instanceof HelloRefused) {
    return fail(check, error.message, `see ${paths.log}`);
  }
  const other = listenerOf(paths.socket);
  const who = other === null ? "another program" : `another program (process ${other.pid}: ${other.command})`;
  const detail = `${who} listens on ${paths.socket}, and it is no Kite daemon`;
  return fail(check, detail, advise("put its socket aside", aside(paths.socket), "kite up"));
}

/**
 * A daemon whose process lives without an answer. `isAtWork`: it makes progress; null: the system does not tell. Only one
 * that does nothing may be ended for the person, and only if it still does not answer then.
 */
function silent(world: ProcessContext, pid: number, error: LocalError, isAtWork: boolean | null): Check {
  const { log, socket } = world.paths;
  const gives =
    error instanceof NotRunning
      ? `the daemon (process ${pid}) does not listen on ${socket}`
      : `the daemon (process ${pid}) does not answer`;
  if (isAtWork === true) {
    const detail = `${gives}, but it is at work: it starts, or the machine is busy`;
    return fail(check, detail, `wait, then run kite doctor again; it writes to ${log}`);
  }
  const { todo, fix } = advise(
    `its last words are in ${log}; to start another one`,
    `kill -9 ${pid}`,
    "kite up",
  );
  const again = { does: fix.does, work: () => unlessAnswered(world, pid, fix) };
  return fail(check, gives, isAtWork === null ? todo : { todo, fix: again });
}

/** Time passed since the check: a daemon that answers now, or works, is not ended. */
async function unlessAnswered(world: ProcessContext, pid: number, fix: Fix): Promise<string> {
  const before = workOf(pid);
  const isAnswering = !((await askedAgain(world, limits.requestMs)) instanceof LocalError);
  if (isAnswering) return "it answers now, so nothing was ended";
  if (livingDaemon(world) !== pid) return "its process has ended";
  if (hasWorked(before, workOf(pid)) !== false) return "it is at work now, so nothing was ended";
  return fix.work(world, null);
}

function versionOf(world: ProcessContext, client: Client): Check {
  const { pid, version: running } = client.daemon;
  if (running === version && isRebuilt(world.paths)) {
    const detail = `version ${running}, pid ${pid}, started before the last build of kite`;
    return warn(check, detail, restart("load the new build"));
  }
  if (running === version) return ok(check, `version ${running}, pid ${pid}`);
  const detail = `version ${running} runs (pid ${pid}), this program is ${version}`;
  return warn(check, detail, restart("restart it"));
}

async function pinged(client: Client): Promise<Check> {
  const began = performance.now();
  const answer = await client.request("ping", {});
  const ms = (performance.now() - began).toFixed(1);
  const check = "answers";
  if (answer.ok) return ok(check, `a ping took ${ms} ms`);
  return fail(check, refusalText(answer, "terminal"), restart("restart it"));
}

/** Returns a check if the daemon may open too few files. */
function filesOf(stats: StatsReply): Check[] {
  const few = fewFiles(stats);
  return few === null ? [] : [warn("open files", few.text, few.line)];
}

function lockOf(world: ProcessContext, client: Client): Check {
  const check = "lock";
  const { paths } = world;
  const file = readDaemonFile(paths);
  if (file === null && oddFile(paths.daemonFile) !== null) {
    // Another check says what stands in its place.
    return fail(check, `${paths.daemonFile} cannot be read`, "mend it as said above");
  }
  if (file === null) {
    const detail = missingOr(paths.daemonFile);
    return fail(check, detail, restart("restart the daemon, which writes it"));
  }
  if (file.pid === client.daemon.pid && isElsewhere(paths.home)) {
    const folders = (client.daemon.mounted ?? []).map(({ inside, outside }) => `${inside} is ${outside}`);
    const where =
      folders.length === 0 ? "every folder has its path" : folders.slice(0, foldersMax).join(", ");
    return ok("container", `this is a container, and the daemon runs on its host, where ${where}`);
  }
  if (file.pid === client.daemon.pid && isAlive(file)) {
    return ok(check, `process ${file.pid} is the one daemon of ${paths.home}`);
  }
  const detail = `${paths.daemonFile} names process ${file.pid}, but ${client.daemon.pid} answers`;
  return fail(check, detail, restart("restart the daemon, which writes it"));
}
