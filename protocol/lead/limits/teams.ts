/** Bounds of agent clients' own teams; part of `limits`. */
export const teamLimits = {
  /** Teammates with sessions of their own that one lead's session keeps, ended ones included. */
  teamMembersMax: 64,
  /** Longest file of a team, and of a task, that the daemon reads. */
  teamFileBytes: 256 * 1024,
  teamTaskBytes: 64 * 1024,
  /** Descriptions of tasks in one row of a team, all together, in UTF-16 units. */
  teamRowChars: 50_000,
  /** Problems in one row of a team. */
  teamProblemsMax: 50,
  /** Tasks of one list that the daemon reads for one question. */
  teamTasksMax: 300,
  /** Inboxes of one team that the daemon reads. */
  teamInboxesMax: 64,
  /** Dependencies of one task that the daemon reads. */
  teamDependenciesMax: 100,
  /** How often the daemon looks again for what its client is just writing or telling, and how long it waits in between. */
  teamReadsMax: 5,
  teamReadAgainMs: 60,
  /** How long a claim counts that passed and is not in its file yet. */
  teamClaimMs: 5_000,
  /** Claims, sessions and processes that the daemon remembers for teams. */
  teamFactsMax: 10_000,
  /** Sessions that one turn of the event loop looks at for teams. */
  teamSessionsPerTurn: 500,
  /** Teams that one query reads. */
  teamsShownMax: 50,
  /** Tasks and members that one sentence names. */
  teamNamedMax: 5,
  /** Bytes of a process's arguments and of its environment that the daemon reads. */
  processWordsBytes: 256 * 1024,
} as const;
