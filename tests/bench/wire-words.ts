/** The session that the n-th connection of a measurement speaks for. */
export function sessionId(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
}
