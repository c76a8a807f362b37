/** Who is in a client's own teams, by session: `teammates.ts` alone changes it. */
import { sideRows } from "../../sessions/side-table.ts";

/** A member of a team, as its client names it. */
export interface Teammate {
  readonly name: string;
  readonly team: string;
  /** The session that leads it, if it is a session of its own and its client said so. */
  readonly lead?: string;
}

/** A teammate with a session of its own, which may have ended. */
export interface Member {
  readonly session: string;
  /** `died`: its process ended without a word. `ended`: it said so itself. */
  readonly gone?: { readonly how: "died" | "ended"; readonly at: number };
}

/** The teammates among a session's agents by agent id; null is its main agent, which may be a teammate of another session. */
export const teammateRows = sideRows<string | null, Teammate>("teammates", true);

/** Teammates with sessions of their own that a session leads, by name. */
export const memberRows = sideRows<string, Member>("members");
