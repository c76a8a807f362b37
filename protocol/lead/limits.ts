/** The bounds of what leads agents. */

/** Bounds of what leads agents: a part of `limits`. */
export const leadLimits = {
  // Checks, and telling a worktree's state.
  /** Checks of one project, globs of one check, and UTF-16 units of a check's name and of its command. */
  checksMax: 32,
  checkGlobsMax: 32,
  checkNameChars: 40,
  checkCommandChars: 2_000,
  /** Latest results kept, of all projects together. */
  checkResultsMax: 1_000,
  /** Time of one check before it is killed, by default and at most. */
  checkMs: 600_000,
  checkMaxMs: 6 * 60 * 60 * 1000,
  /** A check that ran too long has this long to end by itself before it is killed. */
  checkGraceMs: 2_000,
  /** After a check's shell has ended, a process that it left behind may write to its output for this long. */
  checkFlushMs: 500,
  /** The end of a check's output that is kept, in bytes, and the lines of it that are shown. */
  checkOutputBytes: 64 * 1024,
  checkLinesShown: 20,
  /**
   * Steps that matching the globs of all checks against the changed files may take, and those in one turn of the event
   * loop (about 1 ms). A check beyond the first bound applies.
   */
  checkGlobSteps: 50_000_000,
  checkGlobTurnSteps: 500_000,
  /** Trusted files, and the longest file of them that is read. */
  trustedFilesMax: 1_000,
  trustedBytes: 1024 * 1024,

  // The state of a worktree.
  /** Work time of telling a worktree's state, its elapsed time, and states told at a time. */
  stateMs: 5_000,
  stateTimeMs: 20_000,
  statesAtOnceMax: 2,
  /** Files of a worktree whose state is told, and of these files those that differ from the commit. */
  stateFilesMax: 100_000,
  stateChangedMax: 5_000,
  /** Bytes of changed files that are hashed; of further ones the stat counts. */
  stateHashBytes: 64 * 1024 * 1024,
  /** Files of a folder whose stats are read at once, and such groups under one budget. */
  stateGroupFilesMax: 200,
  stateGroupsMax: 16,
  /** Submodules and other repositories within each other. */
  stateDepthMax: 4,
  /** Tries to tell a state while git's index changes. */
  stateTriesMax: 3,
  /** Changed files that an answer names, and characters of each one's id. */
  stateFilesNamedMax: 200,
  stateContentChars: 16,
  /** A client waits this long for a worktree's state. */
  stateRequestMs: 30_000,

  // Debates.
  /** Debates of all projects together; a new one drops the oldest closed one, with its verdict. */
  debatesMax: 200,
  /** Debates of one project; a new one drops the project's oldest closed one. More than may be open. */
  debatesPerProjectMax: 20,
  /** Open debates of one project. */
  debatesOpenMax: 10,
  /** Hypotheses of one debate; it has two at least. */
  debateHypothesesMax: 8,
  debateParticipantsMax: 100,
  /** Entries of one debate; the last ones are kept for what it needs to close. */
  debateEntriesMax: 100,
  /** Longest question, claim, entry, or reason of a verdict, in UTF-16 units. */
  debateTextChars: 4_096,

  // Declarations and gates.
  // Declarations.
  /** Longest text of a declaration, in UTF-16 units. */
  declaredTextChars: 2_000,
  planStepsMax: 30,
  /** Files and folders in one code view. */
  declaredFilesMax: 100,
  uncertaintiesMax: 30,
  /** Declarations that hold; the one that was changed longest ago goes to the history. */
  declarationsMax: 10_000,
  /** Longest declaration that other machines get, as JSON: of a longer one, texts and then files are left out. */
  sharedDeclarationChars: 64 * 1024,
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
   * How often an agent that did what the quality gate asked for is held back for one reason that it cannot end.
   * Examples: files change again after each green run; Kite cannot look at the worktree.
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

  // Health.
  /** Without a sign of life for this long an agent in a turn is quiet; and while a tool of its runs. */
  quietMs: 300_000,
  quietToolMs: 1_800_000,
  /** An agent that is quiet for this long is stalled; with a red task, with a critical one. */
  stalledMs: 720_000,
  stalledRedMs: 1_200_000,
  stalledCriticalMs: 1_800_000,
  /** Longest of these settings. */
  healthMaxMs: 7 * 24 * 3_600_000,
  /** The daemon looks at a quiet agent again after this long at most, in milliseconds; a fifth of `quietMs` if that is less. */
  healthLookMs: 60_000,
  /** If a timer of the daemon comes this late, in milliseconds, the machine or the daemon stood still. */
  healthLateMs: 30_000,
  /** As much of the end of a transcript as one look reads. */
  transcriptTailBytes: 256 * 1024,
  /** Lines at the end of a transcript that one look reads. */
  transcriptTailLines: 200,
  /** Threads and children of a client's process that one look reads. */
  processThreadsMax: 256,
  processChildrenMax: 64,
  /** Agents of which one answer tells its reader that they stalled, or came back. */
  healthNotesMax: 5,
  /** Leads that are told of one stalled agent. */
  stalledToldMax: 5,
  /** Tasks and files that the reply of `release` names. */
  releasedNamedMax: 20,
  /** Readers whose last look at a lead's screen a server of tools remembers. */
  leadLooksMax: 200,
  /** How far back the first look, and one at a terminal, shows what is new, in milliseconds. */
  leadNewsMs: 900_000,
  /** Sessions checked for silence, and found lost, in one turn of the event loop; the next ones follow in the next turns. */
  silenceChecksPerTurn: 2_000,
  lostPerTurn: 100,

  // Merges.
  /** Merges kept, of all projects together; a new one drops the oldest that has ended. */
  mergesMax: 1_000,
  /** Merges of one base that wait or run. */
  mergesOpenMax: 100,
  /** Merges of a machine that others see: of those that wait or run, and of those that came back. */
  mergesToldMax: 20,
  /** Branches of one request, branches that one of them waits for, and tasks that one brings back. */
  mergeBranchesMax: 32,
  mergeAfterMax: 32,
  mergeTasksMax: 16,
  /** Longest name of a branch, in UTF-16 units. */
  branchChars: 1_000,
  /** Files that a reason names, and UTF-16 units of its sentence and of the end of a check's output. */
  mergeFilesMax: 20,
  mergeReasonChars: 1_000,
  mergeOutputChars: 2_000,
  /** Tasks that one command reads to find the order of its merges. */
  mergeTasksAskedMax: 10_000,
  /** How long status tells of a branch that came back with nobody there to read so. */
  mergeUnheardMs: 86_400_000,
  /** Times that one merge begins anew because the base has moved. */
  mergeTriesMax: 5,
  /** How long a move of a base waits for the ends of checkouts that have begun. An older lock is left over. */
  mergeCheckoutMs: 10_000,
  mergeCheckoutPollMs: 50,
  mergeStaleLockMs: 60_000,
  /** Elapsed time of one git command that changes something, and of one that only reads. */
  mergeGitMs: 600_000,
  mergeReadMs: 60_000,
  /** Output of one git command: names of files. */
  mergeGitBytes: 64 * 1024 * 1024,
  /** A git command that is asked to end has this long before it is killed. */
  mergeGraceMs: 5_000,

  // Roles and risks.
  /** Agents named that could take a task; and sessions that are looked at for them. */
  takersMax: 5,
  takersScannedMax: 100,
  /** Leads that get a notice of a red or critical task that begins. */
  leadsToldMax: 10,
  /** Programs of one shell line that are looked at for what the role forbids. */
  roleProgramsMax: 20,

  // Spawned agents.
  /** Records of spawned agents in all; a new one drops the oldest that has ended. */
  spawnsMax: 500,
  /** Agents of one project that were spawned and have not ended, if the user's configuration says nothing; and at most. */
  spawnsLiveDefault: 8,
  spawnsLiveMax: 100,
  /** How deep agents may spawn agents, if the user's configuration says nothing; 1: a spawned agent spawns none. */
  spawnDepthDefault: 1,
  spawnDepthMax: 5,
  /** A client whose session has not registered after this has failed to start. */
  spawnRegisterMs: 60_000,
  /** Longest name or role: the name becomes a folder, a branch and a window. */
  spawnWordChars: 40,
  /** The prompt as UTF-8: it is one argument of a program. */
  spawnPromptBytes: 64 * 1024,
  /** As much of the prompt as the record keeps for an agent that takes this one's place, in UTF-16 units. */
  spawnPromptChars: 8_192,
  /** The name of a model, in UTF-16 units. */
  spawnModelChars: 200,
  /** The command line of a program in a window: tmux takes no longer message. */
  spawnTmuxBytes: 15 * 1024,
  /** The end of an agent's output that its record keeps, in UTF-16 units. */
  spawnOutputChars: 4_096,
  /** Why an agent failed, or what else went wrong, in UTF-16 units. */
  spawnReasonChars: 500,
  /** How long a program of the agent's client, of git or of tmux may take, in milliseconds. */
  spawnProgramMs: 45_000,
  /** How long a stopped client has until the end of its session is heard, in milliseconds. */
  spawnStopMs: 10_000,
  /** How long whoever stopped an agent that its client may bring back watches it, in milliseconds: it takes some 20 s. */
  spawnWatchMs: 30_000,
  /** How long a session that begins again has until the prompt of a person who resumed it is heard, in milliseconds. */
  spawnPromptMs: 5_000,
  /** Its output that is kept: the end. */
  spawnProgramBytes: 256 * 1024,
  /** What git may list of one worktree before it is removed. */
  spawnListBytes: 256 * 1024 * 1024,
  /** Size up to which an ignored file of configuration is compared with the main worktree's copy. */
  spawnCopyBytes: 1024 * 1024,
  /** Files and commits that a refusal to remove a worktree names. */
  spawnUnsavedMax: 3,
  /** Clients that the user's configuration adds, and words of the command of one. */
  spawnClientsMax: 20,
  spawnWordsMax: 64,
  spawnWordBytes: 4_096,
  /** How often an agent that stalled is resumed, and how many agents in a row are put in its place. */
  spawnResumesMax: 1,
  spawnReplacementsMax: 2,
  /** How long nobody else may replace an agent that somebody is about to replace, in milliseconds. */
  spawnReplaceMs: 180_000,
  /** Earlier agents of a task that a new one is told of. */
  spawnEarlierMax: 3,

  // Agent clients' own teams.
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
