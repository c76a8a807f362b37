import { homedir } from "node:os";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/** Where everything of one Kite lives. `KITE_HOME` moves it as a whole. */
export interface KitePaths {
  readonly home: string;
  readonly socket: string;
  readonly lockFile: string;
  readonly daemonFile: string;
  readonly journal: string;
  readonly trail: string;
  /** Events for subscribers who come back after a stop. */
  readonly events: string;
  readonly log: string;
  readonly bin: string;
  readonly config: string;
  /** Present after `kite down`: hooks then start no daemon. */
  readonly downFile: string;
  /** When hooks got no answer: the hook clients write it, and stop asking for a while when there are several. */
  readonly hookFailures: string;
  /** What `kite install` wrote, and where. */
  readonly installs: string;
  /** Where it told the client of Kite's tools. */
  readonly servers: string;
}

/**
 * The paths for an environment: `KITE_HOME`, else `.kite` in the home directory.
 * A relative `KITE_HOME` is an error: hooks run in other directories than the shell that set it.
 */
export function kitePaths(env: Readonly<Record<string, string | undefined>>): KitePaths {
  const asked = env["KITE_HOME"];
  if (asked !== undefined && asked !== "" && !isAbsolute(asked)) {
    throw new Error(`KITE_HOME must be an absolute path, but it is ${JSON.stringify(asked)}`);
  }
  const home = asked || join(env["HOME"] || homedir(), ".kite");
  return {
    home,
    socket: join(home, "kite.sock"),
    lockFile: join(home, "daemon.lock"),
    daemonFile: join(home, "daemon.json"),
    journal: join(home, "journal"),
    trail: join(home, "trail"),
    events: join(home, "events.ndjson"),
    log: join(home, "daemon.log"),
    bin: join(home, "bin"),
    config: join(home, "config.json"),
    downFile: join(home, "down"),
    hookFailures: join(home, "hook-failures"),
    installs: join(home, "installs.json"),
    servers: join(home, "servers.json"),
  };
}

/**
 * A PATH for programs of Kite's own: without entries that mean another directory wherever somebody works (relative and
 * empty ones), and without those in a `node_modules`, in which a project keeps its programs.
 */
export function searchPath(path: string | undefined): string {
  return (path ?? "")
    .split(delimiter)
    .filter(entry => isAbsolute(entry) && !entry.split("/").includes("node_modules"))
    .map(entry => resolve(entry))
    .join(delimiter);
}
