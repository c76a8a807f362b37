/** Bounds of a store that machines share: what it is reached and named by, its nodes, and waits for it; part of `limits`. */
export const storeLimits = {
  /** Longest address of a store. */
  storeAddressBytes: 2_048,
  /** Servers that an address names, of which one takes writes at a time. */
  storeHostsMax: 8,
  /** Longest name of a user or a database: PostgreSQL cuts a longer one. */
  storeNameBytes: 63,
  /** Longest host name, as DNS has it. */
  hostChars: 253,
  /** Longest password of a store: tokens of clouds are long. */
  storeSecretBytes: 8 * 1024,
  /** Longest `.pgpass` that is read. */
  passFileBytes: 256 * 1024,
  /** Longest file of root certificates that is read. */
  rootCertificateBytes: 1024 * 1024,
  /** Longest name by which machines know a project, in UTF-16 units. */
  sharedProjectChars: 200,
  /** Longest configuration of a repository that is read: it has a section for each branch that tracks another one. */
  gitConfigBytes: 1024 * 1024,
  /** How long a person's command waits for a store that is being opened. */
  storeOpenMs: 5_000,
  /** How long sharing a project waits until the store has heard of its sessions. */
  storeShareMs: 10_000,
  /** Longest file of a machine's id. */
  machineIdBytes: 256,
  /** Longest name of a machine that people see, in UTF-16 units. */
  machineNameChars: 32,
  /** Nodes of a shared log. */
  nodesMax: 200,
  /** Interval of a node's renewals of its lease. */
  nodeRenewMs: 20_000,
  /** A node silent this long is shown as away; silent for longer, its sessions are lost. */
  nodeAwayMs: 60_000,
  nodeLostMs: 300_000,
  /** Nodes whose latest starts are remembered; those that have no lease go first. */
  nodeStartsMax: 1_000,
  /** A node that was there within this time has to know a level of rules before it begins. */
  nodeLevelsMs: 86_400_000,
  /** Commands that a node's own log has for the shared one. */
  outboxMax: 50_000,
  /** Of these, commands that say what happened once. */
  outboxOnceMax: 1_000,
  /** Pause before a shared log that ended is opened again. */
  storeReopenMs: 2_000,
  /** Longest pause between two tries of a move to the store that broke off. */
  storeMovePauseMs: 60_000,
  /** How long a stop of the daemon waits for the shared log. */
  storeCloseMs: 2_000,
  /** Answers of the shared log of which a client may still say that it did not get them. */
  storeUnheardMax: 1_000,
  /** How long a request waits for the store before its client hears that the outcome is not known. */
  storeAnswerMs: 4_000,
  /** How long a client repeats a request of which the outcome is not known, and its pause before each. */
  storeRepeatMs: 10_000,
  storeRepeatPauseMs: 300,
  /** Pause between two tellings of all sessions that calls of unknown ones ask for. */
  storeTellMs: 5_000,
  /** Largest copy of a shared store that is kept, and largest record of what a machine left. */
  storeCopyBytes: 64 * 1024 * 1024,
  /**
   * Shortest pause between two copies that a running daemon keeps: what people know after a kill is older by about that. Each one
   * is written as a whole and synced, so a shorter one would keep a laptop's disk awake.
   */
  storeCopyPauseMs: 60_000,
  /** The pause is at least so many times what the last copy took, as it grows with what is in the store. */
  storeCopyShare: 20,
  /** Claims of this machine's agents that are kept for a daemon that is killed, and the largest file of them. */
  keptClaimsMax: 1_000,
  keptClaimsBytes: 4 * 1024 * 1024,
  /** How long people are shown that the store lacks what it had before, and that a leave was undone. */
  storeWentBackMs: 3_600_000,
  /** How often a wait for the store looks again. */
  storeLookMs: 250,
  /** How long the answer to an event waits for the store; what comes later comes with a later event. */
  storeHookMs: 500,
  /** After an answer did not come in that time, how long events do not wait for the store at all. */
  storeHookPauseMs: 10_000,
} as const;
