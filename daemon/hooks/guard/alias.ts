/** Resolves names that git does not have: git's configuration says which command an alias stands for. */
import type { AliasedUse, GuardedCommand, ShellUse, ShellUses } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Unreachable } from "../../facts/filesystem.ts";
import type { Services } from "../../services.ts";
import type { ActionOf } from "../action.ts";
import { withTops } from "./dir.ts";

/** A command. If its alias could not be resolved, `unknown` says why, and the command may do anything. */
export type ResolvedCommand = GuardedCommand & { readonly unknown?: string };

/** The commands that the aliases stand for, in order. An alias may lead to further ones. */
export async function aliasedBy(
  services: Services,
  { aliases, cwd }: Pick<ActionOf<"guard">, "aliases" | "cwd">,
): Promise<readonly ResolvedCommand[]> {
  const all: ResolvedCommand[] = [];
  const left = [...aliases];
  for (let n = 0; n < limits.guardedCommandsMax; n += 1) {
    const next = left.shift();
    if (next === undefined) break;
    const { name, dir, isBelow, gitDir, workTree } = next;
    const text = await textOf(
      services,
      { name, dir: isBelow ? null : dir, gitDir: dir === null ? null : gitDir },
      cwd,
    );
    if (typeof text === "string") {
      all.push(...next.commandsOf(text));
      left.unshift(...(next.aliasesOf?.(text) ?? []));
    } else if (text !== null) {
      const where = { dir, ...(isBelow ? { isBelow } : {}), gitDir, workTree };
      all.push({ ...anything(name), ...where, unknown: text.unreachable });
    }
  }
  return all;
}

/** What a shell line does that a role may forbid, with what its aliases do. An alias that could not be resolved passes. */
export async function usesWithAliases(
  services: Services,
  asked: ShellUses,
  cwd: string,
): Promise<ShellUse[]> {
  const all = [...asked.uses];
  const left = [...asked.aliases];
  for (let n = 0; n < limits.roleProgramsMax; n += 1) {
    const next = left.shift();
    if (next === undefined) break;
    const text = await textOf(services, next, cwd);
    if (typeof text !== "string") continue;
    const found = next.usesOf(text);
    all.push(...found.uses);
    left.unshift(...found.aliases);
  }
  return all;
}

/** Returns the text of an alias; null: git's configuration has none. */
async function textOf(
  services: Services,
  { name, dir, gitDir }: Pick<AliasedUse, "name" | "dir" | "gitDir">,
  cwd: string,
): Promise<string | null | Unreachable> {
  const { facts } = services;
  // If the directory is not known, the configuration of the line's directory may be the one that counts.
  const from = dir === null ? cwd : await withTops(services, dir);
  if (typeof from !== "string") return from;
  // Starting a child on a mount that hangs would block the whole daemon.
  const here = await facts.path("/", from);
  if ("unreachable" in here) return here;
  const git = gitDir === null ? null : await withTops(services, gitDir);
  return git === null || typeof git === "string" ? facts.alias(name, from, git) : git;
}

/** The command for an alias that could not be resolved: it may reach anything. */
function anything(name: string): Omit<GuardedCommand, "dir" | "isBelow" | "gitDir" | "workTree"> {
  return { name: `git ${name}`, reach: "tree", commits: true, paths: null, untracked: true };
}
