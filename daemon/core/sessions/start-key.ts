/** Sort keys of sessions by their start. */
const digits = 11;

export type Start = { readonly begun: number; readonly id: string };

/** Returns the session's key: keys are in the order in which their sessions began. */
export function startKey({ begun, id }: Start): string {
  return `${begun.toString(36).padStart(digits, "0")} ${id}`;
}

/** Returns the id of the session that the key belongs to. */
export function idOfKey(key: string): string {
  return key.slice(digits + 1);
}

/** Returns the session's key among those of a project, or of another group: its start follows the name of the group. */
export function placeKey(group: string, start: Start): string {
  return `${group}\n${startKey(start)}`;
}
