/** Moves the base forward: its reference by compare and swap, or with its files where it is checked out. */
import { limits } from "../../../protocol/limits.ts";
import { checkoutsOf, type Move, obstacle } from "./base-checkout.ts";
import { commitOf, firstWords, type Git } from "./git.ts";
import { shortOf, type Trying } from "./trial.ts";

/** Returns null if the base is at the commit now, `moved` if another one moved it before, else what kept it back. */
export async function moveBase(trying: Trying, move: Move): Promise<string | "moved" | null> {
  const { git, merge } = trying;
  if ((await commitOf(git, merge.base)) !== move.base) return "moved";
  const why = await obstacle(trying, move);
  if (why !== null) return why;
  await trying.mayMove(move.commit);
  // From here on an interrupt waits: the base moves, and the queue hears of it.
  const sure: Git = (args, options) => git(args, { ...options, finishes: true });
  const [checkout] = await checkoutsOf({ git: sure, merge });
  const ms = limits.mergeGitMs;
  const note = `kite merge ${shortOf(merge.branch)}`;
  // Where it is checked out, git itself refuses to overwrite what came meanwhile, ignored files too. The words come after
  // those of the setting branch.NAME.mergeOptions: with its --squash the files would move, and the branch would not.
  const forward = ["--ff-only", "--no-squash", "--no-autostash", "--no-overwrite-ignore", "--quiet"];
  const { code, said } =
    checkout === undefined
      ? await sure(["update-ref", "-m", note, merge.base, move.commit, move.base], { ms })
      : await sure(["merge", ...forward, move.commit], { cwd: checkout.path, ms });
  const now = await commitOf(sure, merge.base);
  if (now === move.commit) return null;
  if (now !== move.base) return "moved";
  return `git could not move ${shortOf(merge.base)}: ${firstWords(said) || `exit code ${code}`}`;
}
