/** Whose part a command does something with, in which worktree, and within which paths. */

import { relative } from "node:path";
import { isWithin } from "../../daemon/worktree/pathspec.ts";
import { agentsOf, type NamedAgent } from "../context/caller.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { realPath } from "../context/project.ts";
import { Refused, rowsOf } from "../context/with-daemon.ts";
import { repositoryAt } from "../diff/changes.ts";
import { agentNamed } from "../diff/committed.ts";
import type { Texts } from "../rescue/texts.ts";
import { type Asker, Commits } from "../rescue/versions.ts";
import { type IsOwn, type OwnPart, ownOf, ownPart } from "./part.ts";

export interface Caller {
  /** What it is called. */
  readonly name: string;
  /** Whose lines are taken along. */
  readonly isOwn: IsOwn;
  /** The top of the worktree; real. */
  readonly worktree: string;
  /** The directory of the command, from the top. */
  readonly below: string;
  /** Names the caller and the worktree, for what Kite keeps of its commands. */
  readonly owner: string;
  /** Null: a person. */
  readonly who: Pick<NamedAgent, "id" | "agent"> | null;
}

/** Whom a command names: `of` is whose part a person means, `others` those whose part is taken along. */
interface Named {
  readonly of?: string | undefined;
  readonly others?: readonly string[] | undefined;
}

/**
 * Returns who calls, or a sentence that says how the command is typed. Throws `Refused` if nobody is called so, or the directory is
 * in no repository that has a commit.
 */
export async function callerIn(
  world: Pick<ProcessContext, "cwd">,
  asker: Asker,
  { of, others = [] }: Named,
): Promise<Caller | string> {
  const cwd = await realPath(world.cwd, ".");
  const { worktree } = await repositoryAt(cwd);
  const commit = await new Commits(asker).head(worktree);
  if (commit === null) throw refused(`${worktree} is in no git repository that has a commit`);
  const sessions = await rowsOf(asker.client, "sessions");
  const { acting } = asker;
  if (acting !== null && of !== undefined) return "--of is for a person; an agent's own part is its own";
  const named = [];
  for (const name of of === undefined ? others : [of, ...others])
    named.push(await agentNamed(world, asker, name));
  const own = acting === null ? null : { id: acting.id, agent: acting.agent ?? null };
  if (own === null && named.length === 0) return "say whose part you mean: name an agent";
  const all = [...(own === null ? [] : [own]), ...named].map(one => ownOf(one, sessions));
  const first = own ?? named[0] ?? null;
  const known = agentsOf(sessions).find(one => one.id === first?.id && one.agent === first.agent);
  return {
    name: known?.name ?? first?.id ?? "",
    isOwn: by => all.some(isOwn => isOwn(by)),
    worktree,
    below: relative(worktree, cwd),
    owner: JSON.stringify([own?.id ?? null, own?.agent ?? null, of ?? null, worktree]),
    who: own,
  };
}

/** Returns the caller's part within the pathspecs, which are typed in the command's directory. */
export async function partWithin(
  asker: Asker,
  texts: Texts,
  { worktree, isOwn, below }: Caller,
  specs: readonly string[],
): Promise<OwnPart> {
  const tools = { commits: new Commits(asker), texts };
  const part = await ownPart(asker, tools, { worktree, isOwn, paths: null });
  if (specs.length === 0) return part;
  const isIn = (file: string) => isWithin(file, specs, below, worktree);
  const files = part.files.filter(({ file, was }) => isIn(file) || (was !== null && isIn(was)));
  return { ...part, files };
}

export function refused(error: string): Refused {
  return new Refused({ ok: false, code: "not_available", error });
}
