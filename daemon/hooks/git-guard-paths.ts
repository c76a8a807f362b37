/** The paths that a guarded command names, as paths of this machine. */
import { topFolder } from "../../protocol/guard.ts";
import type { Services } from "../services.ts";
import type { Given } from "./git-guard-alias.ts";
import { withTops } from "./git-guard-dir.ts";

/** The command with the top of a worktree in place of each `topFolder` in its paths. */
export async function withTopPaths(services: Services, given: Given): Promise<Given> {
  const tops = new Map<string, string>();
  for (const path of topPaths(given)) {
    const found = await withTops(services, path);
    if (typeof found !== "string") return { ...withoutTopPaths(given), unknown: found.unreachable };
    tops.set(path, found);
  }
  if (tops.size === 0) return given;
  const { paths, over, gitDir, workTree } = given;
  const named = (path: string) => tops.get(path) ?? path;
  return {
    ...given,
    gitDir: gitDir && named(gitDir),
    workTree: workTree && named(workTree),
    paths: paths?.map(named) ?? null,
    ...(over === undefined ? {} : { over: over.map(named) }),
  };
}

/** The same without I/O: a path below the top of a worktree counts as any path. */
export function withoutTopPaths(given: Given): Given {
  const open = new Set(topPaths(given));
  if (open.size === 0) return given;
  const { paths, gitDir, workTree } = given;
  const known = (path: string | null) => (path === null || open.has(path) ? null : path);
  const isAny = paths?.some(path => open.has(path)) ?? true;
  return { ...given, paths: isAny ? null : paths, gitDir: known(gitDir), workTree: known(workTree) };
}

function topPaths({ paths, over = [], gitDir, workTree }: Given): readonly string[] {
  return [...(paths ?? []), ...over, gitDir ?? "", workTree ?? ""].filter(path => path.includes(topFolder));
}
