/**
 * Holds that pass from an ancestor to a descendant within one session, and back.
 *
 * Invariants: a path has one holder at any time; an explicit hold that was passed on comes back to its lender when the
 * borrower gives it up or its turn ends, unless the lender gave it up, its turn ended before (where it had borrowed the
 * hold itself), or the connection that the lender's hold is bound to is gone; a turn hold that was passed on is the
 * borrower's for good.
 */
import type { LockRequest } from "../commands.ts";
import type { Origin } from "../origin.ts";
import type { Hold, Loan, State, Token } from "../state.ts";
import { type Heard, noOrigins } from "./heard.ts";
import { addHold, removeHold, setLoan } from "./table.ts";

type Borrower = Pick<LockRequest, "actor" | "kind" | "prompt" | "bound" | "yieldMs" | "ancestors">;

/** Hands an ancestor's hold over; the caller has seen that it may. */
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
    since: state.t,
    touched: state.t,
    renewed: null,
    yieldMs: to.yieldMs,
    flights: [],
    ancestors: to.ancestors,
    loan: lent,
    origin,
    askedAgain: noOrigins,
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
  const { actor, bound, first, since, ancestors, origin, askedAgain, retry } = loan;
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
    origin,
    askedAgain,
    retry,
  };
  addHold(state.locks, back);
  return back;
}

/** Drops those loans of the hold: they do not come back. Returns them. */
export function dropLoans(state: State, hold: Hold, isMeant: (loan: Loan) => boolean): Loan[] {
  const dropped = loansOf(hold).filter(isMeant);
  if (dropped.length > 0) setLoan(state.locks, hold, without(hold.loan, dropped));
  return dropped;
}

/** An answer to this lender was not delivered, though another one was, or may be. */
export function setHeard(state: State, hold: Hold, of: Loan, heard: Heard): void {
  const changed = (loan: Loan | null): Loan | null =>
    loan === null ? null : loan === of ? { ...loan, ...heard } : { ...loan, loan: changed(loan.loan) };
  setLoan(state.locks, hold, changed(hold.loan));
}

/** To whom the hold comes back, the latest lender first. */
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
