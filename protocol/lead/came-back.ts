/** Merges that came back and were not read of, as rows show them. */

/**
 * Who has to read that a merge came back. `woken`: Kite woke it for that, and it has not begun its turn. `active`: it is in a
 * turn, and reads messages with its next step. `idle`: it reads them when somebody types to it. `gone`: author and leads have
 * ended, or had no room for a message.
 */
export type UnreadReturn =
  | {
      readonly state: "woken" | "active" | "idle";
      readonly who: { readonly id: string; readonly agent: string | null; readonly name: string };
    }
  | { readonly state: "gone" };

/** A merge that came back, in the row of an agent. Branches by their short names. */
export interface CameBackRow {
  readonly merge: string;
  readonly branch: string;
  readonly base: string;
  readonly unread: UnreadReturn;
}

export interface CameBackColumn {
  /** A merge came back, and its main agent has not read the message that says so. */
  readonly cameBack?: CameBackRow;
}
