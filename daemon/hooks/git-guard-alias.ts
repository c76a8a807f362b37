/** What the line's names that git does not have come to: git's configuration says which command an alias stands for. */
import type { GuardedCommand } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import type { Services } from "../services.ts";
import type { ActionOf } from "./action.ts";

/** A command, or why what is behind its name could not be looked at: then it may do anything. */
export type Given = GuardedCommand & { readonly unknown?: string };

/** In their order; an alias may lead to further ones. */
export async function aliasedBy(
  { facts }: Services,
  { aliases }: Pick<ActionOf<"guard">, "aliases">,
): Promise<readonly Given[]> {
  const all: Given[] = [];
  const left = [...aliases];
  for (let n = 0; n < limits.guardedCommandsMax; n += 1) {
    const next = left.shift();
    if (next === undefined) break;
    const { name, dir, gitDir, workTree } = next;
    if (dir === null) continue;
    // A child that is started on a mount that hangs would keep the whole daemon waiting.
    const here = await facts.path("/", dir);
    const text = "unreachable" in here ? here : await facts.alias(name, dir, gitDir);
    if (typeof text === "string") {
      all.push(...next.commandsOf(text));
      left.unshift(...(next.aliasesOf?.(text) ?? []));
    } else if (text !== null) {
      all.push({ ...anything(name), dir, gitDir, workTree, unknown: text.unreachable });
    }
  }
  return all;
}

/** What a name stands for that could not be looked at. */
function anything(name: string): Omit<GuardedCommand, "dir" | "gitDir" | "workTree"> {
  return { name: `git ${name}`, reach: "tree", commits: true, paths: null, untracked: true };
}
