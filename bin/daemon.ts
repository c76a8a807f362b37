/** The daemon's process: descriptors, logger, signals, and the line to its starter. */

import { closeSync, realpathSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadConfig } from "../daemon/config/config.ts";
import { LiveConfig } from "../daemon/config/live-config.ts";
import { createLog } from "../daemon/instance/log.ts";
import { startDaemon } from "../daemon/start.ts";
import { errorText } from "../protocol/errors.ts";
import { setPerson } from "../protocol/names.ts";
import { kitePaths } from "../protocol/paths.ts";
import { userName } from "./actor.ts";
import { adapters } from "./adapters.ts";
import { closeInherited } from "./close-descriptors.ts";
import { Notices } from "./notify/with-daemon.ts";
import { version } from "./version.ts";

/** For `kite repair`: only this bundle has the state machine. */
export { salvage } from "../daemon/engine/salvage.ts";

/**
 * Runs the daemon in this process until a request or signal stops it, then ends the process: 0 after a stop or if
 * another daemon already runs, 1 if the daemon could not start or go on. The starter gets one line about the start on
 * the descriptor named in `KITE_READY_FD`.
 */
export async function runDaemon({
  foreground,
  unlessDown = false,
}: {
  readonly foreground: boolean;
  /** Do not start after `kite down`, even if that runs during the start. */
  readonly unlessDown?: boolean;
}): Promise<never> {
  if (!foreground) closeInherited(3);
  const say = starter();
  setPerson(userName());
  const paths = kitePaths(process.env);
  const first = await loadConfig({ env: process.env, paths });
  const echo = foreground ? { foreground: (line: string) => process.stderr.write(`${line}\n`) } : {};
  const { logger, close } = createLog(paths.log, { level: first.values.logLevel, ...echo });
  for (const problem of first.problems) logger.warn(problem);
  let notices: Notices | null = null;
  const config = new LiveConfig(first, {
    path: paths.config,
    env: process.env,
    onProblem: problem => logger.warn(problem),
    onChange: values => {
      logger.level = values.logLevel;
      notices?.follow(values);
    },
  });
  process.on("uncaughtException", error => {
    logger.fatal({ err: error }, "uncaught");
    process.exit(1);
  });
  try {
    const options = { paths, version, config, adapters, log: logger, unlessDown };
    const started = await startDaemon(options);
    if (started.is === "refused") throw new Error(started.error);
    if (started.is === "held") {
      say("held");
      if (foreground) process.stderr.write(`kite: another daemon runs on ${paths.socket}; see kite status\n`);
      process.exit(0);
    }
    const { daemon } = started;
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
      process.on(signal, () => daemon.stop(signal));
    say("ready");
    notices = new Notices({ env: process.env, warn: sentence => logger.warn(sentence) });
    notices.follow(config.values);
    const cause = await daemon.done;
    close();
    process.exit(cause === null ? 0 : 1);
  } catch (error) {
    const sentence = errorText(error);
    logger.fatal({ err: error }, "the daemon could not start");
    say(`error ${sentence.replaceAll("\n", " ")}`);
    if (foreground) process.stderr.write(`kite: ${sentence}\n`);
    process.exit(1);
  }
}

/** Writes one line to the starter, if a starter listens. */
function starter(): (line: string) => void {
  const fd = Number(process.env["KITE_READY_FD"] ?? "");
  // Only the daemon uses the descriptor: programs that it starts must not find the variable.
  delete process.env["KITE_READY_FD"];
  let told = !Number.isInteger(fd) || fd <= 2;
  return line => {
    if (told) return;
    told = true;
    try {
      writeSync(fd, `${line}\n`);
      closeSync(fd);
    } catch {
      // The starter has gone; the daemon runs without it.
    }
  };
}

const program = process.argv[1];
if (program !== undefined && realpathSync(program) === realpathSync(fileURLToPath(import.meta.url))) {
  await runDaemon({ foreground: false, unlessDown: process.argv.includes("--unless-down") });
}
