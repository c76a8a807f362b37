/** The whole text of a file as a tool sent it, if the event of its write has it. */
export interface SentText {
  /** At most as many UTF-16 units as it has, and what it is made of. */
  readonly chars: number;
  /** Makes the text; null: the event does not have it after all. Pure; never throws. */
  readonly text: () => string | null;
}
