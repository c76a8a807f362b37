/** Bounds of spawned agents; part of `limits`. */
export const spawnLimits = {
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
} as const;
