/** Bounds of declarations and gates; part of `limits`. */
export const gateLimits = {
  // Declarations.
  /** Longest text of a declaration, in UTF-16 units. */
  declaredTextChars: 2_000,
  planStepsMax: 30,
  /** Files and folders in one code view. */
  declaredFilesMax: 100,
  uncertaintiesMax: 30,
  /** Declarations that hold; the one that was changed longest ago goes to the history. */
  declarationsMax: 10_000,
  /** Declarations of agents that ended or began anew; the oldest is forgotten. */
  declarationsEndedMax: 1_000,
  /** Overlaps that one declaration reports. */
  overlapsMax: 20,
  /** Declared files of others that one step looks at for overlaps. */
  overlapsLookedAtMax: 1_000,

  // What an agent is told at its start.
  /** All of it, in UTF-16 units. */
  startChars: 1_500,
  /** Tasks that were finished lately, and how long ago that may be, in milliseconds. */
  startTasksMax: 3,
  startTasksMs: 86_400_000,
  /** Keys of shared context, and files of one agent, that are named. */
  startKeysMax: 10,
  startFilesMax: 4,
  /** What a prompt tells of changes among the others, in UTF-16 units. */
  changesChars: 700,
  /** Sessions whose nearness is compared, and sessions whose changes a prompt tells. */
  nearSessionsMax: 200,
  /** The effort of looking at these, as of so many bytes of a long reply (`turnBytes`): two looks a turn. */
  peersEffort: 32 * 1024,
  /** Files of each kind (declared, changed, touched) by which a session's nearness is judged. */
  nearFilesMax: 100,
  /** Locks of one agent, its latest, among which those are looked for that it keeps until its work is done. */
  keptLooksMax: 1_000,

  // Gates.
  /** Agents whose latest failed call, or whose latest findings of gates, the daemon remembers. */
  gatedActorsMax: 10_000,
  /** Warnings of gates that the daemon remembers of one agent. */
  gateWarningsMax: 100,
  /** Longest piece of a failed call's error, in UTF-16 units. */
  failureChars: 300,
  /** How often in a row an agent that stops on a failed call is sent on. */
  sentOnMax: 2,
  /**
   * How often an agent that did what the quality gate asked for is held back for one reason that it cannot end: files
   * change again after each green run, or the worktree cannot be looked at.
   */
  completionRefusalsMax: 3,
  /** States and green runs of checks that are compared with the present one, and files of them all. */
  comparedStatesMax: 200,
  comparedFilesMax: 50_000,
  /** Files of others, changed after a green run, that an agent is told by name. */
  overtakenFilesMax: 5,
  /** Agents that a lead is told it may delegate to. */
  delegatesMax: 5,

  // Task lists of agent clients.
  /** Lists that the daemon knows; the one that began longest ago is forgotten. */
  clientListsMax: 100,
  /** Tasks that the daemon knows of one list; the oldest is forgotten. */
  clientTasksPerListMax: 500,
  /** Sessions that count as reporting one list. */
  clientListSessionsMax: 100,
  /** Longest piece of a client's task that is kept, in UTF-16 units. */
  clientSubjectChars: 200,
  /** Agents whose ended turn the daemon remembers. */
  clientTurnsMax: 10_000,
} as const;
