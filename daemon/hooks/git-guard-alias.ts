/** Resolves names that git does not have: git's configuration says which command an alias stands for. */
import type { GuardedCommand } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import type { Services } from "../services.ts";
import type { ActionOf } from "./action.ts";
import { withTops } from "./git-guard-dir.ts";

/** A command. If its alias could not be resolved, `unknown` says why, and the command may do anything. */
export type Given = GuardedCommand & { readonly unknown?: string };

/** The commands that the aliases stand for, in order. An alias may lead to further ones. */
export async function aliasedBy(
  services: Services,
  { aliases, cwd }: Pick<ActionOf<"guard">, "aliases" | "cwd">,
): Promise<readonly Given[]> {
  const { facts } = services;
  const all: Given[] = [];
  const left = [...aliases];
  for (let n = 0; n < limits.guardedCommandsMax; n += 1) {
    const next = left.shift();
    if (next === undefined) break;
    const { name, dir, isBelow, gitDir, workTree } = next;
    // If the directory is not known, the configuration of the line's directory may be the one that counts.
    const from = dir === null || isBelow ? cwd : await withTops(services, dir);
    const text =
      typeof from === "string" ? await textOf(facts, name, from, dir === null ? null : gitDir) : from;
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

async function textOf(facts: Services["facts"], name: string, dir: string, gitDir: string | null) {
  // Starting a child on a mount that hangs would block the whole daemon.
  const here = await facts.path("/", dir);
  return "unreachable" in here ? here : facts.alias(name, dir, gitDir);
}

/** The command for an alias that could not be resolved: it may reach anything. */
function anything(name: string): Omit<GuardedCommand, "dir" | "isBelow" | "gitDir" | "workTree"> {
  return { name: `git ${name}`, reach: "tree", commits: true, paths: null, untracked: true };
}
