/** Bounds of finding out who calls; part of `limits`. */
export const callerLimits = {
  /** How long `kite doctor` goes on asking a daemon whose process lives, before it calls it silent. */
  patienceMs: 30_000,
  /** Longest time that a command asks for its caller. */
  whoamiMs: 5_000,
  /** Length kept of a running shell line, in UTF-16 units. */
  typedChars: 4_096,
  /** Processes between an agent's client and its command that are looked at. */
  shellsMax: 16,
  /** Longest piece of such a process's command line, in UTF-16 units without quotes and blanks. */
  shellChars: 32_768,
  /** Processes above a command that are looked at for an agent's client: more than any terminal has. */
  ancestorsMax: 64,
  /** Latest tool uses whose actors are kept. */
  toolUsesMax: 1_000,
} as const;
