/** A pending reply. */
export interface Slot {
  readonly rid: string | number | undefined;
  state: "open" | "parked" | "done";
  text: string | null;
  delivered: ((ok: boolean) => void) | null;
}
