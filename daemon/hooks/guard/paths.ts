/** The paths that a guarded command names, as paths of this machine. */
import { posix } from "node:path";
import { type GuardedCommand, topFolder } from "../../../protocol/guard.ts";
import type { Services } from "../../services.ts";
import type { ResolvedCommand } from "./alias.ts";
import { withTops } from "./dir.ts";

/** The command with the top of a worktree in place of each `topFolder` in its paths. */
export async function withTopPaths(services: Services, given: ResolvedCommand): Promise<ResolvedCommand> {
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

/**
 * The command with what its absolute paths lead to through symbolic links, if they are not below `top`, the top of its
 * worktree, as they stand. A pattern that may lead there counts as any path.
 */
export async function withRealPaths(
  { facts }: Services,
  command: GuardedCommand,
  top: string,
): Promise<GuardedCommand> {
  const { paths } = command;
  const isBelow = (path: string) => `${posix.normalize(path)}/`.startsWith(`${top}/`);
  const away = (paths ?? []).filter(path => posix.isAbsolute(path) && !isBelow(path));
  const real: string[] = [];
  for (const path of away) {
    const pattern = path.search(/[*?[\\]/);
    const fixed = pattern === -1 ? path : path.slice(0, path.lastIndexOf("/", pattern) + 1);
    const fact = await facts.path("/", fixed);
    if ("unreachable" in fact || (fixed !== path && !isBelow(fact.real))) return { ...command, paths: null };
    real.push(posix.join(fact.real, path.slice(fixed.length)));
  }
  return paths === null || away.length === 0 ? command : { ...command, paths: [...paths, ...real] };
}

/** The same as `withTopPaths` without I/O: a path below the top of a worktree counts as any path. */
export function withoutTopPaths(given: ResolvedCommand): ResolvedCommand {
  const open = new Set(topPaths(given));
  if (open.size === 0) return given;
  const { paths, gitDir, workTree } = given;
  const known = (path: string | null) => (path === null || open.has(path) ? null : path);
  const isAny = paths?.some(path => open.has(path)) ?? true;
  return { ...given, paths: isAny ? null : paths, gitDir: known(gitDir), workTree: known(workTree) };
}

function topPaths({ paths, over = [], gitDir, workTree }: ResolvedCommand): readonly string[] {
  return [...(paths ?? []), ...over, gitDir ?? "", workTree ?? ""].filter(path => path.includes(topFolder));
}
