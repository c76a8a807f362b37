/**
 * Runs the hooks of a commit as git would, against the index of the caller's try tree: they see just what is committed. A hook
 * may change that, and the message.
 */

import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { keptFile, preCommitState } from "../../hooks/install/pre-commit.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { plain } from "../../protocol/text.ts";
import { Refused } from "../context/with-daemon.ts";
import { commitVariable } from "../diff/commit-check.ts";
import { type CallerGit, ranProgram } from "./caller-git.ts";
import type { Checkout, Entry } from "./index-commit.ts";
import { type TreeOwner, type TryTree, tryTree } from "./try-tree.ts";

const names = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"] as const;
type Name = (typeof names)[number];

/** The programs of the hooks that are there and may run. */
export type Hooks = ReadonlyMap<Name, string>;

/** Finds the hooks of a commit. `verify` false: without those that may refuse it. */
export async function hooksOf(git: CallerGit, worktree: string, verify: boolean): Promise<Hooks> {
  const found = new Map<Name, string>();
  for (const name of names) {
    if (!verify && (name === "pre-commit" || name === "commit-msg")) continue;
    const file = resolve(worktree, await git.line(["rev-parse", "--git-path", `hooks/${name}`]));
    const program = name === "pre-commit" && isKites(file) ? keptFile(file) : file;
    if (isProgram(program)) found.set(name, program);
  }
  return found;
}

/** Kite's own hook looks for files that others hold. It has nothing to say about a commit of one's own lines. */
function isKites(file: string): boolean {
  return existsSync(file) && preCommitState(file) === "kites";
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return lstatSync(file).isFile() || lstatSync(file).isSymbolicLink();
  } catch {
    return false; // Git ignores it, too.
  }
}

interface Hooked {
  /** As the hooks left it. */
  readonly tree: string;
  readonly message: string;
  /** What the hooks printed. */
  readonly output: string;
}

export class CommitHooks {
  readonly #git: CallerGit;
  readonly #paths: Pick<KitePaths, "tries">;
  readonly #owner: TreeOwner;
  readonly #hooks: Hooks;
  #tree: TryTree | null = null;

  constructor(git: CallerGit, paths: Pick<KitePaths, "tries">, owner: TreeOwner, hooks: Hooks) {
    this.#git = git;
    this.#paths = paths;
    this.#owner = owner;
    this.#hooks = hooks;
  }

  /** Runs the hooks before the commit. Throws `Refused` if one refuses it. */
  async before({ ref, head }: Checkout, index: string, tree: string, message: string): Promise<Hooked> {
    const before = names.filter(name => name !== "post-commit" && this.#hooks.has(name));
    if (before.length === 0) return { tree, message, output: "" };
    const at = await this.#place(head, ref, index, tree);
    const file = join(at.folder, ".git");
    const own = lstatSync(file).isFile()
      ? await this.#git.line(["rev-parse", "--path-format=absolute", "--git-dir"], { cwd: at.folder })
      : file;
    const text = join(own, "COMMIT_EDITMSG.kite");
    writeFileSync(text, message);
    let output = "";
    output += await this.#run("pre-commit", at, []);
    output += await this.#run("prepare-commit-msg", at, [text, "message"]);
    output += await this.#run("commit-msg", at, [text]);
    const after = await this.#git.line(["write-tree"], { cwd: at.folder, index: at.index });
    return { tree: after, message: readFileSync(text, "utf8"), output };
  }

  /** Runs the hook after the commit, whose exit code git ignores. */
  async after({ ref }: Checkout, commit: string, tree: string): Promise<string> {
    if (!this.#hooks.has("post-commit")) return "";
    const at = await this.#place(commit, ref, "", tree);
    return this.#run("post-commit", at, []);
  }

  /** The hooks are done: the tree does not name the branch any more. */
  async end(commit: string | null): Promise<void> {
    if (this.#tree === null || commit === null) return;
    await this.#git.run(["update-ref", "--no-deref", "HEAD", commit], { cwd: this.#tree.folder });
  }

  /** The try tree; before the first commit of a repository, which can have no other worktree, the shared one. */
  async #place(head: string | null, ref: string | null, index: string, tree: string): Promise<TryTree> {
    if (head === null) return { folder: this.#owner.worktree, index };
    this.#tree = await tryTree(this.#git, this.#paths, this.#owner, { commit: head, tree });
    await linkDependencies(this.#git, this.#owner.worktree, this.#tree.folder);
    if (ref !== null) await this.#git.read(["symbolic-ref", "HEAD", ref], { cwd: this.#tree.folder });
    return this.#tree;
  }

  async #run(name: Name, { folder, index }: TryTree, args: readonly string[]): Promise<string> {
    const program = this.#hooks.get(name);
    if (program === undefined) return "";
    const env = {
      ...this.#git.env,
      GIT_INDEX_FILE: index,
      GIT_EDITOR: ":",
      [commitVariable]: String(process.pid),
    };
    const { code, out, err } = await ranProgram(program, args, { cwd: folder, env });
    const text = `${out.toString()}${err}`;
    if (code === 0 || name === "post-commit") return text;
    const said = plain(text.trim()).slice(-2000);
    throw new Refused({
      ok: false,
      code: "not_available",
      error: `the hook ${name} refused the commit, and nothing was committed${said === "" ? "" : `: ${said}`}`,
    });
  }
}

/** Folders of dependencies, which hooks and tests need, and git ignores. */
const dependencies = ["node_modules", ".venv", "vendor", "target"] as const;

/** Whether it is such a link, which a hook that stages all would commit. */
export function isDependencyLink({ path, mode }: Entry): boolean {
  return mode === "120000" && dependencies.some(name => name === path);
}

/** Links the worktree's folders of dependencies into a try tree that does not have them. */
async function linkDependencies(git: CallerGit, worktree: string, folder: string): Promise<void> {
  for (const name of dependencies) {
    const there = lstatSync(join(worktree, name), { throwIfNoEntry: false });
    if (there?.isDirectory() !== true) continue;
    if (lstatSync(join(folder, name), { throwIfNoEntry: false }) !== undefined) continue;
    const { code } = await git.run(["check-ignore", "-q", "--", `${name}/`]);
    if (code === 0) symlinkSync(join(worktree, name), join(folder, name));
  }
}
