/** `kite agents prune`: removes what agents that have ended left, if nothing would be lost. */

import { copyFileSync, existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  clientProgram,
  isUnknownSession,
  refusalIn,
  removeUnpushedWords,
  removeWords,
  unpushedIn,
  worktreesFolder,
} from "../../../hooks/claude-code/spawn.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import { plain } from "../../../protocol/text.ts";
import { actingSession } from "../../context/actor.ts";
import { refuseAgent } from "../../context/person.ts";
import { type ProcessContext, printFramed, printJson } from "../../context/process-context.ts";
import { neededProgram, ProgramFailed, runProgram, withoutSession } from "../../context/programs.ts";
import { projectOf } from "../../context/project.ts";
import { ask, exitCodes, rowsOf, withDaemon } from "../../context/with-daemon.ts";
import { pruneTries } from "../../own/try-tree.ts";
import { clean, counted, listed } from "../../view/text.ts";
import { foreignLock, Git, gitDirOf, mainWorktree, removeWorktree } from "./git.ts";
import { handleOf, hasEnded, neededSpawn } from "./record.ts";
import { Tmux } from "./tmux.ts";

// Finds the commits that would be lost with an ended agent's worktree and branch.

/** What is about to be removed. */
interface Doomed {
  readonly branch: string | null;
  /** What its branch began from. */
  readonly base: string | null;
  /** Git's own folder of the worktree; null: git knows no such worktree. */
  readonly gitDir: string | null;
}

/** A change of HEAD or of a branch, as git's reflog has it. */
interface Move {
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

interface Commit {
  readonly tree: string;
  readonly parents: readonly string[];
}

/**
 * The reflog's lines of a rebase, a pull that rebases, and an amended commit. There the new commit took the place of
 * the old one.
 */
const rewrites = /^(?:commit \(amend\)|rebase\b|pull\b.*\(\w+\))/;

/** Returns a sentence if commits would be lost, or null. `git` runs in the main worktree. */
async function unsavedCommits(git: Git, { branch, base, gitDir }: Doomed): Promise<string | null> {
  const tip = branch === null ? null : await commitAt(git, [], `refs/heads/${branch}`);
  const head = gitDir === null ? null : await commitAt(git, ["--git-dir", gitDir], "HEAD");
  const [ofBranch, ofHead] = await Promise.all([
    onlyIn(git, tip === null ? [] : [tip], branch, base),
    onlyIn(git, head === null ? [] : [head], branch, base),
  ]);
  if (ofBranch.length > 0)
    return `its branch ${branch} has commits that are nowhere else (${ofBranch.length}); merge or push them first`;
  if (ofHead.length > 0)
    return `its worktree has ${countOf(ofHead)} that no branch has; ${branchAdvice([ofHead[0] ?? ""])}`;
  const left = await onlyInLogs(git, { branch, base, gitDir });
  if (left.length === 0) return null;
  return `its worktree's reflog alone has ${countOf(left)} that it left behind; ${branchAdvice(left)}`;
}

/** Returns the commits that `ends` reach, and nothing that stays: the main worktree's HEAD, `base`, a branch, tag or remote. */
async function onlyIn(
  git: Git,
  ends: readonly string[],
  branch: string | null,
  base: string | null,
): Promise<string[]> {
  if (ends.length === 0) return [];
  const named = await Promise.all(
    ["HEAD", ...(base === null ? [] : [base])].map(ref => commitAt(git, [], ref)),
  );
  const stays = named.filter(id => id !== null);
  const own = branch === null ? [] : [`--exclude=${branch}`];
  const refs = [...own, "--branches", "--tags", "--remotes"];
  return linesOf(await git.read(["rev-list", "--stdin", "--not", ...stays, ...refs], ends.join("\n")));
}

/** Returns the commits that only the reflogs and the worktree's own refs hold, and that nothing replaced. */
async function onlyInLogs(git: Git, { branch, base, gitDir }: Doomed): Promise<string[]> {
  const own = gitDir === null ? [] : await movesOf(git, gitDir, "HEAD");
  const common = (await git.outputOf("rev-parse", "--path-format=absolute", "--git-common-dir")).trim();
  const branchs = branch === null ? [] : await movesOf(git, common, `refs/heads/${branch}`);
  const refs = gitDir === null ? [] : await refsOf(git, gitDir);
  const known = await commitsOf(
    git,
    [...own, ...branchs].flatMap(({ from, to }) => [from, to]),
  );
  const ends = [...new Set([...leftBehind(own, known), ...leftBehind(branchs, known), ...refs])];
  const lost = new Set(await onlyIn(git, ends, branch, base));
  // A commit that was split or put together anew has left the same files in one that stays.
  const trees = new Set([...known].filter(([id]) => !lost.has(id)).map(([, { tree }]) => tree));
  return ends.filter(id => lost.has(id) && !trees.has(known.get(id)?.tree ?? ""));
}

/** Returns the commits that were left for another one which neither holds them nor replaced them, and the last one. */
function leftBehind(moves: readonly Move[], known: ReadonlyMap<string, Commit>): string[] {
  const ends = new Set<string>();
  for (const { from, to, why } of moves) {
    const goesOn = known.get(to)?.parents.includes(from) === true;
    if (goesOn || rewrites.test(why)) ends.delete(from);
    else ends.add(from);
    ends.add(to);
  }
  return [...ends].filter(id => known.has(id));
}

/** Returns what a reflog has, the oldest first. */
async function movesOf(git: Git, gitDir: string, ref: string): Promise<Move[]> {
  const file = join(gitDir, "logs", ref);
  // A log file is read as it is: git shows none of a branch that is gone.
  if (existsSync(file))
    return linesOf(readFileSync(file, "utf8")).flatMap(line => {
      const [, from = "", to = "", why = ""] = /^([0-9a-f]+) ([0-9a-f]+) [^\t]*\t?(.*)$/.exec(line) ?? [];
      return to === "" ? [] : [{ from, to, why }];
    });
  const { code, output } = await git.run("--git-dir", gitDir, "log", "-g", "--format=%H %gs", ref, "--");
  if (code !== 0) return [];
  const latest = linesOf(output).map(line => ({
    to: line.split(" ", 1)[0] ?? "",
    why: line.replace(/^\S+ /, ""),
  }));
  return latest.map(({ to, why }, i) => ({ from: latest[i + 1]?.to ?? "", to, why })).reverse();
}

/** Returns what the worktree's own refs name: those of a bisect, and such that its agent made. */
async function refsOf(git: Git, gitDir: string): Promise<string[]> {
  const own = ["refs/bisect", "refs/worktree", "refs/rewritten"];
  const format = "--format=%(objecttype) %(objectname)";
  const lines = linesOf(await git.read(["--git-dir", gitDir, "for-each-ref", format, ...own]));
  return lines.filter(line => line.startsWith("commit ")).map(line => line.slice("commit ".length));
}

/** Returns the commits among these ids that git still has. */
async function commitsOf(git: Git, ids: readonly string[]): Promise<ReadonlyMap<string, Commit>> {
  const unique = [...new Set(ids)].filter(id => id !== "" && !/^0+$/.test(id));
  if (unique.length === 0) return new Map();
  const checked = linesOf(await git.read(["cat-file", "--batch-check"], unique.join("\n")));
  const there = checked.flatMap(line => /^(\S+) commit /.exec(line)?.[1] ?? []);
  if (there.length === 0) return new Map();
  const format = ["--no-walk=unsorted", "--format=%H %T %P"];
  const shown = linesOf(await git.read(["log", ...format, "--stdin"], there.join("\n")));
  return new Map(
    shown.map(line => {
      const [id = "", tree = "", ...parents] = line.trim().split(" ");
      return [id, { tree, parents }];
    }),
  );
}

async function commitAt(git: Git, where: readonly string[], ref: string): Promise<string | null> {
  const { code, output } = await git.run(...where, "rev-parse", "--verify", "--quiet", `${ref}^{commit}`);
  return code === 0 ? output.trim() : null;
}

function countOf(commits: readonly string[]): string {
  return counted(commits.length, "commit");
}

function branchAdvice(commits: readonly string[]): string {
  const some = commits.slice(0, limits.spawnUnsavedMax).map(id => id.slice(0, 12));
  return `what is wanted of that needs a branch: ${some.map(id => `git branch NAME ${id}`).join(", ")}`;
}

function linesOf(text: string): string[] {
  return text.split("\n").filter(line => line !== "");
}

// Finds the files that would be lost with an ended agent's worktree.

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
interface Checkout {
  readonly worktree: string;
  readonly gitDir: string;
  readonly main: string;
}

/** Returns a sentence if files would be lost, or null. `at` is git in a directory. */
async function unsavedFiles(at: (cwd: string) => Git, checkout: Checkout): Promise<string | null> {
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
async function modulesIn(git: Git, folder: string): Promise<string[]> {
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

interface Kept {
  readonly id: string;
  readonly name: string;
  /** Why it stays. */
  readonly reason: string;
}

/** Returns the exit code: 1 if something of what was named stays. */
export async function prune(
  world: ProcessContext,
  names: readonly string[],
  isJson: boolean,
): Promise<number> {
  const refused = await refuseAgent(world, isJson, "prune");
  if (refused !== null) return refused;
  const project = await projectOf(world.cwd);
  const actor = actingSession(world.env) ?? {};
  return withDaemon(world, isJson, async client => {
    const all = await rowsOf(client, "spawns", { project });
    const wanted =
      names.length === 0
        ? all.filter(hasEnded)
        : await Promise.all(names.map(name => neededSpawn(client, name, project)));
    const [removed, kept]: [SpawnRow[], Kept[]] = [[], []];
    const sessions = await rowsOf(client, "sessions", { project });
    for (const row of wanted) {
      const reason = await remove(world, { row, project, spawns: all, sessions });
      if (reason === null) {
        await ask(client, "spawn_remove", { ...actor, spawns: [row.id] });
        removed.push(row);
      } else {
        kept.push({ id: row.id, name: row.name, reason });
        const words = plain(reason, limits.spawnReasonChars);
        // Why it failed, or that it has not ended, says more.
        if (hasEnded(row) && row.reason === null)
          await ask(client, "spawn_update", { ...actor, spawn: row.id, reason: words });
      }
    }
    if (names.length === 0) await pruneTries(world.env, world.paths, await rowsOf(client, "sessions"));
    if (isJson) printJson(world, { removed: removed.map(({ id, name }) => ({ id, name })), kept });
    else {
      const gone = removed.map(({ name }) => `removed ${clean(name)}`);
      const stays = kept.map(({ name, reason }) => `kept    ${clean(name)}: ${clean(reason)}`);
      printFramed(world, gone.length + stays.length === 0 ? ["Nothing to remove."] : [...gone, ...stays]);
    }
    return names.length > 0 && kept.length > 0 ? exitCodes.failed : exitCodes.done;
  });
}

/** What to prune, and what else there is: whose place a worktree is now. */
interface Candidate {
  readonly row: SpawnRow;
  readonly project: string;
  readonly spawns: readonly SpawnRow[];
  readonly sessions: readonly SessionRow[];
}

/**
 * Removes what the agent left; returns why it stays, or null. First, Kite looks whether anything would be lost: nothing is
 * removed of an agent of which something has to stay.
 */
async function remove(world: ProcessContext, candidate: Candidate): Promise<string | null> {
  const { row, project } = candidate;
  if (row.project !== project) return `it is an agent of ${row.project}; run kite agents prune there`;
  if (!hasEnded(row)) return `it has not ended (${row.state}); stop it first: kite agents stop ${row.name}`;
  try {
    const place = await placeOf(world, row);
    if (place !== null) {
      const reason = inUse(candidate) ?? (await wouldLose(world, row, place));
      if (reason !== null) return reason;
    }
    if (row.backend === "tmux") await closeWindow(world, row);
    else {
      const refused = await removeSession(world, row);
      if (refused !== null) return refused;
    }
    if (place === null) return null;
    const { branch } = row;
    return await removeWorktree(new Git(world.env, place.main), { ...place, branch }, place.hasModules);
  } catch (error) {
    if (error instanceof ProgramFailed) return error.message;
    throw error;
  }
}

interface OwnPlace {
  readonly worktree: string;
  readonly main: string;
  /** Git's own folder of the worktree; null: git knows no such worktree. */
  readonly gitDir: string | null;
  readonly hasModules: boolean;
}

/** Returns the worktree that was made for the agent; null if there was none: another worktree is somebody else's. */
async function placeOf({ env, cwd }: ProcessContext, { worktree, base }: SpawnRow): Promise<OwnPlace | null> {
  if (worktree === null || base === null) return null;
  const main = await mainWorktree(new Git(env, cwd));
  if (dirname(worktree) !== join(main, worktreesFolder)) return null;
  const gitDir = await gitDirOf(new Git(env, main), worktree);
  const isThere = gitDir !== null && existsSync(worktree);
  const modules = isThere ? await modulesIn(new Git(env, worktree), worktree) : [];
  return { worktree, main, gitDir, hasModules: modules.length > 0 };
}

/** Returns in a sentence who has the worktree now; null: nobody. */
function inUse({ row, spawns, sessions }: Candidate): string | null {
  const { id, worktree } = row;
  const later = spawns.slice(spawns.findIndex(other => other.id === id) + 1);
  const heir = later.find(other => other.worktree === worktree);
  if (heir !== undefined)
    return `its worktree is that of a later agent now (${heir.id}); prune that one first`;
  const there = sessions.find(session => session.worktree === worktree);
  return there === undefined ? null : `${there.name} works in its worktree; stop that session first`;
}

/** Returns in a sentence what would be lost with the worktree and the branch; null: nothing. */
async function wouldLose(
  { env }: ProcessContext,
  { branch, base }: SpawnRow,
  { worktree, main, gitDir }: OwnPlace,
): Promise<string | null> {
  const at = (directory: string) => new Git(env, directory);
  const commits = await unsavedCommits(at(main), { branch, base, gitDir });
  if (commits !== null) return commits;
  if (gitDir === null)
    return existsSync(worktree)
      ? `git no longer knows its worktree ${worktree}, so nobody can tell what is in it; a person has to look, and remove the folder`
      : null;
  const lock = foreignLock(gitDir);
  if (lock !== null) return `somebody has locked its worktree (${lock}); git worktree unlock ${worktree}`;
  return existsSync(worktree) ? unsavedFiles(at, { worktree, gitDir, main }) : null;
}

/** The window of a program that failed is still there, to be read. */
async function closeWindow({ env, cwd }: ProcessContext, { id, handle }: SpawnRow): Promise<void> {
  const tmux = new Tmux(env, cwd, handle);
  const pane = await tmux.find(id);
  if (pane !== null) await tmux.close(pane);
}

/**
 * Lets the client remove its session and the worktree that it made; returns its refusal, or null. The client counts commits
 * as kept if a remote has them; here also those are kept that a branch has which stays.
 */
async function removeSession({ env, cwd }: ProcessContext, row: SpawnRow): Promise<string | null> {
  const handle = handleOf(row);
  if (handle === null) return null;
  const own = withoutSession(env);
  const program = neededProgram(clientProgram, own, cwd);
  const remove = (words: readonly string[]) => runProgram(program, words, { cwd, env: own });
  const first = await remove(removeWords(handle));
  const unpushed = first.code === 0 ? null : unpushedIn(first.output);
  const isLoss = unpushed === null || !(await isElsewhere({ env, cwd }, unpushed.commit, row));
  const ran = isLoss ? first : await remove(removeUnpushedWords(handle, unpushed));
  if (ran.code === 0 || isUnknownSession(ran.output)) return null;
  return `${clientProgram} did not remove its session: ${plain(refusalIn(ran.output)) || `exit code ${ran.code}`}`;
}

async function isElsewhere(
  { env, cwd }: Pick<ProcessContext, "env" | "cwd">,
  commit: string,
  { branch, base }: SpawnRow,
): Promise<boolean> {
  const main = await mainWorktree(new Git(env, cwd));
  return (await onlyIn(new Git(env, main), [commit], branch, base)).length === 0;
}
