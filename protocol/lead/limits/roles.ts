/** Bounds of roles and risks: a part of `limits`. */
export const roleLimits = {
  /** Agents named that could take a task; and sessions that are looked at for them. */
  takersMax: 5,
  takersScannedMax: 100,
  /** Leads that get a notice of a red or critical task that begins. */
  leadsToldMax: 10,
  /** Programs of one shell line that are looked at for what the role forbids. */
  roleProgramsMax: 20,
} as const;
