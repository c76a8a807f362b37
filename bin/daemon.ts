/** The daemon's process: descriptors, logger, signals, and the line to its starter. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, realpathSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ConfigValues, loadConfig } from "../daemon/config/config.ts";
import { LiveConfig } from "../daemon/config/live-config.ts";
import { createLog } from "../daemon/instance/log.ts";
import { startDaemon } from "../daemon/start.ts";
import { errorText } from "../protocol/errors.ts";
import { setPerson } from "../protocol/names.ts";
import { kitePaths } from "../protocol/paths.ts";
import { adapters } from "./adapters.ts";
import { userName } from "./context/actor.ts";
import { closeInherited } from "./context/close-descriptors.ts";
import type { Env } from "./context/programs.ts";
import { dist, version } from "./version.ts";

// The `kite notify` that begins and ends with the daemon, if the setting asks for it. It is a process of its own.

interface NoticesOptions {
  readonly env: Env;
  readonly warn: (sentence: string) => void;
}

/** Keeps at most one running. It ends when its connection to the daemon does, however the daemon ends. */
class Notices {
  readonly #options: NoticesOptions;
  #child: ChildProcess | null = null;

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  /** Begins or ends it as the settings say. One that ended by itself begins again only when the setting was off meanwhile. */
  follow({ notify }: Pick<ConfigValues, "notify">): void {
    if (notify.start !== true) {
      this.#child?.kill("SIGTERM");
      this.#child = null;
    } else this.#child ??= this.#begin();
  }

  #begin(): ChildProcess {
    const { env, warn } = this.#options;
    const child = spawn(process.execPath, [join(dist, "kite.cjs"), "notify", "--with-daemon"], {
      cwd: "/",
      env: { ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-500);
    });
    child.once("error", error => warn(`kite notify did not start: ${error.message}`));
    child.once("close", code => {
      if (code !== 0 && code !== null) warn(`kite notify ended with ${code}: ${stderr.trim()}`);
    });
    child.unref();
    return child;
  }
}

/** For `kite repair`: only this bundle has the state machine. */
export { salvage } from "../daemon/engine/salvage.ts";

/**
 * Runs the daemon in this process until a request or signal stops it, then ends the process. The exit code is 0 after a
 * stop or if another daemon already runs. It is 1 if the daemon could not start or go on. The starter gets one line
 * about the start on the descriptor named in `KITE_READY_FD`.
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
  let isTold = !Number.isInteger(fd) || fd <= 2;
  return line => {
    if (isTold) return;
    isTold = true;
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
