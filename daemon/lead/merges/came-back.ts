/** Merges that came back and were not read of, as rows show them. */
import type { CameBackColumn, UnreadReturn } from "../../../protocol/lead/team.ts";
import { firstUnread, shortName, unreadBy } from "../../core/lead/merges.ts";
import type { Merge } from "../../core/lead/tables/merges.ts";
import type { State } from "../../core/state.ts";
import type { Session } from "../../core/tables/base-state.ts";
import type { PresenceTable } from "../../sessions/presence.ts";

interface Source {
  readonly engine: { readonly state: State };
  readonly presence: PresenceTable;
}

/** Says who has to read that the merge came back and has not; undefined: nobody has to. */
export function unreadReturn({ engine, presence }: Source, merge: Merge): UnreadReturn | undefined {
  const who = unreadBy(engine.state, merge);
  if (who === undefined) return undefined;
  if (who === null) return { state: "gone" };
  if (presence.pulse(who.id, who.agent)?.active === true) return { state: "active", who };
  const isWoken = who.agent === null && presence.rows.get(who.id)?.woken === true;
  return { state: isWoken ? "woken" : "idle", who };
}

/** Returns the merge as a field of a row; no field if it was read of, or there is none. */
export function cameBackField(source: Source, merge: Merge | undefined): CameBackColumn {
  const unread = merge === undefined ? undefined : unreadReturn(source, merge);
  if (merge === undefined || unread === undefined) return {};
  const { id, branch, base } = merge;
  return { cameBack: { merge: id, branch: shortName(branch), base: shortName(base), unread } };
}

/** The first merge that came back to a session's main agent, and that it has not read of. */
export function cameBackColumn(source: Source, { id }: Session, agent: string | null): CameBackColumn {
  return agent === null ? cameBackField(source, firstUnread(source.engine.state, id)) : {};
}
