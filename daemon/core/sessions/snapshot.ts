/** What a snapshot has of sessions. */
import { formList, head, pairList } from "../slice.ts";
import type { NameSource } from "./name-source.ts";
import {
  addSession,
  type GivenRole,
  type Member,
  type Session,
  type Sessions,
  type Teammate,
} from "./table.ts";

type StoredSession = Omit<Session, "agents" | "teammates" | "roles" | "members" | "namedBy"> & {
  /** Absent: the client, in snapshots from before sources of names. */
  readonly namedBy?: NameSource;
  readonly agents?: readonly (readonly [string, string])[];
  readonly teammates?: readonly (readonly [string | null, Teammate])[];
  /** Absent: nobody gave any. */
  readonly roles?: readonly (readonly [string | null, GivenRole])[];
  /** Absent: it leads no other session. */
  readonly members?: readonly (readonly [string, Member])[];
};

export const sessionRows = {
  head: head(
    (sessions: Sessions) => ({ ended: [...sessions.ended] }),
    (sessions, { ended }) => {
      for (const [id, at] of ended) sessions.ended.set(id, at);
    },
  ),
  lists: {
    sessions: formList((sessions: Sessions) => sessions.live, plainSession, readSession),
    keptNames: pairList(
      ({ keptNames }: Sessions) => keptNames,
      ({ keptNames }, [id, kept]) => keptNames.set(id, kept),
    ),
    idle: {
      write: (sessions: Sessions) => [...sessions.idle],
      read: (sessions: Sessions, id: string) => sessions.idle.add(id),
    },
  },
};

function readSession(sessions: Sessions, session: StoredSession): void {
  const { agents, teammates, roles, members } = session;
  addSession(sessions, {
    ...session,
    namedBy: session.namedBy ?? "client",
    agents: new Map(agents),
    teammates: new Map(teammates),
    roles: new Map(roles),
    members: new Map(members),
  });
}

function plainSession({ roles, members, ...session }: Session): StoredSession {
  return {
    ...session,
    agents: [...session.agents],
    teammates: [...session.teammates],
    ...(roles.size === 0 ? {} : { roles: [...roles] }),
    ...(members.size === 0 ? {} : { members: [...members] }),
  };
}
