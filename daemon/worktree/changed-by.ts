/** Of commands that put other commits into the working tree, only what they would change is in reach. */
import type { GuardedCommand } from "../../protocol/guard.ts";
import type { Changed } from "../facts/git-changes.ts";
import type { GitPlace } from "../facts/git-process.ts";
import type { FileState } from "../facts/git-status.ts";
import type { Services } from "../services.ts";
import { isWithin } from "./pathspec.ts";

interface Placed {
  readonly command: GuardedCommand;
  readonly place: GitPlace;
  readonly base: string | null;
  readonly blind?: string;
  readonly changed?: Changed;
}

/**
 * The same commands with what they would change of the files that others hold or wrote; one that could not be looked at
 * in time counts as changing everything, and `unseen` says why.
 */
export async function narrowed<P extends Placed>(
  { facts }: Services,
  placed: readonly P[],
  foreignOf: (one: P) => readonly { readonly file: string }[],
): Promise<{ readonly placed: readonly P[]; readonly unseen: string | null }> {
  let unseen: string | null = null;
  const all: P[] = [];
  for (const one of placed) {
    const { changes } = one.command;
    const files = foreignOf(one).map(({ file }) => file);
    if (changes === undefined || one.blind !== undefined || files.length === 0) {
      all.push(one);
      continue;
    }
    const changed = await facts.change(one.place, changes, files);
    if ("unreachable" in changed) {
      unseen ??= changed.unreachable;
      all.push(one);
    } else all.push({ ...one, changed });
  }
  return { placed: all, unseen };
}

/**
 * Whether the command takes what is uncommitted in a file, or changes it under its holder. `state` undefined: it was not
 * looked at, and may be anything; null: a folder that is held. What git ignores it overwrites without a word.
 */
export function wouldChange(
  { changed, place, base }: Placed & { readonly changed: Changed },
  { file, held }: { readonly file: string; readonly held: boolean },
  state: FileState | null | undefined,
): boolean {
  const { names, paths, loses } = changed;
  const isUncommitted = state === undefined || held || Object.values(state ?? {}).some(Boolean);
  if (!isUncommitted) return false;
  if (loses === "staged" && (state === undefined || state?.staged)) return true;
  // What it takes back by its path it takes from the index.
  const isKnown = state === undefined || held || state?.staged || state?.changed;
  if (isKnown && isWithin(file, paths, base, place.worktree)) return true;
  return names.some(
    name => name === file || file === "" || name.startsWith(`${file}/`) || file.startsWith(`${name}/`),
  );
}
