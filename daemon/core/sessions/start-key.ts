/** Sort keys of sessions by their start. */
const digits = 11;

/** Returns the session's key: keys are in the order in which their sessions began. */
export function startKey({ begun, id }: { readonly begun: number; readonly id: string }): string {
  return `${begun.toString(36).padStart(digits, "0")} ${id}`;
}

/** Returns the id of the session that the key belongs to. */
export function idOfKey(key: string): string {
  return key.slice(digits + 1);
}
