/**
 * Makes a commit of chosen contents on the checked-out branch, beside whatever the shared index and the working tree have.
 *
 * Invariants: the commit is built on an index of its own. Under the shared index's lock, the shared index gets the committed
 * entries first, then the branch moves from the very commit that the new one follows, or nothing has changed. A process
 * killed between the two leaves the entries staged. What others staged in the same files stays staged.
 */

import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KitePaths } from "../../protocol/paths.ts";
import { plain } from "../../protocol/text.ts";
import { besideLock, takeFile } from "../context/held-file.ts";
import { Refused } from "../context/with-daemon.ts";
import type { CallerGit } from "./caller-git.ts";
import type { FileState } from "./part.ts";

/** An entry of a tree or an index; `mode` null: the path is not there. */
export interface Entry {
  readonly path: string;
  readonly mode: string | null;
  /** The blob; "" without a mode. */
  readonly blob: string;
}

/** What is checked out in a worktree. */
export interface Checkout {
  /** Git's directory of the worktree. */
  readonly gitDir: string;
  readonly index: string;
  /** The branch as a full ref; null: HEAD is detached. */
  readonly ref: string | null;
  /** Null: the branch has no commit yet. */
  readonly head: string | null;
}

export async function checkoutOf(git: CallerGit): Promise<Checkout> {
  const absolute = ["rev-parse", "--path-format=absolute"];
  const gitDir = await git.line([...absolute, "--git-dir"]);
  const index = await git.line([...absolute, "--git-path", "index"]);
  const ref = await git.lineOrNull(["symbolic-ref", "-q", "HEAD"]);
  return { gitDir, index, ref, head: await headOf(git) };
}

function headOf(git: CallerGit): Promise<string | null> {
  return git.lineOrNull(["rev-parse", "--verify", "-q", "HEAD^{commit}"]);
}

/** What git keeps while an operation is in progress, and what the operation is called. */
const operations = [
  ["MERGE_HEAD", "merge"],
  ["rebase-merge", "rebase"],
  ["rebase-apply/applying", "am"],
  ["rebase-apply", "rebase"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
  ["BISECT_LOG", "bisect"],
] as const;

/** Returns the operation that is in progress in a worktree; null: none. */
export function operationIn(gitDir: string): string | null {
  return operations.find(([file]) => existsSync(join(gitDir, file)))?.[1] ?? null;
}

/** Writes a content as `git add` would, through the filters of its path, and returns its entry. */
export async function entryOf(git: CallerGit, path: string, { content, mode }: FileState): Promise<Entry> {
  if (mode === null) return { path, mode, blob: "" };
  // A content that is too long to read is that of the file.
  const from = content === null ? ["--", path] : ["--stdin"];
  const filters = mode === "120000" ? ["--no-filters"] : [`--path=${path}`];
  const input = content === null ? {} : { input: content };
  const blob = await git.line(["hash-object", "-w", ...(content === null ? [] : filters), ...from], input);
  return { path, mode, blob };
}

/** Returns the tree of a commit (null: of none) with these entries instead. */
export async function treeWith(
  git: CallerGit,
  index: string,
  commit: string | null,
  entries: readonly Entry[],
): Promise<string> {
  rmSync(index, { force: true });
  rmSync(`${index}.lock`, { force: true });
  await git.read(["read-tree", ...(commit === null ? ["--empty"] : [commit])], { index });
  await putEntries(git, index, entries);
  return git.line(["write-tree"], { index });
}

async function putEntries(git: CallerGit, index: string, entries: readonly Entry[]): Promise<void> {
  const zeros = "0".repeat(entries.find(({ mode }) => mode !== null)?.blob.length ?? 40);
  const lines = entries.map(({ path, mode, blob }) =>
    mode === null ? `0 ${zeros}\t${path}\0` : `${mode} ${blob}\t${path}\0`,
  );
  // Removals first: a folder may take the place of a file.
  const input = [
    ...lines.filter(line => line.startsWith("0 ")),
    ...lines.filter(line => !line.startsWith("0 ")),
  ];
  await git.read(["update-index", "--add", "--replace", "-z", "--index-info"], {
    index,
    input: input.join(""),
  });
}

/** Returns the entries in which a tree differs from another one. */
export async function differences(git: CallerGit, from: string, to: string): Promise<readonly Entry[]> {
  const out = await git.read(["diff-tree", "-r", "-z", "--no-renames", from, to]);
  const fields = out.toString().split("\0");
  const entries: Entry[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [, mode = "", , blob = ""] = (fields[i] ?? "").split(" ");
    const path = fields[i + 1] ?? "";
    entries.push(mode === "000000" ? { path, mode: null, blob: "" } : { path, mode, blob });
  }
  return entries;
}

interface Publishing {
  readonly checkout: Checkout;
  readonly commit: string;
  /** Entries of the commit that its parent does not have so. */
  readonly entries: readonly Entry[];
  /** For the reflog. */
  readonly reason: string;
}

/** Git waits this long for a lock of its index that another git command has, in milliseconds. */
const lockMs = 15_000;

/** Moves the branch to the commit. `moved`: another commit came first, and nothing was changed. Throws `Refused`. */
export async function publish(
  git: CallerGit,
  paths: Pick<KitePaths, "tries">,
  { checkout, commit, entries, reason }: Publishing,
): Promise<"done" | "moved"> {
  const { index, ref, head, gitDir } = checkout;
  const lock = `${index}.lock`;
  const release = await takeFile(paths, lock, lockMs);
  if (release === null)
    throw refused(
      `another git command has ${lock}; nothing was committed: run the line again when it has ended`,
    );
  const [fresh, before] = ["new", "old"].map(name => besideLock(lock, `${process.pid}-${name}`)) as [
    string,
    string,
  ];
  try {
    const [now, tip] = await Promise.all([git.lineOrNull(["symbolic-ref", "-q", "HEAD"]), headOf(git)]);
    if (now !== ref || operationIn(gitDir) !== null)
      throw refused(
        "HEAD moved to another place while this command ran; nothing was committed: see git status",
      );
    if (tip !== head) return "moved";
    const isThere = existsSync(index);
    if (isThere) for (const file of [fresh, before]) copyFileSync(index, file);
    const staged = await stagedIn(git, head);
    const put: Entry[] = [];
    for (const entry of entries) put.push(await withStaged(git, entry, staged.get(entry.path)));
    await putEntries(git, fresh, put);
    // The entries have no times of their files yet. It fails for a file that is not there.
    const there = put.flatMap(({ path, mode }) => (mode === null ? [] : [`${path}\0`])).join("");
    const words = [
      "--literal-pathspecs",
      "add",
      "--refresh",
      "--pathspec-from-file=-",
      "--pathspec-file-nul",
    ];
    await git.run(words, { index: fresh, input: there });
    renameSync(fresh, index);
    const old = head ?? "0".repeat(commit.length);
    const { code, err } = await git.run(["update-ref", "-m", reason, "HEAD", commit, old]);
    if (code === 0) return "done";
    if (isThere) renameSync(before, index);
    else rmSync(index);
    if ((await headOf(git)) !== head) return "moved";
    throw refused(`git could not move the branch, and nothing was committed: ${plain(err).slice(-500)}`);
  } finally {
    for (const file of [fresh, `${fresh}.lock`, before]) rmSync(file, { force: true });
    release();
  }
}

/** What is staged of a file, and what the commit that is checked out has of it; "" is nothing. */
interface Staged {
  readonly mode: string;
  readonly blob: string;
  readonly base: string;
}

/** Returns what of the shared index differs from the commit that is checked out. */
async function stagedIn(git: CallerGit, head: string | null): Promise<ReadonlyMap<string, Staged>> {
  const words =
    head === null
      ? ["ls-files", "-s", "-z"]
      : ["diff-index", "--cached", "-z", "--no-renames", "--ignore-submodules=all", head];
  const fields = (await git.read(words)).toString().split("\0");
  const found = new Map<string, Staged>();
  if (head === null)
    for (const field of fields) {
      const [, mode = "", blob = "", path] = /^(\d{6}) ([0-9a-f]+) 0\t(.*)$/s.exec(field) ?? [];
      if (path !== undefined) found.set(path, { mode, blob, base: "" });
    }
  else
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [old, mode = "", base = "", blob = ""] = (fields[i] ?? "").split(" ");
      if (mode !== "000000")
        found.set(fields[i + 1] ?? "", { mode, blob, base: old === ":000000" ? "" : base });
    }
  return found;
}

/** Returns what the shared index gets: the committed entry, with lines that others have staged in the file. */
async function withStaged(git: CallerGit, entry: Entry, staged: Staged | undefined): Promise<Entry> {
  const { path, mode, blob } = entry;
  if (staged === undefined || staged.blob === blob || mode === null) return entry;
  if ([staged.mode, mode].some(one => one === "120000" || one === "160000")) return entry;
  const folder = mkdtempSync(join(tmpdir(), "kite-staged-"));
  try {
    const files = [];
    for (const [name, id] of Object.entries({ staged: staged.blob, base: staged.base, committed: blob })) {
      writeFileSync(join(folder, name), id === "" ? "" : await git.read(["cat-file", "blob", id]));
      files.push(join(folder, name));
    }
    // Where both changed the same lines, the committed ones stand: they are in the file.
    const { code, out } = await git.run(["merge-file", "-p", "-q", "--theirs", ...files]);
    if (code !== 0) return entry;
    return {
      path,
      mode,
      blob: await git.line(["hash-object", "-w", "--no-filters", "--stdin"], { input: out }),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function refused(error: string): Refused {
  return new Refused({ ok: false, code: "not_available", error });
}
