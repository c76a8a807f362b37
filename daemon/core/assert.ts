/**
 * Throws if `condition` is false, which means that a bug broke an invariant. The engine then voids the entry, rebuilds
 * the state without it and reports the message; see `apply`. A fault of a client is a refusal instead.
 */
export function assert(condition: boolean, message: () => string): asserts condition {
  if (!condition) throw new BrokenInvariant(message());
}

/** The error that `assert` throws: a bug in the core. */
class BrokenInvariant extends Error {
  override readonly name = "BrokenInvariant";
}
