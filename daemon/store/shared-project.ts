/**
 * The name by which the machines that share a store know a project. It is the one in the project's `.kite/config.json`, else
 * the address of the remote `origin` as `host/path`. Any agent may write both, so a person confirms the first joining of
 * each name.
 */
import { limits } from "../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "../facts/filesystem.ts";
import type { Prober } from "../facts/prober.ts";
import type { GitFacts, Repository } from "../facts/repositories.ts";
import { type OriginSearch, originIn } from "./git-config.ts";
import { originName } from "./origin-address.ts";

/** `why`: a sentence for people why the project stays on this machine, and how to name it. */
export type SharedProject =
  | { readonly name: string; readonly from: "setting" | "origin" }
  | { readonly name: null; readonly why: string };

export interface ProjectReader {
  readonly outside: BudgetedFs;
  readonly git: Pick<GitFacts, "commonDirOf">;
}

/**
 * Returns the shared name of a project. `setting` is what its rules have as `sections.project`. Reads the configuration that
 * all worktrees of the repository have in common, and starts no program.
 */
export async function sharedProject(
  reader: ProjectReader,
  { project, gitDir }: Pick<Repository, "project" | "gitDir">,
  setting: string | null,
): Promise<SharedProject | Unreachable> {
  if (setting !== null) return { name: setting, from: "setting" };
  if (gitDir === null) return unnamed(project, "it is no repository of git");
  const common = await reader.git.commonDirOf(gitDir);
  if (typeof common !== "string") return common;
  const origin = await readOrigin(reader.outside, `${common}/config`);
  if ("unreachable" in origin) return origin;
  if (origin.is === "none") return unnamed(project, "its repository has no remote called origin");
  if (origin.is === "damaged") return unnamed(project, `${common}/config is damaged, or too long`);
  const found = originName(origin.address);
  if ("why" in found) return unnamed(project, `the address of its remote origin ${found.why}`);
  return { name: found.name, from: "origin" };
}

function readOrigin(outside: BudgetedFs, path: string): Promise<OriginSearch | Unreachable> {
  const read = async (prober: Prober, at: string): Promise<OriginSearch> => {
    const text = await prober.readSmall(at, limits.gitConfigBytes);
    return text === null ? { is: "damaged" } : originIn(text);
  };
  return outside.fact(
    async budget =>
      // The file may be a link to a mount that hangs.
      (await outside.look(path, null, budget, read, { maybeElsewhere: true })) ?? { is: "none" },
  );
}

function unnamed(project: string, because: string): SharedProject {
  const file = `${project === "/" ? "" : project}/.kite/config.json`;
  const why = `${project} has no name that other machines know: ${because}; name it in ${file}: {"project": "NAME"}`;
  return { name: null, why };
}
