/** Checks the daemon: whether it runs, answers and holds the lock, and which version it is. */
import { existsSync, lstatSync } from "node:fs";
import { HelloRefused, LocalError, NotRunning, WrongOwner } from "../../client/errors.ts";
import { isAlive } from "../../daemon/facts/processes.ts";
import { readDaemonFile } from "../../daemon/instance/daemon-file.ts";
import type { StatsReply } from "../../protocol/daemon.ts";
import type { Client, ProcessContext } from "../process-context.ts";
import { isRebuilt } from "../stale-build.ts";
import { version } from "../version.ts";
import type { Check } from "../view/doctor.ts";
import { advise, aside } from "./advice.ts";
import { isStopped, listenerOf } from "./listener.ts";

export interface DaemonFindings {
  readonly checks: readonly Check[];
  /** Null if no daemon answers. */
  readonly stats: StatsReply | null;
}

export async function checkDaemon(world: ProcessContext): Promise<DaemonFindings> {
  let client: Client;
  try {
    client = await world.connect({ name: "kite doctor" });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return { checks: [withoutAnswer(world, error)], stats: null };
  }
  try {
    const answered = await pinged(world, client);
    const stats = await client.request("stats", {});
    const checks = [versionOf(world, client), answered, lockOf(world, client)];
    return { checks, stats: stats.ok ? stats : null };
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return { checks: [withoutAnswer(world, error)], stats: null };
  } finally {
    client.close();
  }
}

const check = "daemon";

/** Returns why no daemon answers: none runs, it hangs, or something else is in its place. */
function withoutAnswer(world: ProcessContext, error: LocalError): Check {
  const { paths } = world;
  const there = lstatSync(paths.socket, { throwIfNoEntry: false });
  if (there !== undefined && !there.isSocket()) {
    const detail = `${paths.socket} is ${there.isDirectory() ? "a folder" : "a file"}, not the daemon's socket`;
    return {
      check,
      result: "fail",
      detail,
      ...advise(world, "put it aside", aside(paths.socket), "kite up"),
    };
  }
  const file = readDaemonFile(paths);
  if (file !== null && isAlive(file)) return silent(world, file.pid, error);
  if (error instanceof NotRunning) {
    const kept = existsSync(paths.downFile) ? ", and hooks do not start it (kite down)" : "";
    return { check, result: "warn", detail: `not running${kept}`, ...advise(world, "start it", "kite up") };
  }
  if (error instanceof WrongOwner || error instanceof HelloRefused) {
    return { check, result: "fail", detail: error.message, todo: `see ${paths.log}` };
  }
  const other = listenerOf(paths.socket);
  const who = other === null ? "another program" : `another program (process ${other.pid}: ${other.command})`;
  const detail = `${who} listens on ${paths.socket}, and it is no Kite daemon`;
  return {
    check,
    result: "fail",
    detail,
    ...advise(world, "put its socket aside", aside(paths.socket), "kite up"),
  };
}

/** A daemon whose process lives without an answer. */
function silent(world: ProcessContext, pid: number, error: LocalError): Check {
  if (isStopped(pid)) {
    const detail = `the daemon (process ${pid}) is stopped by a signal, so nobody gets an answer`;
    return { check, result: "fail", detail, ...advise(world, "let it go on", `kill -CONT ${pid}`) };
  }
  const detail =
    error instanceof NotRunning
      ? `the daemon (process ${pid}) does not listen on ${world.paths.socket}`
      : `the daemon (process ${pid}) does not answer`;
  return {
    check,
    result: "fail",
    detail,
    ...advise(
      world,
      `its last words are in ${world.paths.log}; to start another one`,
      `kill -9 ${pid}`,
      "kite up",
    ),
  };
}

/** Ends the daemon and starts it anew; sessions keep what they hold. */
function restart(world: ProcessContext, say: string): Required<Pick<Check, "todo" | "fix">> {
  return advise(world, say, "kite down --yes", "kite up");
}

function versionOf(world: ProcessContext, client: Client): Check {
  const { pid, version: running } = client.daemon;
  if (running === version && isRebuilt(world.paths)) {
    const detail = `version ${running}, pid ${pid}, started before the last build of kite`;
    return { check, result: "warn", detail, ...restart(world, "load the new build") };
  }
  if (running === version) return { check, result: "ok", detail: `version ${running}, pid ${pid}` };
  const detail = `version ${running} runs (pid ${pid}), this program is ${version}`;
  return { check, result: "warn", detail, ...restart(world, "restart it") };
}

async function pinged(world: ProcessContext, client: Client): Promise<Check> {
  const began = performance.now();
  const answer = await client.request("ping", {});
  const ms = (performance.now() - began).toFixed(1);
  const check = "answers";
  if (answer.ok) return { check, result: "ok", detail: `a ping took ${ms} ms` };
  return { check, result: "fail", detail: answer.error, ...restart(world, "restart it") };
}

function lockOf(world: ProcessContext, client: Client): Check {
  const check = "lock";
  const { paths } = world;
  const file = readDaemonFile(paths);
  if (file === null) {
    const detail = `${paths.daemonFile} is missing or not as Kite writes it`;
    return { check, result: "fail", detail, ...restart(world, "restart the daemon, which writes it") };
  }
  if (file.pid === client.daemon.pid && isAlive(file)) {
    return { check, result: "ok", detail: `process ${file.pid} is the one daemon of ${paths.home}` };
  }
  const detail = `${paths.daemonFile} names process ${file.pid}, but ${client.daemon.pid} answers`;
  return { check, result: "fail", detail, ...restart(world, "restart the daemon, which writes it") };
}
