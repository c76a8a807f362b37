/** The form of a step of `kite install`. */

/** A part of an install: `there` already, `impossible` here, or `open`: it would write something. */
export type Step =
  | { readonly what: string; readonly is: "there" | "impossible"; readonly says: string }
  | {
      readonly what: string;
      readonly is: "open";
      /** What it would write, and where; fit for a terminal. */
      readonly writes: readonly string[];
      /** It only renews what is there: nobody is asked. */
      readonly isThere?: boolean;
      /** It needs a person's own yes, as nothing here shows that it is wanted. */
      readonly isUnsure?: string;
      /** Returns what to say of it. Throws LocalError if it failed. */
      work(): Promise<readonly string[]>;
    };
