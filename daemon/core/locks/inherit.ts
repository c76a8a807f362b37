/**
 * Passes locks from an ancestor to a descendant within one session, and returns explicit ones.
 *
 * Invariants: a path has one holder at any time; a lent explicit lock returns to its lender when the borrower
 * releases it or ends its turn; it does not return if the lender released it, the lender's bound connection closed,
 * or the lender had borrowed it and its own turn ended; a passed turn lock stays the borrower's.
 */
import type { LockRequest } from "../commands.ts";
import type { Origin } from "../origin.ts";
import type { Hold, Loan, State, Token } from "../state.ts";
import { type Heard, noOrigins } from "./heard.ts";
import { addHold, removeHold, setLoan } from "./table.ts";

type Borrower = Pick<LockRequest, "actor" | "kind" | "prompt" | "bound" | "yieldMs" | "ancestors">;

/** Passes an ancestor's lock to the descendant; the caller has checked that it may. */
export function passHold(state: State, hold: Hold, to: Borrower, token: Token, origin: Origin): Hold {
  removeHold(state.locks, hold);
  const { actor, bound, first, since, ancestors, origin: grantedTo, askedAgain, retry, loan } = hold;
  const own = { actor, bound, first, since, ancestors, origin: grantedTo, askedAgain, retry, loan };
  const lent: Loan | null = hold.kind === "explicit" ? own : loan;
  const passed: Hold = {
    ...hold,
    actor: to.actor,
    kind: to.kind,
    prompt: to.prompt,
    bound: to.bound,
    token,
    first: token,
    place: token.grant,
    since: state.t,
    touched: state.t,
    renewed: null,
    yieldMs: to.yieldMs,
    flights: [],
    unseen: undefined,
    expiredFlights: undefined,
    ancestors: to.ancestors,
    loan: lent,
    origin,
    askedAgain: noOrigins,
    retry: null,
  };
  addHold(state.locks, passed);
  return passed;
}

/** Returns a borrowed lock to its lender under a new token; the lender's old tokens stay valid. Null if not lent. */
export function returnHold(state: State, hold: Hold): Hold | null {
  const { loan } = hold;
  if (loan === null) return null;
  state.locks.grants += 1;
  const token = { epoch: state.epoch, grant: state.locks.grants };
  const { actor, bound, first, since, ancestors, origin, askedAgain, retry } = loan;
  const back: Hold = {
    ...hold,
    actor,
    kind: "explicit",
    prompt: null,
    bound,
    token,
    first,
    place: token.grant,
    since,
    touched: state.t,
    renewed: null,
    flights: [],
    unseen: undefined,
    expiredFlights: undefined,
    ancestors,
    loan: loan.loan,
    origin,
    askedAgain,
    retry,
  };
  addHold(state.locks, back);
  return back;
}

/** Drops the loans that `isMeant` selects, so that the lock does not return to their lenders. Returns them. */
export function dropLoans(state: State, hold: Hold, isMeant: (loan: Loan) => boolean): Loan[] {
  const dropped = loansOf(hold).filter(isMeant);
  if (dropped.length === 0) return dropped;
  // Lender and borrower are of one session.
  state.sessions.revisions.changed(hold.actor.session);
  setLoan(state.locks, hold, without(hold.loan, dropped));
  return dropped;
}

/** Replaces the lender's answer origins after one answer was not delivered and another was or may be. */
export function setHeard(state: State, hold: Hold, of: Loan, heard: Heard): void {
  const changed = (loan: Loan | null): Loan | null =>
    loan === null ? null : loan === of ? { ...loan, ...heard } : { ...loan, loan: changed(loan.loan) };
  setLoan(state.locks, hold, changed(hold.loan));
}

/** Returns the loans of the lock, the latest lender's first. */
export function loansOf(hold: Pick<Hold, "loan">): Loan[] {
  const loans: Loan[] = [];
  for (let { loan } = hold; loan !== null; loan = loan.loan) loans.push(loan);
  return loans;
}

function without(loan: Loan | null, dropped: readonly Loan[]): Loan | null {
  if (loan === null) return null;
  const rest = without(loan.loan, dropped);
  return dropped.includes(loan) ? rest : { ...loan, loan: rest };
}
