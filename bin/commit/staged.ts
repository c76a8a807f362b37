/** The files of the commit that git is about to make, as its hook finds them. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { searchPath } from "../../protocol/paths.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Runs git and returns what it prints; null: it failed, or printed too much. */
type Git = (...args: readonly string[]) => Promise<string | null>;

export interface Staged {
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
export async function stagedFiles(env: Env, cwd: string, timeoutMs: number): Promise<Staged | null> {
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
