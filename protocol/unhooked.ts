/** Sessions of agents whose clients have no hooks of Kite: they ask by tools alone, and nothing holds their edits back. */

/** Returns the id of such a session; `unique` is 8 hex digits. The server of its tools registers it. */
export function unhookedSession(unique: string): string {
  return `mcp-${unique}`;
}

/** Whether a session's id is one of these. */
export function isUnhooked(session: string): boolean {
  return /^mcp-[0-9a-f]{8}$/.test(session);
}
