/**
 * Moves the base forward: its reference by compare and swap, or with its files where it is checked out. Git offers no move
 * on the condition that nobody switches a checkout meanwhile, so a look behind the move finds that, and takes the move back.
 */
import { limits } from "../../../protocol/limits.ts";
import { checkoutsOf, type Move, obstacle } from "./base-checkout.ts";
import { checkoutsSettled, takeBackOther, takeBackStale } from "./behind-move.ts";
import { commitOf, firstWords, type Git, type Ran } from "./git.ts";
import { shortOf, type Trying } from "./trial.ts";
import type { Worktree } from "./worktrees.ts";

/**
 * What came of a move. Null: the base is at the commit. `moved`: it was elsewhere before, or it was taken back, so the try
 * begins anew. A sentence: what kept it back.
 */
type Moved = string | "moved" | null;

/** Moves the base. */
export async function moveBase(trying: Trying, move: Move): Promise<Moved> {
  const { git, merge } = trying;
  if ((await commitOf(git, merge.base)) !== move.base) return "moved";
  const why = await obstacle(trying, move);
  if (why !== null) return why;
  await trying.mayMove(move.commit);
  // From here on an interrupt waits: the base moves, and the queue hears of it.
  const sure: Git = (args, options) => git(args, { ...options, finishes: true });
  const surely = { ...trying, git: sure, note: `kite merge ${shortOf(merge.branch)}` };
  const [checkout] = await checkoutsOf(surely);
  return checkout === undefined ? moveAlone(surely, move) : moveWithFiles(surely, move, checkout);
}

type Surely = Trying & { readonly note: string };

/** Moves a base that is checked out nowhere. */
async function moveAlone(trying: Surely, move: Move): Promise<Moved> {
  const { git, gitDir, merge, note } = trying;
  const words = ["update-ref", "-m", note, merge.base, move.commit, move.base];
  const ran = await git(words, { ms: limits.mergeGitMs });
  if (ran.code === 0) {
    await checkoutsSettled(gitDir);
    const back = await takeBackStale(trying, move);
    if (back !== null) return back;
  }
  return outcome(trying, move, ran);
}

/** Moves a base with the files of the worktree in which it is checked out. */
async function moveWithFiles(trying: Surely, move: Move, { path }: Worktree): Promise<Moved> {
  const { git, note } = trying;
  // Git itself refuses to overwrite what came meanwhile, ignored files too. The words come after those of the setting
  // branch.NAME.mergeOptions: with its --squash the files would move, and the branch would not.
  const forward = ["--ff-only", "--no-squash", "--no-autostash", "--no-overwrite-ignore", "--quiet"];
  const ran = await git(["merge", ...forward, move.commit], {
    cwd: path,
    ms: limits.mergeGitMs,
    action: note,
  });
  const isStill = (await checkoutsOf(trying)).some(one => one.path === path);
  if (isStill) return outcome(trying, move, ran);
  const back = await takeBackOther(trying, move, path);
  // Without the files of a checkout, the next try moves the base alone.
  return back ?? "moved";
}

async function outcome({ git, merge }: Surely, move: Move, { code, said }: Ran): Promise<Moved> {
  const now = await commitOf(git, merge.base);
  if (now === move.commit) return null;
  if (now !== move.base) return "moved";
  return `git could not move ${shortOf(merge.base)}: ${firstWords(said) || `exit code ${code}`}`;
}
