/** Checks the daemon: whether it runs, answers and holds the lock, and which version it is. */
import { existsSync } from "node:fs";
import { LocalError, NotRunning } from "../../client/errors.ts";
import { isAlive } from "../../daemon/facts/processes.ts";
import { readDaemonFile } from "../../daemon/instance/daemon-file.ts";
import type { StatsReply } from "../../protocol/daemon.ts";
import type { Client, ProcessContext } from "../process-context.ts";
import { isRebuilt } from "../stale-build.ts";
import { version } from "../version.ts";
import type { Check } from "../view/doctor.ts";

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
    return { checks: [absent(world, error)], stats: null };
  }
  try {
    const answered = await pinged(client);
    const stats = await client.request("stats", {});
    const checks = [versionOf(world, client), answered, lockOf(world, client)];
    return { checks, stats: stats.ok ? stats : null };
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    const todo = `see ${world.paths.log}, then kite down && kite up`;
    return { checks: [{ check: "daemon", result: "fail", detail: error.message, todo }], stats: null };
  } finally {
    client.close();
  }
}

/** Returns the check for a daemon that does not listen. It fails if the daemon's process lives, else warns. */
function absent(world: ProcessContext, error: LocalError): Check {
  const check = "daemon";
  const { paths } = world;
  if (!(error instanceof NotRunning)) {
    return { check, result: "fail", detail: error.message, todo: `see ${paths.log}` };
  }
  const file = readDaemonFile(paths);
  if (file !== null && isAlive(file)) {
    const detail = `the daemon (process ${file.pid}) does not listen on ${paths.socket}`;
    return { check, result: "fail", detail, todo: `see ${paths.log}; to end it: kill ${file.pid}` };
  }
  const kept = existsSync(paths.downFile) ? ", and hooks do not start it (kite down)" : "";
  return { check, result: "warn", detail: `not running${kept}`, todo: "start it: kite up" };
}

function versionOf({ paths }: ProcessContext, client: Client): Check {
  const { pid, version: running } = client.daemon;
  const check = "daemon";
  if (running === version && isRebuilt(paths)) {
    const detail = `version ${running}, pid ${pid}, started before the last build of kite`;
    return { check, result: "warn", detail, todo: "load the new build: kite down && kite up" };
  }
  if (running === version) return { check, result: "ok", detail: `version ${running}, pid ${pid}` };
  const detail = `version ${running} runs (pid ${pid}), this program is ${version}`;
  return { check, result: "warn", detail, todo: "restart it: kite down && kite up" };
}

async function pinged(client: Client): Promise<Check> {
  const began = performance.now();
  const answer = await client.request("ping", {});
  const ms = (performance.now() - began).toFixed(1);
  const check = "answers";
  if (answer.ok) return { check, result: "ok", detail: `a ping took ${ms} ms` };
  return { check, result: "fail", detail: answer.error, todo: "restart it: kite down && kite up" };
}

function lockOf(world: ProcessContext, client: Client): Check {
  const check = "lock";
  const { paths } = world;
  const file = readDaemonFile(paths);
  if (file === null) {
    const todo = "restart it: kite down && kite up";
    return { check, result: "fail", detail: `${paths.daemonFile} cannot be read`, todo };
  }
  if (file.pid === client.daemon.pid && isAlive(file)) {
    return { check, result: "ok", detail: `process ${file.pid} is the one daemon of ${paths.home}` };
  }
  const detail = `${paths.daemonFile} names process ${file.pid}, but ${client.daemon.pid} answers`;
  return { check, result: "fail", detail, todo: `end both, then kite up; see ${paths.log}` };
}
