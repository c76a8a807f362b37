/**
 * What one event's tool was granted, until it is known whether the tool runs. A shell line has several actions: the first may
 * give it its files, and a later one may stop it. Then the trail has one denial, and no edit or command that was let through.
 */

/** Writes the trail's line of a grant; `runs`: whether its tool does. */
type Note = (runs: boolean) => void;

/** The lines that wait. A plain list: nearly no tool has one. */
export type Grants = Note[];

/** Writes the lines. Who stops a tool does so before it releases what the tool was granted: the trail tells both in order. */
export function settleGrants(grants: Grants, runs: boolean): void {
  for (const note of grants.splice(0)) note(runs);
}
