/**
 * Who made which commits of a project, as far as Kite saw it. The worktrees of a project share its commits.
 *
 * Invariants: a commit has 1 to `limits.commitActorsMax` actors, each once; several mean that it is one of theirs. What a
 * line surely made keeps its actor. The latest noted commit is last. There are at most `limits.commitsKeptMax`, and the
 * oldest is dropped first.
 */

import type { Limits } from "../../../protocol/limits.ts";
import { type Actor, sameActor } from "../frame/actors.ts";
import { Records, sets } from "../frame/records.ts";
import { valueList } from "../frame/saved-rows.ts";

/** One who made a commit, or may have made it. */
export interface CommitActor {
  readonly actor: Actor;
  /** The actor's name at that time; its session may have ended since. */
  readonly name: string;
}

export interface MadeCommit {
  readonly project: string;
  /** The whole id. */
  readonly commit: string;
  readonly actors: readonly CommitActor[];
  /** Its actor's command made it, and no other ran beside that. */
  readonly isSure?: true;
  /** Wall time in milliseconds. */
  readonly wallMs: number;
  /** The `seq` of the entry of the log that noted it. */
  readonly seq: number;
}

/** The actor made these commits: by a line of its own, or by a request. */
export interface CommitsMade {
  readonly actor: Actor;
  /** Others whose lines ran at that time: each commit is one of theirs or of the actor. */
  readonly beside: readonly Actor[];
  readonly project: string;
  /** `of`: the commit in whose place it is. If the actor of that one is known, the new one is that actor's, too. */
  readonly commits: readonly { readonly commit: string; readonly of?: string }[];
  readonly isSure?: true;
  readonly wallMs: number;
}

/**
 * What became of commits while a line of the actor ran, or unseen: their authors are to hear of it. `lost`: no ref has them
 * any more. `rewritten`: the same, and another commit is in the place of each. `pushed`: they were published.
 */
export interface CommitsTaken {
  /** Null: Kite did not see who did it. */
  readonly actor: Actor | null;
  readonly project: string;
  readonly how: "lost" | "rewritten" | "pushed";
  /** The command in short form: `git reset --hard`; null: not known. */
  readonly command: string | null;
  readonly commits: readonly TakenCommit[];
}

export interface TakenCommit {
  readonly commit: string;
  /** The first line of its message, shortened. */
  readonly subject: string;
  /** The commit in its place. */
  readonly now?: string;
}

export function commitKey({ project, commit }: Pick<MadeCommit, "project" | "commit">): string {
  return `${project}\n${commit}`;
}

const commitRecords = new Records("made", (row: MadeCommit) => commitKey(row), {
  /** Keys by the sessions of those who made them. */
  madeBy: sets(({ actors }) => actors.map(({ actor }) => actor.session)),
});

/** Commits by `commitKey`, the latest noted last. */
export interface Commits extends ReturnType<typeof commitRecords.empty> {
  readonly limits: Limits;
}

export function noCommits(limits: Limits): Commits {
  return { ...commitRecords.empty(), limits };
}

/** Adds the latest commit, and drops the oldest one if there are too many. */
export function addCommit(commits: Commits, row: MadeCommit): void {
  commitRecords.putLast(commits, row);
  commitRecords.makeRoom(commits, commits.limits.commitsKeptMax);
}

/** Moves a session's commits to the id under which its process goes on. */
export function renameCommits(commits: Commits, from: string, to: string): void {
  for (const key of [...(commits.madeBy.get(from) ?? [])]) {
    const row = commits.made.get(key);
    if (row === undefined) continue;
    const actors = row.actors.map(one =>
      one.actor.session === from ? { ...one, actor: { ...one.actor, session: to, incarnation: 0 } } : one,
    );
    commitRecords.put(commits, { ...row, actors: eachOnce(actors) });
  }
}

/** The actors, each once: the first that is named. */
export function eachOnce(actors: readonly CommitActor[]): readonly CommitActor[] {
  return actors.filter((one, i) => !actors.slice(0, i).some(({ actor }) => sameActor(actor, one.actor)));
}

/** Yields a sentence for each broken invariant. */
export function* checkCommits({
  commits,
  seq,
}: {
  readonly commits: Commits;
  readonly seq: number;
}): Generator<string> {
  yield* commitRecords.check(commits, "commits", commits.limits.commitsKeptMax);
  let last = 0;
  for (const { commit, actors, seq: noted } of commits.made.values()) {
    if (noted < last || noted > seq) yield `the commit ${commit} stands in the wrong place`;
    if (actors.length === 0 || actors.length > commits.limits.commitActorsMax)
      yield `the commit ${commit} has ${actors.length} actors`;
    if (eachOnce(actors).length < actors.length) yield `the commit ${commit} has an actor twice`;
    last = noted;
  }
}

export const commitRows = {
  lists: { madeCommits: valueList((commits: Commits) => commits.made, addCommit) },
};
