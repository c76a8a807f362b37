/** Time for the shell; the core is told it. A simulation brings its own. */
export interface Clock {
  /** Milliseconds since 1970, by wall time at the start and monotonic from then on. */
  now(): number;
  /** Wall time in milliseconds, to be shown to people; may jump. */
  wall(): number;
  /** Calls back once when `now()` has reached `at`; the returned function calls it off. */
  at(at: number, callback: () => void): () => void;
}

/** setTimeout counts in 32 bits; longer waits are cut and asked again. */
const timeoutMaxMs = 2 ** 31 - 1;

/** The machine's own clock. Its timers do not keep the process alive. */
export function systemClock(): Clock {
  const offset = Date.now() - performance.now();
  const now = () => Math.floor(offset + performance.now());
  return {
    now,
    wall: () => Date.now(),
    at(at, callback) {
      const ms = Math.min(Math.max(0, at - now()), timeoutMaxMs);
      const timer = setTimeout(callback, ms);
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
}
