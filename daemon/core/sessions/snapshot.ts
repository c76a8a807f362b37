/** What a snapshot has of sessions. */
import { formList, head, pairList } from "../rows.ts";
import type { NameSource } from "./name-source.ts";
import { addSession, type Session, type Sessions } from "./table.ts";

type StoredSession = Omit<Session, "agents" | "endedAgents" | "namedBy"> & {
  /** Absent: the client, in snapshots from before sources of names. */
  readonly namedBy?: NameSource;
  readonly agents?: readonly (readonly [string, string])[];
  /** Absent: none, as under rules level 1. */
  readonly endedAgents?: readonly (readonly [string, string])[];
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
  const { namedBy = "client", agents, endedAgents } = session;
  addSession(sessions, {
    ...session,
    namedBy,
    agents: new Map(agents),
    endedAgents: new Map(endedAgents),
  });
}

function plainSession({ endedAgents, ...session }: Session): StoredSession {
  const plain = { ...session, agents: [...session.agents] };
  return endedAgents.size === 0 ? plain : { ...plain, endedAgents: [...endedAgents] };
}
