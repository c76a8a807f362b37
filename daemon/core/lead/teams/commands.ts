/** The log's command for a client's own teams. */

/** The client named an agent as a teammate; with `agent: null` the session itself is one. */
export interface TeammateNamed {
  readonly session: string;
  readonly agent: string | null;
  readonly name: string;
  readonly team: string;
  /** The session that leads it, if it is a session of its own and its client said so. */
  readonly lead?: string;
}

/** This command by name. */
export interface TeamCommands {
  teammate_named: TeammateNamed;
}
