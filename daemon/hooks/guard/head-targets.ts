/** Where a command would put HEAD, by git's own names, and how its agent does the same in a place of its own. */

import {
  branchName,
  type HeadMove,
  type HeadPlace,
  type HeadWay,
  worktreeFolder,
} from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../options.ts";

/** Where HEAD goes. */
export interface Move {
  /** The full name of the branch that HEAD is on then; null: none. */
  readonly ref: string | null;
  /** Null: not known before the command runs. */
  readonly commit: string | null;
  /** Where it goes, in a few words; null: its branch goes to another commit. */
  readonly words: string | null;
}

/** Returns where the command puts HEAD; null: HEAD stays, or its branch only gets more commits, or nobody can tell. */
export async function moveOf(
  services: Services,
  place: GitPlace,
  move: HeadMove,
  at: HeadPlace,
): Promise<Move | null> {
  const current = at.ref === null ? null : branchName(at.ref);
  const isElsewhere = move.onlyOn !== undefined && move.onlyOn !== current;
  if (isElsewhere || !(await isSet(services, place, move, current))) return null;
  switch (move.by) {
    case "bisect":
      return at.operation === "bisect"
        ? null
        : { ref: null, commit: null, words: "the commits that bisect tries" };
    case "branch":
      // Git refuses to force the branch that is checked out.
      return move.newBranch === undefined ? null : toBranch(move.newBranch, at.commit, current);
    case "symbolic-ref":
      return move.to === null || move.to === at.ref ? null : toRef(move.to, null);
    case "rebase":
    case "pull":
      return rebased(services, place, move, at);
    case "reset":
    case "update-ref":
      return toCommit(services, place, move, at);
    default:
      return switched(services, place, move, at);
  }
}

/** Whether the repository's settings have the command do so. */
async function isSet(
  { facts }: Services,
  place: GitPlace,
  { ifSet }: HeadMove,
  branch: string | null,
): Promise<boolean> {
  if (ifSet === undefined) return true;
  const ofBranch = branch === null ? null : await facts.heads.setting(place, `branch.${branch}.rebase`);
  const value = typeof ofBranch === "string" ? ofBranch : await facts.heads.setting(place, ifSet);
  return typeof value === "string" && !/^(?:false|no|off|0|)$/i.test(value);
}

function toRef(ref: string, commit: string | null): Move {
  return { ref, commit, words: `branch ${branchName(ref)}` };
}

/** `name` null: only the shell knows it. */
function toBranch(name: string | null, commit: string | null, current: string | null): Move | null {
  if (name === null) return { ref: null, commit, words: "a new branch" };
  return name === current ? null : toRef(`refs/heads/${name}`, commit);
}

/** A branch or a commit is checked out. */
async function switched(
  { facts }: Services,
  place: GitPlace,
  move: HeadMove,
  at: HeadPlace,
): Promise<Move | null> {
  const { to, newBranch, isDetached = false, isOrphan = false } = move;
  const current = at.ref === null ? null : branchName(at.ref);
  if (newBranch !== undefined && (isOrphan || newBranch !== current)) {
    const start = isOrphan || to === null ? null : await facts.heads.revision(place, to);
    // Git refuses a start that it does not find, and so does a branch that it cannot make.
    if (start === null && !isOrphan && to !== null && at.commit !== null) return null;
    const commit = start === null || "unreachable" in start ? null : start.commit;
    return toBranch(newBranch, commit, current);
  }
  if (to === null) return null;
  const found = await facts.heads.revision(place, to);
  if (found !== null && "unreachable" in found) return null;
  if (newBranch !== undefined) return found === null ? null : back(found.commit, at);
  if (found === null) return ofRemote({ facts }, place, to);
  const isBranch = found.ref?.startsWith("refs/heads/") === true && !isDetached;
  if (isBranch) return found.ref === at.ref ? null : toRef(found.ref ?? "", found.commit);
  if (move.by === "switch" && !isDetached) return null;
  const isThere = at.ref === null && found.commit === at.commit;
  return isThere
    ? null
    : { ref: null, commit: found.commit, words: `no branch, at ${shortId(found.commit)}` };
}

/** A name that only one remote has is made a branch. */
async function ofRemote(
  { facts }: Pick<Services, "facts">,
  place: GitPlace,
  name: string,
): Promise<Move | null> {
  const remotes = await facts.heads.remoteBranches(place, name);
  return "unreachable" in remotes || remotes.length !== 1 ? null : toRef(`refs/heads/${name}`, null);
}

/** The branch goes to another commit, and not ahead. */
function back(commit: string, at: HeadPlace): Move | null {
  return commit === at.commit ? null : { ref: at.ref, commit, words: null };
}

async function toCommit(
  { facts }: Services,
  place: GitPlace,
  { to }: HeadMove,
  at: HeadPlace,
): Promise<Move | null> {
  const found = to === null ? null : await facts.heads.revision(place, to);
  if (found === null || "unreachable" in found || found.commit === at.commit) return null;
  const isAhead = await facts.heads.isAncestor(place, at.commit, found.commit);
  return isAhead === false ? back(found.commit, at) : null;
}

async function rebased(
  { facts }: Services,
  place: GitPlace,
  { by, to, branch, ifApart }: HeadMove,
  at: HeadPlace,
): Promise<Move | null> {
  if (branch != null && `refs/heads/${branch}` !== at.ref) {
    const other = await facts.heads.revision(place, branch);
    if (other === null || "unreachable" in other) return null;
    return other.ref === null ? { ref: null, commit: null, words: "no branch" } : toRef(other.ref, null);
  }
  const base = to === null ? null : await facts.heads.revision(place, to);
  if (base === null || "unreachable" in base) return null;
  const rewritten = { ref: at.ref, commit: null, words: null };
  if (ifApart === undefined) return rewritten;
  const isBehind = await facts.heads.isAncestor(place, at.commit, base.commit);
  if (isBehind !== false) return null;
  // What a pull will fetch is not known.
  const isThere = by === "pull" ? false : await facts.heads.isAncestor(place, base.commit, at.commit);
  return isThere === false ? rewritten : null;
}

function shortId(commit: string): string {
  return commit.slice(0, limits.commitIdChars);
}

/** Returns the agent's own form of the command: in a worktree of its own. */
export async function wayOf(
  services: Services,
  place: GitPlace,
  move: HeadMove,
  { ref, words }: Move,
): Promise<HeadWay> {
  const { facts } = services;
  const { by, to, newBranch, isOrphan = false, isForced = false } = move;
  const free = (name: string) => freeFolder(services, worktreeFolder(place.worktree, name));
  if (words === null || by === "rebase" || by === "pull" || by === "symbolic-ref") return { is: "copy" };
  const start = to === null || to === "HEAD" ? [] : [to];
  if (newBranch !== undefined && newBranch !== null) {
    const dir = await free(newBranch);
    if (isOrphan)
      return {
        is: "worktree",
        words: ["--detach", dir],
        branch: newBranch,
        orphan: { dir, name: newBranch },
      };
    return { is: "worktree", words: [isForced ? "-B" : "-b", newBranch, dir, ...start], branch: newBranch };
  }
  if (ref !== null) {
    const branch = branchName(ref);
    const there = await facts.heads.worktreeOn(place, ref);
    if (typeof there === "string") return { is: "there", dir: there, branch };
    return { is: "worktree", words: [await free(branch), branch], branch };
  }
  const dir = await free(by === "bisect" ? "bisect" : (to ?? "other"));
  return { is: "worktree", words: ["--detach", dir, ...start], branch: null };
}

/** The folder, or the first with a number behind it in which nothing is. */
async function freeFolder({ facts }: Services, folder: string): Promise<string> {
  for (let n = 1; n < limits.foldersTriedMax; n += 1) {
    const name = n === 1 ? folder : `${folder}-${n}`;
    const there = await facts.stamped(name);
    if (there === null || there.stamp === null) return name;
  }
  return `${folder}-${limits.foldersTriedMax}`;
}
