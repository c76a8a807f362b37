/** What commits have of a file, as git in the caller's process tells. No filter and no helper of the repository runs. */
import { execFile } from "node:child_process";
import { findProgram } from "../../daemon/facts/programs.ts";
import { limits } from "../../protocol/limits.ts";
import type { Env } from "../programs.ts";

/** A file of a worktree, by its path from the top. */
export interface CommittedFile {
  readonly worktree: string;
  readonly file: string;
}

export class Commits {
  readonly #git: string | null;
  readonly #env: Env;
  readonly #known = new Map<string, Promise<Buffer | null>>();

  constructor({ env, cwd }: { readonly env: Env; readonly cwd: string }) {
    this.#git = findProgram("git", { env, workedIn: [cwd] })?.path ?? null;
    const own = Object.entries(env).filter(([name]) => !name.startsWith("GIT_"));
    this.#env = {
      ...Object.fromEntries(own),
      LC_ALL: "C",
      GIT_NO_LAZY_FETCH: "1",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_TERMINAL_PROMPT: "0",
    };
  }

  /** The commit that is checked out; null: none, or there is no git or no repository. */
  async head(worktree: string): Promise<string | null> {
    const out = await this.read(worktree, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    return out === null ? null : out.toString().trim();
  }

  /** What the commit has of the file; null: nothing, or nobody can tell. */
  content(commit: string | null, { worktree, file }: CommittedFile): Promise<Buffer | null> {
    if (commit === null || !/^[0-9a-f]{4,64}$/.test(commit)) return Promise.resolve(null);
    const key = [commit, worktree, file].join("\n");
    const known = this.#known.get(key) ?? this.read(worktree, ["cat-file", "blob", `${commit}:${file}`]);
    this.#known.set(key, known);
    return known;
  }

  /** Returns what a command that only reads prints; null: it failed. */
  read(worktree: string, args: readonly string[]): Promise<Buffer | null> {
    const git = this.#git;
    if (git === null) return Promise.resolve(null);
    const options = {
      env: { ...this.#env },
      encoding: "buffer" as const,
      maxBuffer: limits.rescueFileBytes * 2,
      timeout: limits.spawnProgramMs,
    };
    const words = [
      "--no-pager",
      "--no-replace-objects",
      "-c",
      "core.fsmonitor=false",
      "-C",
      worktree,
      ...args,
    ];
    return new Promise(resolve => {
      execFile(git, words, options, (error, out) => resolve(error === null ? out : null));
    });
  }
}
