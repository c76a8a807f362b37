/** The paths of Kite's files, and the PATH of its programs. */
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/** The paths of one Kite's files. `KITE_HOME` moves them all. */
export interface KitePaths {
  readonly home: string;
  readonly socket: string;
  readonly lockFile: string;
  readonly daemonFile: string;
  /** A link that names the daemon's namespaces: a client in others says what is mounted where. */
  readonly namespaces: string;
  readonly journal: string;
  /** What is remembered of the journal, outside its folder. */
  readonly storeMark: string;
  readonly trail: string;
  /** Events for subscribers that reconnect after a restart. */
  readonly events: string;
  /** Turns, questions and agents of live sessions, for the daemon's next start. */
  readonly presence: string;
  /** Versions of files that agents wrote. */
  readonly rescue: string;
  readonly log: string;
  readonly bin: string;
  /** Worktrees in which `kite merge` tries merges, one each. */
  readonly merges: string;
  /** Worktrees with HEAD and one actor's own lines, in which hooks of its commits and its tries run. */
  readonly tries: string;
  readonly config: string;
  /** Which projects' checks a person has trusted. */
  readonly trusted: string;
  /** Copies of both as Kite's commands left them, or as a person saw them at last. */
  readonly seen: string;
  /** The token by which `kite` shows that a person runs it. */
  readonly personToken: string;
  /** The password of the shared store, if no `.pgpass` has it. */
  readonly storeSecret: string;
  /** The id of this home in the shared store. */
  readonly storeNode: string;
  /** What the paths of the copies of shared projects begin with: what is known of them while the store is away. */
  readonly storeCopy: string;
  /** Windows in which a person said that they are one. */
  readonly personWindows: string;
  /** Exists after `kite down`: hooks then start no daemon. */
  readonly downFile: string;
  /** Times of hooks without an answer: the hook clients write them, and after several stop asking for a while. */
  readonly hookFailures: string;
  /** Ends of calls, turns and sessions that no daemon took: the hook clients write them, the next daemon takes them. */
  readonly unheardEnds: string;
  /** The record of what `kite install` wrote, and where. */
  readonly installs: string;
  /** The record of where `kite plugin` made a plugin. */
  readonly plugins: string;
  /** The record of where it registered Kite's tools with the client. */
  readonly servers: string;
  /** The record of the repositories' folders with Kite's git hook. */
  readonly commitHooks: string;
  /** The record of what it gave the person's shell: the command, and completion. */
  readonly shell: string;
}

/**
 * Returns the paths for an environment: below `KITE_HOME`, else below `.kite` in the home directory.
 * Throws if `KITE_HOME` is relative, because hooks run in other directories than the shell that set it.
 */
export function kitePaths(env: Readonly<Record<string, string | undefined>>): KitePaths {
  const kiteHome = env["KITE_HOME"];
  if (kiteHome !== undefined && kiteHome !== "" && !isAbsolute(kiteHome)) {
    throw new Error(`KITE_HOME must be an absolute path, but it is ${JSON.stringify(kiteHome)}`);
  }
  const home = kiteHome || join(env["HOME"] || homedir(), ".kite");
  return {
    home,
    socket: join(home, "kite.sock"),
    lockFile: join(home, "daemon.lock"),
    daemonFile: join(home, "daemon.json"),
    namespaces: join(home, "namespaces"),
    journal: join(home, "journal"),
    storeMark: join(home, "store.json"),
    trail: join(home, "trail"),
    events: join(home, "events.ndjson"),
    presence: join(home, "presence.json"),
    rescue: join(home, "rescue"),
    log: join(home, "daemon.log"),
    bin: join(home, "bin"),
    merges: join(home, "merges"),
    tries: join(home, "tries"),
    config: join(home, "config.json"),
    trusted: join(home, "trusted.json"),
    seen: join(home, "seen"),
    personToken: join(home, "person.token"),
    storeSecret: join(home, "store.secret"),
    storeNode: join(home, "store-node.json"),
    storeCopy: join(home, "store-copy"),
    personWindows: join(home, "person.windows"),
    downFile: join(home, "down"),
    hookFailures: join(home, "hook-failures"),
    unheardEnds: join(home, "unheard-ends"),
    installs: join(home, "installs.json"),
    plugins: join(home, "plugins.json"),
    servers: join(home, "servers.json"),
    commitHooks: join(home, "commit-hooks.json"),
    shell: join(home, "shell.json"),
  };
}

/**
 * Returns a PATH for Kite's own programs. It leaves out relative and empty entries, which depend on the working
 * directory, and entries in a `node_modules`, which hold a project's programs.
 */
export function searchPath(path: string | undefined): string {
  return (path ?? "")
    .split(delimiter)
    .filter(entry => isAbsolute(entry) && !entry.split("/").includes("node_modules"))
    .map(entry => resolve(entry))
    .join(delimiter);
}
