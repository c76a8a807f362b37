/** Finds the files that would be lost with an ended agent's worktree. */
import { copyFileSync, existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { clean, listed } from "../../view/text.ts";
import type { Git } from "./git.ts";

/** Names of configuration and secrets. People write such files by hand, and git ignores them. */
const configuration = [
  ...[".env*", ".npmrc", ".netrc", ".pypirc", ".pgpass", ".htpasswd", "local.properties", "*.tfvars"],
  ...["*.local.json", "*.local.toml", "*.local.yaml", "*.local.yml", "*.local.js", "*.local.ts"],
  ...[
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa*",
    "id_ecdsa*",
    "id_ed25519*",
  ],
  ...["credentials", "credentials.*", "secret.*", "secrets", "secrets.*", "service-account*.json"],
];

/** Folders that a program fills, or the agent's client: whatever is in them is made anew. */
const made = [
  ...["node_modules", "bower_components", "vendor", "venv", ".venv", ".tox", "site-packages", "__pycache__"],
  ...[
    "target",
    "dist",
    "build",
    "out",
    ".next",
    ".nuxt",
    ".gradle",
    ".terraform",
    "Pods",
    ".cache",
    ".claude",
  ],
];

/** What git keeps in a worktree's folder while a command there is not finished. */
const unfinished: readonly (readonly [file: string, command: string])[] = [
  ["rebase-merge", "rebase"],
  ["rebase-apply", "rebase"],
  ["MERGE_HEAD", "merge"],
  ["MERGE_AUTOSTASH", "merge"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
  ["sequencer", "cherry-pick or revert"],
];

/** The worktree that is about to be removed, git's own folder of it, and the main worktree. */
export interface Checkout {
  readonly worktree: string;
  readonly gitDir: string;
  readonly main: string;
}

/** Returns a sentence if files would be lost, or null. `at` is git in a directory. */
export async function unsavedFiles(at: (cwd: string) => Git, checkout: Checkout): Promise<string | null> {
  const { worktree, gitDir } = checkout;
  const git = at(worktree);
  const command = unfinished.find(([file]) => existsSync(join(gitDir, file)))?.[1];
  if (command !== undefined)
    return `a ${command} is not finished in its worktree; finish it there, or end it with --abort`;
  const changed = [...(await changedFiles(git)), ...(await changedMarked(git, checkout))];
  if (changed.length > 0)
    return `its worktree has uncommitted changes (${some(changed)}); commit and merge them, or ask a person whether they may go`;
  const modules = await unsavedModules(at, worktree);
  if (modules.length > 0)
    return `a submodule in its worktree has commits that no remote has (${some(modules)}); push them first`;
  const ignored = await ignoredConfiguration(git, checkout);
  if (ignored.length === 0) return null;
  return `git ignores ${some(ignored)} in its worktree, and the main worktree has no equal copy; keep what is wanted of that, or ask a person whether it may go`;
}

/** Returns the files that differ from the commit, as far as git shows them. */
async function changedFiles(git: Git): Promise<string[]> {
  const words = ["--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none"];
  return entriesOf(await git.read(["status", ...words])).map(entry => entry.slice("XY ".length));
}

/** Returns the changed files that git was told not to look at: `assume-unchanged` and `skip-worktree`. */
async function changedMarked(git: Git, { worktree, gitDir }: Checkout): Promise<string[]> {
  const tracked = entriesOf(await git.read(["ls-files", "-v", "-z"]));
  const marked = tracked.filter(entry => /^[a-zS] /.test(entry)).map(entry => entry.slice(2));
  // A file that is not there has nothing to lose: a sparse checkout leaves it out.
  const there = marked.filter(file => existsSync(join(worktree, file)));
  if (there.length === 0) return [];
  const folder = mkdtempSync(join(tmpdir(), "kite-index-"));
  try {
    const index = join(folder, "index");
    copyFileSync(join(gitDir, "index"), index);
    const own = git.withIndex(index);
    const list = there.map(file => `${file}\0`).join("");
    for (const mark of ["--no-assume-unchanged", "--no-skip-worktree"])
      await own.read(["update-index", mark, "-z", "--stdin"], list);
    const now = new Set(await changedFiles(own));
    return there.filter(file => now.has(file));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the submodules that are checked out and have commits of their own. */
async function unsavedModules(at: (cwd: string) => Git, folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const module of await modulesIn(at(folder), folder)) {
    const path = join(folder, module);
    const own = await at(path).read([
      "rev-list",
      "--max-count=1",
      "HEAD",
      "--all",
      "--reflog",
      "--not",
      "--remotes",
    ]);
    const inner = own === "" ? await unsavedModules(at, path) : [];
    found.push(...(own === "" ? inner.map(name => join(module, name)) : [module]));
  }
  return found;
}

/** Returns the submodules that are checked out. */
export async function modulesIn(git: Git, folder: string): Promise<string[]> {
  const staged = entriesOf(await git.read(["ls-files", "--stage", "-z"]));
  const links = staged
    .filter(entry => entry.startsWith("160000 "))
    .map(entry => entry.slice(entry.indexOf("\t") + 1));
  return links.filter(link => existsSync(join(folder, link, ".git")));
}

/** Returns the ignored files of configuration of which the main worktree has no equal copy. */
async function ignoredConfiguration(git: Git, { worktree, main }: Checkout): Promise<string[]> {
  const wanted = configuration.map(name => `:(glob,icase)**/${name}`);
  const notIn = made.map(name => `:(exclude,glob)**/${name}/**`);
  const words = ["--others", "--ignored", "--exclude-standard", "-z", "--", ...wanted, ...notIn];
  const ignored = entriesOf(await git.read(["ls-files", ...words]));
  return ignored.filter(file => !isCopied(join(worktree, file), join(main, file)));
}

/** Whether the file holds nothing of its own, or `other` holds the same. */
function isCopied(file: string, other: string): boolean {
  if (!existsSync(file) || !lstatSync(file).isFile()) return true;
  if (!existsSync(other) || !statSync(other).isFile()) return false;
  const { size } = lstatSync(file);
  if (size > limits.spawnCopyBytes || statSync(other).size !== size) return false;
  return readFileSync(file).equals(readFileSync(other));
}

function some(files: readonly string[]): string {
  const named = files.slice(0, limits.spawnUnsavedMax).map(clean);
  return listed(named, files.length - named.length);
}

function entriesOf(text: string): string[] {
  return text.split("\0").filter(entry => entry !== "");
}
