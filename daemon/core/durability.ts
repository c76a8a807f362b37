/** What must be on disk before its answer, and what a full disk takes: each command's handler stands in one of these kinds. */

export interface Durability {
  /**
   * Whether the engine holds replies and events back until the command is on disk. Sessions and locks need not be: a
   * power cut ends the holders too. `asked`: the command's own `durable` decides.
   */
  readonly durable: boolean | "asked";
  /**
   * Whether the journal accepts the command on a full disk: it frees space, ends a lock or wait that blocks others, or
   * belongs to the daemon's start.
   * These commands are short, so the reserved space lasts for thousands of them. A function decides for each command.
   */
  readonly frees: boolean | ((command: never) => boolean);
}

type Kept<H> = Durability & { readonly apply: H };

export const passing = <H>(apply: H): Kept<H> => ({ apply, durable: false, frees: false });
export const freeing = <H>(apply: H): Kept<H> => ({ apply, durable: false, frees: true });
export const lasting = <H>(apply: H): Kept<H> => ({ apply, durable: true, frees: false });
export const lastingAndFreeingIf = <H>(apply: H, frees: Durability["frees"]): Kept<H> => ({
  apply,
  durable: true,
  frees,
});
export const lastingAndFreeing = <H>(apply: H): Kept<H> => ({ apply, durable: true, frees: true });
