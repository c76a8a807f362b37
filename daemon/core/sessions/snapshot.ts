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

interface Own {
  readonly sessions: Sessions;
}

export const sessionRows = {
  head: head(
    ({ sessions }: Own) => ({ ended: [...sessions.ended] }),
    ({ sessions }, { ended }) => {
      for (const [id, at] of ended) sessions.ended.set(id, at);
    },
  ),
  lists: {
    sessions: formList(
      ({ sessions }: Own) => sessions.live,
      plainSession,
      ({ sessions }, session) => {
        const { agents, teammates, roles, members } = session;
        addSession(sessions, {
          ...session,
          namedBy: session.namedBy ?? "client",
          agents: new Map(agents),
          teammates: new Map(teammates),
          roles: new Map(roles),
          members: new Map(members),
        });
      },
    ),
    keptNames: pairList(
      ({ sessions }: Own) => sessions.keptNames,
      ({ sessions }, [id, kept]) => sessions.keptNames.set(id, kept),
    ),
    idle: {
      write: ({ sessions }: Own) => [...sessions.idle],
      read: ({ sessions }: Own, id: string) => sessions.idle.add(id),
    },
  },
};

function plainSession({ roles, members, ...session }: Session): StoredSession {
  return {
    ...session,
    agents: [...session.agents],
    teammates: [...session.teammates],
    ...(roles.size === 0 ? {} : { roles: [...roles] }),
    ...(members.size === 0 ? {} : { members: [...members] }),
  };
}
