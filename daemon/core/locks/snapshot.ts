/** What a snapshot has of locks and waiters. */
import type { Hold, Locks, Waiter } from "../base-state.ts";
import { formList, head } from "../rows.ts";
import { addHold, addWaiter } from "./table.ts";

type PlainHold = Omit<Hold, "row" | "placeInRow" | "place"> & {
  /** Absent: that of its first token. */
  readonly place?: number | undefined;
};
type PlainWaiter = Omit<Waiter, "row" | "blockers">;

export const lockRows = {
  head: head(
    ({ grants, expiredWrites }: Locks) => ({ grants, expiredWrites: [...expiredWrites] }),
    (locks, { grants, expiredWrites }) => {
      locks.grants = grants;
      for (const [flight, write] of expiredWrites) locks.expiredWrites.set(flight, write);
    },
  ),
  lists: {
    holds: formList(
      (locks: Locks) => locks.holds,
      plainHold,
      (locks, hold) => addHold(locks, holdOf(hold)),
    ),
    waiters: formList(
      (locks: Locks) => locks.waiters,
      plainWaiter,
      (locks, waiter) => addWaiter(locks, { ...waiter, row: null, blockers: null }),
    ),
  },
};

/** Copies the fields in a fixed order, whatever created the object. Naming each is by far the fastest way to copy. */
function plainHold(hold: Hold): PlainHold {
  return {
    key: hold.key,
    path: hold.path,
    file: hold.file,
    lexical: hold.lexical,
    dir: hold.dir,
    actor: hold.actor,
    kind: hold.kind,
    prompt: hold.prompt,
    bound: hold.bound,
    token: hold.token,
    first: hold.first,
    place: hold.place === hold.first.grant ? undefined : hold.place,
    since: hold.since,
    touched: hold.touched,
    renewed: hold.renewed,
    yieldMs: hold.yieldMs,
    flights: hold.flights,
    unseen: hold.unseen,
    expiredFlights: hold.expiredFlights,
    ancestors: hold.ancestors,
    loan: hold.loan,
    origin: hold.origin,
    askedAgain: hold.askedAgain,
    retry: hold.retry,
  };
}

/** Returns a lock as it was written; `addHold` puts it in its row. */
function holdOf(plain: PlainHold): Hold {
  return {
    key: plain.key,
    path: plain.path,
    file: plain.file,
    lexical: plain.lexical,
    dir: plain.dir,
    actor: plain.actor,
    kind: plain.kind,
    prompt: plain.prompt,
    bound: plain.bound,
    token: plain.token,
    first: plain.first,
    place: plain.place ?? plain.first.grant,
    since: plain.since,
    touched: plain.touched,
    renewed: plain.renewed,
    yieldMs: plain.yieldMs,
    flights: plain.flights,
    unseen: plain.unseen,
    expiredFlights: plain.expiredFlights,
    ancestors: plain.ancestors,
    loan: plain.loan,
    origin: plain.origin,
    askedAgain: plain.askedAgain,
    retry: plain.retry,
    row: null,
    placeInRow: 0,
  };
}

function plainWaiter(waiter: Waiter): PlainWaiter {
  return {
    ticket: waiter.ticket,
    origin: waiter.origin,
    actor: waiter.actor,
    files: waiter.files,
    single: waiter.single,
    kind: waiter.kind,
    prompt: waiter.prompt,
    flight: waiter.flight,
    untoldMs: waiter.untoldMs,
    beside: waiter.beside,
    yieldMs: waiter.yieldMs,
    ancestors: waiter.ancestors,
    bound: waiter.bound,
    placeMs: waiter.placeMs,
    detach: waiter.detach,
    progress: waiter.progress,
    since: waiter.since,
    waitMs: waiter.waitMs,
    deadline: waiter.deadline,
    waitEnd: waiter.waitEnd,
    retry: waiter.retry,
  };
}
