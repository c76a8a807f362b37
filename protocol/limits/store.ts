/** Bounds of what a shared store is reached and named by; part of `limits`. */
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
  /** Longest file of a machine's id. */
  machineIdBytes: 256,
  /** Longest name of a machine that people see, in UTF-16 units. */
  machineNameChars: 32,
} as const;
