/** Limits commands that put other commits into the working tree to the files that they would change. */
import type { GuardedCommand } from "../../protocol/guard.ts";
import { type Changed, everythingOf } from "../facts/git/changes.ts";
import type { GitPlace } from "../facts/git/process.ts";
import type { FileState } from "../facts/git/status.ts";
import type { Services } from "../services.ts";
import { isWithin } from "./pathspec.ts";
import { reaches } from "./work-effects.ts";

interface Placed {
  readonly command: GuardedCommand;
  readonly place: GitPlace;
  readonly base: string | null;
  readonly blind?: string;
  readonly changed?: Changed;
}

/**
 * The same commands, each with the files of others that it would change. A command that could not be checked in time
 * counts as changing all of them, and `unseen` says why.
 */
export async function narrowed<P extends Placed>(
  { facts }: Services,
  placed: readonly P[],
  foreignOf: (one: P) => { readonly files: readonly string[]; readonly states: States },
): Promise<{ readonly placed: readonly P[]; readonly unseen: string | null }> {
  let unseen: string | null = null;
  const all: P[] = [];
  for (const one of placed) {
    const { changes } = one.command;
    const { files: foreign, states } = foreignOf(one);
    const files = foreign.filter(file => isAsked(changes?.loses, states.get(file)));
    if (changes === undefined || one.blind !== undefined || files.length === 0) {
      all.push(one);
      continue;
    }
    const changed = await facts.change(one.place, changes, files);
    if ("unreachable" in changed) {
      unseen ??= changed.unreachable;
      all.push({ ...one, changed: everythingOf(files) });
    } else all.push({ ...one, changed });
  }
  return { placed: all, unseen };
}

type States = ReadonlyMap<string, FileState>;

/** Whether it matters if the command changes the file: of `tracked` ones it takes all that it reaches. */
function isAsked(loses: Changed["loses"] | undefined, state: FileState | undefined): boolean {
  if (loses === "ignored") return state?.ignored === true;
  return loses !== "tracked" || mayBeUnknown(state);
}

/** Whether git may not know the file, or may ignore it. */
function mayBeUnknown(state: FileState | undefined): boolean {
  return state === undefined || state.untracked || state.ignored;
}

/**
 * Whether the command takes uncommitted work in a file, or changes the file under its holder. `state` undefined: the
 * file was not checked and may be in any state; null: a directory that is held. Git overwrites ignored files without a
 * word, and unknown ones if forced.
 */
export function wouldChange(
  { command, changed, place, base }: Placed & { readonly changed: Changed },
  { file, held }: { readonly file: string; readonly held: boolean },
  state: FileState | null | undefined,
): boolean {
  const { names, paths, loses } = changed;
  const isUncommitted = state === undefined || held || Object.values(state ?? {}).some(Boolean);
  if (!isUncommitted) return false;
  const isNamed = names.some(
    name => name === file || file === "" || name.startsWith(`${file}/`) || file.startsWith(`${name}/`),
  );
  if (loses === "ignored") return isNamed && state?.ignored === true;
  const isOver = isNamed && (!state?.untracked || state.staged || held || command.changes?.isForced === true);
  if (loses === "tracked")
    return (
      state === undefined || reaches(command, state, held) || (mayBeUnknown(state ?? undefined) && isOver)
    );
  if (loses === "staged" && (state === undefined || state?.staged)) return true;
  // A command with paths takes these files back from the index.
  const isKnown = state === undefined || held || state?.staged || state?.changed;
  if (isKnown && isWithin(file, paths, base, place.worktree)) return true;
  return isOver;
}
