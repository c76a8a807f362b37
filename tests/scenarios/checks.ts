/** Checks in a transcript: `check_record test exit=1 commit=c1 dirty=d1`, `checks commit=c1 dirty=d1`. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { checkStatuses } from "../../daemon/core/lead/checks.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { Words } from "./tasks.ts";

/** The command that such a line stands for, or null where it is about something else. */
export function checkCommand(actor: Actor, verb: string, { plain, named }: Words): Command | null {
  if (verb !== "check_record") return null;
  return {
    type: "check_record",
    actor,
    project: "/p",
    worktree: named.get("worktree") ?? "/p",
    name: plain[0] ?? "",
    command: named.get("command") ?? "npm",
    exit: Number(named.get("exit") ?? 0),
    ranMs: 1000,
    commit: named.get("commit") ?? null,
    dirty: named.get("dirty") ?? "",
    files: 0,
    wallMs: 0,
  };
}

/** The status of some checks in a present state, a line each. */
export function shownChecks(
  state: State,
  names: readonly string[],
  named: ReadonlyMap<string, string>,
): string[] {
  const wanted = names.map(name => ({ name, command: named.get("command") ?? "npm" }));
  const present = { commit: named.get("commit") ?? null, dirty: named.get("dirty") ?? null };
  const place = { project: "/p", worktree: named.get("worktree") ?? "/p" };
  return [...checkStatuses(state, place, wanted, present)].map(([name, status]) => `${name} is ${status}`);
}
