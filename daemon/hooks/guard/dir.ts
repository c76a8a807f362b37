/** The directory in which a guarded command runs, as a path of this machine. */
import { posix } from "node:path";
import { topFolder } from "../../../protocol/guard.ts";
import type { Unreachable } from "../../facts/filesystem.ts";
import type { Services } from "../../services.ts";

const mark = `/${topFolder}`;

/** `dir` with each `topFolder` replaced by the top of its worktree, or by the folder itself if it is in no repository. */
export async function withTops({ facts }: Services, dir: string): Promise<string | Unreachable> {
  const [first = "", ...rest] = dir.split(mark);
  let at = first || "/";
  for (const further of rest) {
    const around = await facts.repository(at);
    if ("unreachable" in around) return around;
    at = posix.join(around.gitDir === null ? at : around.worktree, further);
  }
  return at;
}

/** The same without I/O: a folder, and the command's directory below the top of the worktree around it. */
export function splitAtTop(dir: string): { readonly from: string; readonly below: string | null } {
  const [first = "", ...rest] = dir.split(mark);
  return { from: first || "/", below: rest.at(-1)?.replace(/^\//, "") ?? null };
}
