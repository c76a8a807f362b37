/** What a snapshot has of sessions. */
import type { Anchor } from "../actor.ts";
import { formList, head, pairList } from "../rows.ts";
import type { NameSource } from "./name-source.ts";
import { addSession, type Ended, type Session, type Sessions } from "./table.ts";

type StoredSession = Omit<Session, "agents" | "endedAgents" | "namedBy"> & {
  /** Absent: the client, in snapshots from before sources of names. */
  readonly namedBy?: NameSource;
  readonly agents?: readonly (readonly [string, string])[];
  /** Absent: none, as under rules level 1. */
  readonly endedAgents?: readonly (readonly [string, string])[];
};

/** Without processes where these are not known. */
type StoredEnd = readonly [id: string, at: number, anchors?: readonly Anchor[]];

export const sessionRows = {
  head: head(
    (sessions: Sessions) => ({ ended: [...sessions.ended].map(plainEnd) }),
    (sessions, { ended }) => {
      for (const [id, at, anchors = null] of ended) sessions.ended.set(id, { at, anchors });
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

function plainEnd([id, { at, anchors }]: readonly [string, Ended]): StoredEnd {
  return anchors === null ? [id, at] : [id, at, anchors];
}

function plainSession({ endedAgents, ...session }: Session): StoredSession {
  const plain = { ...session, agents: [...session.agents] };
  return endedAgents.size === 0 ? plain : { ...plain, endedAgents: [...endedAgents] };
}
