/** The daemon's clock. The core reads no clock: it gets the time with each entry. The simulation has its own. */
export interface Clock {
  /** Milliseconds since 1970: wall time at the start, monotonic from then on. */
  now(): number;
  /** Wall time in milliseconds, shown to people; it may jump. */
  wall(): number;
  /** Calls `callback` once when `now()` has reached `at`; the returned function cancels it. */
  at(at: number, callback: () => void): () => void;
}

/** setTimeout counts in 32 bits. A longer wait fires early, and its caller sets it again. */
const timeoutMaxMs = 2 ** 31 - 1;

/** Returns the machine's clock. Its timers do not keep the process alive. */
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

/**
 * Returns the clock as it counts from now on, 0 first. An engine goes on from the latest time in its log (`CoreClock`), so over
 * a log whose time is the store's it goes by that, also where this machine's clock is ahead of it.
 */
export function clockFromZero(clock: Clock): Clock {
  const begun = clock.now();
  return {
    now: () => clock.now() - begun,
    wall: () => clock.wall(),
    at: (at, callback) => clock.at(at + begun, callback),
  };
}
