/** `kite commit-check` says whether another agent has a file of the commit that git is about to make. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { LocalError, NotRunning } from "../../client/errors.ts";
import { type Ancestor, ancestorsOf, parentOf } from "../../daemon/facts/processes.ts";
import { commitRefusedCode } from "../../hooks/install/pre-commit.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { isUnhooked } from "../../protocol/names.ts";
import { searchPath } from "../../protocol/paths.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import { nearPath, quote, shellArgument } from "../../protocol/text.ts";
import { actingSession, isTerminalSession } from "../context/actor.ts";
import type { Client, ProcessContext, Run } from "../context/process-context.ts";
import { exitCodes, reported, rowsOf } from "../context/with-daemon.ts";
import { clean, counted } from "../view/text.ts";

/** By this variable, its process id, `kite commit` says that it makes the commit. */
export const commitVariable = "KITE_COMMIT";

// The files of the commit that git is about to make, as its hook finds them.

type Env = Readonly<Record<string, string | undefined>>;

/** Runs git and returns what it prints; null: it failed, or printed too much. */
type Git = (...args: readonly string[]) => Promise<string | null>;

interface Staged {
  /** The top of the worktree. */
  readonly top: string;
  /** Absolute paths. */
  readonly files: readonly string[];
}

/** What another commit brings along while git goes on with it: a file that equals it there is not this commit's work. */
const otherHeads = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD"] as const;

/**
 * Returns the files; null if git does not tell. Git says in the environment which index it takes them from: that of a partial
 * commit has the named files alone. A git command that takes longer than `timeoutMs` is stopped.
 */
async function stagedFiles(env: Env, cwd: string, timeoutMs: number): Promise<Staged | null> {
  const git = gitIn(env, cwd, timeoutMs);
  const places = await git("rev-parse", "--absolute-git-dir", "--show-toplevel");
  const [gitDir, top] = places?.split("\n") ?? [];
  if (gitDir === undefined || !top) return null;
  const differ = async (...from: readonly string[]) => {
    const names = await git("diff", "--cached", "--name-only", "--no-renames", "-z", ...from, "--");
    return names?.split("\0").filter(name => name !== "") ?? null;
  };
  let own = await differ();
  for (const head of otherHeads.flatMap(name => commitsIn(join(gitDir, name)))) {
    const beyond = await differ(head);
    if (own === null || beyond === null) return null;
    const names = new Set(beyond);
    own = own.filter(name => names.has(name));
  }
  return own === null ? null : { top, files: own.map(name => join(top, name)) };
}

function gitIn(env: Env, cwd: string, timeout: number): Git {
  const options = {
    cwd,
    env: { ...env, PATH: searchPath(env["PATH"]), GIT_OPTIONAL_LOCKS: "0" },
    maxBuffer: limits.gitOutputBytes,
    timeout,
    killSignal: "SIGKILL",
  } as const;
  return (...args) =>
    new Promise(resolve => {
      execFile("git", ["--no-pager", ...args], options, (error, out) => resolve(error === null ? out : null));
    });
}

/** The commits that such a file names: an octopus has several. */
function commitsIn(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter(line => /^[0-9a-f]{40,64}$/.test(line));
  } catch {
    return []; // Git is not in the middle of that.
  }
}

// Which files of a commit other agents are writing or hold, and whether an agent commits.

/** Who commits: sessions of which one is the agent's own. Of several in one process nobody can say which. */
interface Committer {
  readonly isAgent: boolean;
  readonly sessions: ReadonlySet<string>;
}

/** One file that another agent has. */
interface Held {
  readonly path: string;
  readonly by: string;
  readonly isWriting: boolean;
  readonly kind: LockRow["kind"];
}

interface Process {
  readonly id: string;
  readonly pid: number | null;
}

/** Finds the committer by its environment, and by the nearest process above it that is a session's. */
async function committerOf(
  { env }: Pick<ProcessContext, "env">,
  client: Pick<Client, "request" | "daemon">,
  above: readonly Ancestor[] = ancestorsOf(process.pid),
): Promise<Committer> {
  const acting = actingSession(env);
  const near = nearest(await rowsOf(client, "sessions"), above);
  const sessions = new Set([...near, ...(acting === null ? [] : [acting.id])]);
  const isAgents = (id: string) => !isTerminalSession(env, id);
  const isMarked = env["CLAUDECODE"] === "1" || env["KITE_CHECK"] !== undefined;
  return { isAgent: isMarked || [...sessions].some(isAgents), sessions };
}

/** A server of Kite's tools that registered its own process is a child of the agent's client. */
function nearest(sessions: readonly Process[], above: readonly Ancestor[]): readonly string[] {
  const isOf = (at: number, { id, pid }: Process) =>
    pid !== null && (pid === at || (isUnhooked(id) && parentOf(pid) === at));
  for (const { pid: at } of above) {
    const own = sessions.filter(one => isOf(at, one)).map(({ id }) => id);
    if (own.length > 0) return own;
  }
  return [];
}

/** Returns the files that others have, of each the first lock. */
async function heldFiles(
  client: Pick<Client, "request" | "daemon">,
  { top, files }: Staged,
  { sessions }: Committer,
): Promise<readonly Held[]> {
  const locks = (await rowsOf(client, "locks")).filter(
    ({ holder, resource, path, dir }) =>
      holder !== null &&
      resource !== true &&
      !sessions.has(holder.id) &&
      (path.startsWith(`${top}/`) || (dir === true && isWithin(top, path))),
  );
  const byPath = new Map(locks.map(row => [row.path, row]));
  const folders = locks.filter(({ dir }) => dir === true);
  return files.flatMap(path => {
    const row = byPath.get(path) ?? folders.find(folder => isWithin(path, folder.path));
    if (row === undefined || row.holder === null) return [];
    return [{ path, by: row.holder.name, isWriting: row.use === "writes", kind: row.kind }];
  });
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

const help = `
The git hook of kite install --client git calls it before each commit, in the top of the worktree. If another live agent is
writing or holds a file of the commit, an agent's commit is refused; a person's goes ahead, and is told. It says who has
which file, and what to do. What it cannot find out in time stops no commit.

Exit codes: ${commitRefusedCode} an agent's commit is refused; any other: git goes on.

Example:
  $ kite commit-check`;

/** A whole look takes at most so long, in milliseconds, beside the start of this program. */
const lookMs = 3_000;
/** Files that are named. */
const namedMax = 10;

export function add(command: Command, run: Run): void {
  command
    .description("say whether another agent has a file of the commit that git is about to make")
    .addHelpText("after", help)
    .action(() => run(commitCheck));
}

/** Returns the exit code. */
export async function commitCheck(world: ProcessContext): Promise<number> {
  if (isOwnCommit(world.env)) return exitCodes.done;
  let client: Client;
  try {
    client = await world.connect({ name: "kite-commit", reconnect: false, timeoutMs: lookMs });
  } catch (error) {
    if (!(error instanceof LocalError) && !isSystemError(error)) throw error;
    // Without a daemon nobody holds anything.
    return error instanceof NotRunning ? exitCodes.done : unasked(world);
  }
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    client.close();
  }, lookMs);
  try {
    return await reported(world, false, () => looked(world, client));
  } catch (error) {
    if (!isLate) throw error;
    return unasked(world);
  } finally {
    clearTimeout(timer);
    client.close();
  }
}

/** Whether a `kite commit` above this process makes the commit: it has the caller's own lines alone. */
function isOwnCommit(env: Env): boolean {
  const pid = Number(env[commitVariable]);
  return ancestorsOf(process.pid).some(one => one.pid === pid);
}

function unasked(world: ProcessContext): number {
  world.stderr.write(
    "kite: the daemon did not answer in time; git goes on, and nobody looked at other agents\n",
  );
  return exitCodes.done;
}

async function looked(world: ProcessContext, client: Client): Promise<number> {
  const staged = await stagedFiles(world.env, world.cwd, lookMs);
  if (staged === null || staged.files.length === 0) return exitCodes.done;
  const committer = await committerOf(world, client);
  const held = await heldFiles(client, staged, committer);
  if (held.length === 0) return exitCodes.done;
  world.stderr.write(`${lines(held, staged.top, committer.isAgent).join("\n")}\n`);
  return committer.isAgent ? commitRefusedCode : exitCodes.done;
}

function lines(held: readonly Held[], top: string, isRefused: boolean): readonly string[] {
  const [one] = held;
  const head = isRefused
    ? "kite: git did not commit: other agents have files of this commit:"
    : "kite: git commits files that other agents have:";
  const more = held.length > namedMax ? [`  and ${counted(held.length - namedMax, "more file")}`] : [];
  const way =
    "Leave these files out of the commit, or commit when they are free: kite explain FILE says who has one and for how long." +
    ` To talk to the agent: kite message send ${one === undefined ? "NAME" : shellArgument(clean(one.by))} TEXT`;
  return [
    head,
    ...held.slice(0, namedMax).map(file => `  ${lineOf(file, top)}`),
    ...more,
    ...(isRefused ? [way] : []),
  ];
}

function lineOf({ path, by, isWriting, kind }: Held, top: string): string {
  const does = isWriting ? "is writing it" : kind === "explicit" ? "holds it" : "is changing it in its turn";
  return `${quote(nearPath(path, top))}: ${quote(by)} ${does}`;
}
