/**
 * Holds that pass from an ancestor to a descendant within one session, and back.
 *
 * Invariants: a path has one holder at any time; an explicit hold that was passed on comes back to its lender when the
 * borrower gives it up or its turn ends; a turn hold that was passed on is the borrower's for good.
 */
import { sameActor } from "./actors.ts";
import type { Actor, LockRequest, Origin } from "./entry.ts";
import { lentBy } from "./lock-blockers.ts";
import { addHold, removeHold, setLoan } from "./lock-table.ts";
import type { Hold, Loan, State, Token } from "./state.ts";

type Borrower = Pick<LockRequest, "actor" | "kind" | "prompt" | "bound" | "yieldMs" | "ancestors">;

/** Hands an ancestor's hold over; the caller has seen that it may. */
export function passHold(state: State, hold: Hold, to: Borrower, token: Token, origin: Origin): Hold {
  removeHold(state.locks, hold);
  const { actor, bound, first, since, ancestors, loan } = hold;
  const lent: Loan | null = hold.kind === "explicit" ? { actor, bound, first, since, ancestors, loan } : loan;
  const passed: Hold = {
    ...hold,
    actor: to.actor,
    kind: to.kind,
    prompt: to.prompt,
    bound: to.bound,
    token,
    first: token,
    since: state.t,
    touched: state.t,
    renewed: null,
    yieldMs: to.yieldMs,
    flights: [],
    ancestors: to.ancestors,
    loan: lent,
    origin,
    askedAgain: false,
    retry: null,
  };
  addHold(state.locks, passed);
  return passed;
}

/** Gives a borrowed hold back, under a new token; what the lender was told before stays valid. Null: it was no loan. */
export function returnHold(state: State, hold: Hold): Hold | null {
  const { loan } = hold;
  if (loan === null) return null;
  state.locks.grants += 1;
  const token = { epoch: state.epoch, grant: state.locks.grants };
  const { actor, bound, first, since, ancestors } = loan;
  const back: Hold = {
    ...hold,
    actor,
    kind: "explicit",
    prompt: null,
    bound,
    token,
    first,
    since,
    touched: state.t,
    renewed: null,
    flights: [],
    ancestors,
    loan: loan.loan,
    // The lender heard of its grant long ago.
    askedAgain: true,
    retry: null,
  };
  addHold(state.locks, back);
  return back;
}

/** The lender gives up what a descendant uses: it does not come back. False where nothing of its is lent there. */
export function cancelLoan(state: State, hold: Hold, lender: Actor): boolean {
  if (!lentBy(hold, lender)) return false;
  setLoan(state.locks, hold, without(hold.loan, lender));
  return true;
}

function without(loan: Loan | null, lender: Actor): Loan | null {
  if (loan === null) return null;
  return sameActor(loan.actor, lender) ? loan.loan : { ...loan, loan: without(loan.loan, lender) };
}
