/** What a feature says of each of its requests: a table of these rows. A row without a part does not compile. */
import type { z } from "zod";

export interface RequestRow {
  /** The schema of its parameters. */
  readonly params: z.ZodType;
  /** The type of its success reply; see `reply`. */
  readonly reply: object;
  readonly traits: RequestTraits;
}

export type RequestTable = Readonly<Record<string, RequestRow>>;

export interface RequestTraits {
  /** Whether a second run changes nothing more, so that a client may repeat it without a `requestId`. */
  readonly repeatable: boolean;
  /** Whether the daemon answers it even when file descriptors run short: hooks, diagnosis and shutdown. */
  readonly always: boolean;
}

export const once = { repeatable: false, always: false } as const satisfies RequestTraits;
export const repeatable = { repeatable: true, always: false } as const satisfies RequestTraits;
export const always = { repeatable: true, always: true } as const satisfies RequestTraits;

/** Names the type of a success reply; only the compiler uses it. */
export function reply<R extends object>(none?: R): R {
  return none as R;
}
