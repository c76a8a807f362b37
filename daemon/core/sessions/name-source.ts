/** Names of sessions, and who chose them. */

/**
 * Who chose a name: a person; the client by `register`; the client by the title that it shows, which may change; Kite, if
 * nobody said one.
 */
export type NameSource = "person" | "client" | "title" | "kite";

export interface Named {
  readonly name: string;
  readonly by: NameSource;
}

/** The name of an ended session, for its return. */
export interface KeptName extends Named {
  readonly project: string;
}
