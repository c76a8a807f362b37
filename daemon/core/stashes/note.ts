/**
 * Notes who made stash entries, and tells their makers who took them.
 * Invariant: a session hears only of its own entries, and never of one that it took itself.
 */
import type { Actor } from "../actor.ts";
import type { BaseState } from "../base-state.ts";
import type { Commands } from "../commands.ts";
import { passing } from "../durability.ts";
import { actorRow } from "../locks/replies.ts";
import { tellLater } from "../messages/notices.ts";
import type { Handler, Rules } from "../rules.ts";
import { isAlive } from "../sessions/kinship.ts";
import { addStash, type StashEntry, stashKey } from "./table.ts";

const stashesNoted: Handler<"stashes_noted"> = (state, command, meta, step) => {
  step.reply = { ok: true };
  const { actor, project, made, gone, takenBy, wallMs } = command;
  const { entries } = state.stashes;
  const taken = new Map<string, string[]>();
  for (const commit of gone) {
    const entry = entries.get(stashKey({ project, commit }));
    if (entry === undefined) continue;
    entries.delete(stashKey(entry));
    const { session } = entry.actor;
    if (!isOwnStash(state, actor, entry)) taken.set(session, [...(taken.get(session) ?? []), commit]);
  }
  const { name } = actorRow(state, actor);
  for (const [session, commits] of taken) {
    if (takenBy === null) break;
    const shown = commits.slice(0, state.limits.stashesShownMax);
    const more = commits.length - shown.length;
    const note = { what: "stash_taken", commits: shown, more, other: name, command: takenBy } as const;
    // A session's agents share their entries, and the one that made it may have ended.
    tellLater(state, { session, agent: null }, note);
  }
  for (const commit of made) {
    if (entries.has(stashKey({ project, commit }))) continue;
    addStash(state.stashes, { project, commit, actor, name, wallMs, seq: meta.seq });
  }
};

/** Whether the entry is the actor's session's own. Of two terminals that have the session open, each has its own. */
export function isOwnStash(
  state: BaseState,
  actor: Actor,
  { actor: maker }: Pick<StashEntry, "actor">,
): boolean {
  if (actor.session !== maker.session) return false;
  return actor.incarnation === maker.incarnation || !isAlive(state, maker);
}

export const stashRules: Rules<Pick<Commands, "stashes_noted">> = {
  commands: { stashes_noted: passing(stashesNoted) },
};
