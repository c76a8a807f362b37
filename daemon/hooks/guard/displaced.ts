/**
 * Finds the live sessions of others whose worktree a command removes or moves: their folder is gone under them, even if
 * all their work is committed.
 */
import type { ForeignSession, GuardFinding } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { knownWorktrees } from "../../core/sessions/room.ts";
import type { Lineage } from "../../core/tables/naming.ts";
import { idOfKey } from "../../core/tables/sessions.ts";
import { nameOf } from "../../views/sessions-and-locks.ts";
import { taskOf } from "../action.ts";
import type { HookServices } from "../hook-services.ts";
import type { Candidate, Placed } from "./findings.ts";

/** The ids of others' live sessions that work in this worktree or in a repository below it, the oldest of each first. */
export function foreignSessionsIn(
  { engine }: Pick<HookServices, "engine">,
  { actor }: Lineage,
  worktree: string,
): readonly string[] {
  const { worktrees, live } = engine.state.sessions;
  const inside = [...worktrees].filter(([at]) => at === worktree || at.startsWith(`${worktree}/`));
  const ids = inside.flatMap(([, keys]) => [...keys].map(idOfKey));
  return ids.filter(id => id !== actor.session && live.get(id)?.lostAt === null);
}

/** What the commands displace. */
export function displacedCandidates(
  services: HookServices,
  me: Lineage,
  placed: readonly Placed[],
): readonly Candidate[] {
  const known = knownWorktrees(services.engine.state);
  return placed.flatMap(({ n, command, place, base, isSupposed }) => {
    const { displaces, elsewhere } = command;
    const { worktree } = place;
    // Git displaces neither a folder within a worktree nor a repository's first worktree.
    if (displaces === undefined || base !== "" || known.get(worktree) === worktree) return [];
    const ids = foreignSessionsIn(services, me, worktree);
    if (ids.length === 0) return [];
    const shown = ids.slice(0, limits.guardFilesMax);
    const finding: GuardFinding = {
      command: n,
      verdict: isSupposed || elsewhere === null ? "tell_first" : "deny",
      foreign: [],
      own: [],
      sessions: shown.flatMap(id => sessionOf(services, id)),
      more: ids.length - shown.length,
      worktree,
      ...(isSupposed || elsewhere === null ? { isSupposed: true } : {}),
    };
    const versions = ids.map(id => [[n, command.name, worktree, id].join(" "), ""] as const);
    return [{ finding, versions: async () => new Map(versions) }];
  });
}

function sessionOf(services: HookServices, id: string): readonly ForeignSession[] {
  const session = services.engine.state.sessions.live.get(id);
  if (session === undefined) return [];
  const actor = { session: id, agent: null, incarnation: 0 };
  return [{ who: nameOf(services, actor), doing: taskOf(services, actor), worktree: session.worktree }];
}
