/**
 * Passes locks from an ancestor to a descendant within one session, and returns explicit ones. A command borrows so from
 * its actor, and from the commands that it runs inside.
 *
 * Invariants: a path has one holder at any time. A lent explicit lock returns to its lender when the borrower releases it or
 * ends its turn. It does not return if the lender released it, or the lender's bound connection closed. Nor does it return
 * if the lender had borrowed it and its own turn ended. A passed turn lock stays the borrower's.
 */

import { limits } from "../../../protocol/limits.ts";
import { type Actor, type Origin, originKey, runsInside, sameActor, sameOwner } from "../frame/actors.ts";
import type { BaseState, Hold, Loan, Token } from "../tables/base-state.ts";
import type { LockRequest } from "../tables/locks.ts";
import { addHold, removeHold, setLoan } from "./holds.ts";

// The origins that a grant was answered to: its request, and later requests of the same actor.
//
// Invariants: a grant is undone once all its answers failed; it stays if one was delivered, or still may be.

interface GrantAnswers {
  readonly origin: Origin;
  readonly askedAgain: readonly Origin[];
}

export const noOrigins: readonly Origin[] = [];

/** Returns the origins of the later requests, when the actor asked again and gets its answer at `origin`. */
export function toldAgain(answers: Pick<GrantAnswers, "askedAgain">, origin: Origin): readonly Origin[] {
  return isSettled(answers) ? answers.askedAgain : [...answers.askedAgain, origin];
}

/**
 * Returns the origins without `lost`, whose answer was not delivered. Null: none is left. The same object: `lost` is not
 * among them, or enough answers were sent.
 */
export function withoutAnswer<T extends GrantAnswers>(answers: T, lost: Origin): T | GrantAnswers | null {
  if (isSettled(answers)) return answers;
  const key = originKey(lost);
  const all = [answers.origin, ...answers.askedAgain];
  const [first, ...rest] = all.filter(origin => originKey(origin) !== key);
  if (first === undefined) return null;
  return rest.length === answers.askedAgain.length ? answers : { origin: first, askedAgain: rest };
}

/** Whether so many answers were sent that at least one counts as delivered. */
function isSettled({ askedAgain }: Pick<GrantAnswers, "askedAgain">): boolean {
  return askedAgain.length >= limits.grantAnswersMax;
}

type Borrower = Pick<LockRequest, "actor" | "kind" | "prompt" | "bound" | "yieldMs" | "ancestors">;
type Lender = Pick<LockRequest, "actor" | "bound" | "ancestors"> & {
  readonly retry?: Loan["retry"] | undefined;
};

/** Passes an ancestor's lock to the descendant; the caller has checked that it may. */
export function passHold(state: BaseState, hold: Hold, to: Borrower, token: Token, origin: Origin): Hold {
  removeHold(state.locks, hold);
  const { actor, bound, first, since, ancestors, origin: grantedTo, askedAgain, retry, loan } = hold;
  const own = { actor, bound, first, since, ancestors, origin: grantedTo, askedAgain, retry, loan };
  // It does not leave its actor's hands, so its writes in flight and the lender's token go on.
  const isToCommand = sameActor(actor, to.actor);
  const lent: Loan | null =
    hold.kind !== "explicit" ? loan : isToCommand ? { ...own, token: hold.token } : own;
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
    ...writesOf(hold, isToCommand),
    ancestors: to.ancestors,
    loan: lent,
    origin,
    askedAgain: noOrigins,
    retry: null,
  };
  addHold(state.locks, passed);
  return passed;
}

/**
 * Returns the writes in flight that go along if the lock stays its actor's. Writes that began before the present start of
 * the daemon expire.
 */
function writesOf(hold: Hold, stays: boolean): Pick<Hold, "flights" | "unseen" | "expiredFlights"> {
  const { flights, unseen, expiredFlights } = hold;
  if (!stays) return { flights: [], unseen: undefined, expiredFlights: undefined };
  if (unseen === undefined) return { flights, unseen, expiredFlights };
  return { flights: [], unseen: undefined, expiredFlights: [...(expiredFlights ?? []), ...flights] };
}

/**
 * Returns a borrowed lock to its lender under a new token; the lender's old tokens stay valid. Null if not lent. A lock
 * that did not leave its actor's hands keeps the lender's token.
 */
export function returnHold(state: BaseState, hold: Hold): Hold | null {
  const { loan } = hold;
  if (loan === null) return null;
  const isOfCommand = sameActor(hold.actor, loan.actor);
  if (loan.token === undefined) state.locks.grants += 1;
  const token = loan.token ?? { epoch: state.epoch, grant: state.locks.grants };
  const { actor, bound, first, since, ancestors, origin, askedAgain, retry } = loan;
  const back: Hold = {
    ...hold,
    actor,
    kind: "explicit",
    prompt: null,
    bound,
    token,
    first,
    place: state.locks.grants,
    since,
    touched: state.t,
    renewed: null,
    ...writesOf(hold, isOfCommand),
    ancestors,
    loan: loan.loan,
    origin,
    askedAgain,
    retry,
  };
  addHold(state.locks, back);
  return back;
}

/**
 * Makes the requester a lender of the lock that a command inside it has: the lock comes to it when the command is done.
 * A requester that is one already renews its loan.
 */
export function holdBehind(state: BaseState, hold: Hold, by: Lender, token: Token, origin: Origin): void {
  const { actor, bound, ancestors } = by;
  const put = (loan: Loan | null): Loan => {
    if (loan !== null && runsInside(loan.actor, actor)) return { ...loan, loan: put(loan.loan) };
    if (loan === null || !sameOwner(loan.actor, actor)) {
      const [since, retry] = [state.t, by.retry ?? null];
      const own = { actor, bound, first: token, since, ancestors, origin, askedAgain: noOrigins, retry };
      return { ...own, loan, token };
    }
    const askedAgain = toldAgain(loan, origin);
    return { ...loan, bound, token, askedAgain, retry: by.retry ?? loan.retry };
  };
  setLoan(state.locks, hold, put(hold.loan));
}

/** Returns the actor's loan of the lock, if it is a lender. */
export function loanOf(hold: Hold, lender: Actor): Loan | undefined {
  return loansOf(hold).find(loan => sameOwner(loan.actor, lender));
}

/** Returns the lock or loan, with the loans behind it, as one of another session's main agent and its commands. */
export function movedTo<T extends Pick<Loan, "actor" | "loan">>(part: T, to: Actor): T {
  const { command } = part.actor;
  const actor = command === undefined ? to : { ...to, command };
  return { ...part, actor, loan: part.loan && movedTo(part.loan, to) };
}

/** Drops the loans that `isMeant` selects, so that the lock does not return to their lenders. Returns them. */
export function dropLoans(state: BaseState, hold: Hold, isMeant: (loan: Loan) => boolean): Loan[] {
  const dropped = loansOf(hold).filter(isMeant);
  if (dropped.length === 0) return dropped;
  // Lender and borrower are of one session.
  state.sessions.revisions.changed(hold.actor.session);
  setLoan(state.locks, hold, without(hold.loan, dropped));
  return dropped;
}

/** Replaces the lender's answer origins after one answer was not delivered and another was or may be. */
export function setHeard(state: BaseState, hold: Hold, of: Loan, answers: GrantAnswers): void {
  const changed = (loan: Loan | null): Loan | null =>
    loan === null ? null : loan === of ? { ...loan, ...answers } : { ...loan, loan: changed(loan.loan) };
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
