/** Bounds of health: a part of `limits`. */
export const healthLimits = {
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
} as const;
