/** Whose part a command does something with, in which worktree, and within which paths. */

import { relative, resolve } from "node:path";
import { isWithin } from "../../daemon/worktree/pathspec.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { realPath } from "../context/project.ts";
import { repositoryAt } from "../diff/changes.ts";
import { agentNamed } from "../diff/committed.ts";
import type { Texts } from "../rescue/texts.ts";
import { type Asker, Commits } from "../rescue/versions.ts";
import { type IsOwn, type OwnPart, ownCaller, ownOf, ownPart, refused } from "./part.ts";
import type { TreeOwner } from "./try-tree.ts";

export interface Caller {
  /** What it is called. */
  readonly name: string;
  /** Whose lines count. */
  readonly isOwn: IsOwn;
  /** The top of the worktree; real. */
  readonly worktree: string;
  /** The commit that is checked out there. */
  readonly head: string;
  /** The directory of the command, from the top. */
  readonly below: string;
  readonly owner: TreeOwner;
}

interface Named {
  /** Whose part a person means. */
  readonly of: string | undefined;
  /** Whose part is taken along. */
  readonly others?: readonly string[];
}

/** Returns who calls. Throws `Refused` if that is nobody, or the directory is in no repository that has a commit. */
export async function callerIn(
  world: Pick<ProcessContext, "cwd" | "env">,
  asker: Asker,
  { of, others = [] }: Named,
  line: string,
): Promise<Caller> {
  const cwd = await realPath(world.cwd, ".");
  const { worktree } = await repositoryAt(cwd);
  const head = await new Commits(asker).head(worktree);
  if (head === null) throw refused(`${worktree} is in no git repository that has a commit`);
  const who = await ownCaller(world, asker, of, line);
  const more: IsOwn[] = [];
  for (const name of others) more.push(ownOf(await agentNamed(world, asker, name), who.sessions));
  return {
    name: who.name,
    isOwn: by => who.isOwn(by) || more.some(isOwn => isOwn(by)),
    worktree,
    head,
    below: relative(worktree, cwd),
    owner: { id: who.id, agent: who.agent, worktree },
  };
}

/**
 * Returns the part within the pathspecs, which are typed in the command's directory. A file that Kite saw nobody write counts as
 * seen if it is named itself.
 */
export async function partWithin(
  asker: Asker,
  texts: Texts,
  caller: Caller,
  specs: readonly string[],
): Promise<OwnPart> {
  const { worktree, isOwn, below } = caller;
  const tools = { commits: new Commits(asker), texts };
  const part = await ownPart(asker, tools, { worktree, isOwn, paths: null });
  if (specs.length === 0) return part;
  const named = new Set(specs.map(spec => relative(worktree, resolve(worktree, below, spec))));
  const files = part.files.filter(
    ({ file, was }) => isNamed(file, caller, specs) || (was !== null && isNamed(was, caller, specs)),
  );
  // Who names a file that Kite saw nobody write says whose it is.
  return { ...part, files: files.map(one => (named.has(one.file) ? { ...one, isSeen: true } : one)) };
}

/** Whether a path from the top is within the pathspecs; without any, all are. */
export function isNamed(
  file: string,
  { below, worktree }: Pick<Caller, "below" | "worktree">,
  specs: readonly string[],
): boolean {
  return specs.length === 0 || isWithin(file, specs, below, worktree);
}

/** Names the owner of what Kite notes of a caller's commands. */
export function ownerKey({ owner: { id, agent, worktree } }: Pick<Caller, "owner">): string {
  return JSON.stringify([id, agent, worktree]);
}
