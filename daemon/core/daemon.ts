/** Commands about the daemon itself: its start, the level of rules, voided entries. Invariant: epochs only rise. */

import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { rulesKnown } from "./base-state.ts";
import type { Commands } from "./commands.ts";
import { countUses, dropVolatile } from "./context.ts";
import { freeing, lastingAndFreeing } from "./durability.ts";
import { detachWaiter } from "./locks/grant.ts";
import { loansOf } from "./locks/inherit.ts";
import { markUnseen } from "./locks/unseen.ts";
import { forgetOffers } from "./messages/inbox.ts";
import { mayRaise } from "./nodes/levels.ts";
import { forgetStarts } from "./nodes/starts.ts";
import { isShared } from "./nodes/table.ts";
import { forgetRefusals, replyUnheard } from "./retries.ts";
import type { Handler, Rules } from "./rules.ts";

/**
 * Begins a new epoch of a node's daemon, whose earlier connections are gone. Its waiters keep their queue positions
 * for `limits.placeMs`, and its bound locks and merges wait `limits.boundGraceMs` for their clients to return. Writes in
 * flight may have ended meanwhile: see `unseen.ts`.
 */
const daemonStarted: Handler<"daemon_started"> = (state, command, meta, step) => {
  const { node } = meta.origin;
  const before = state.nodes.get(node);
  if (before !== undefined && command.epoch <= before.epoch) {
    step.reply = refuse("internal_error", `epoch ${command.epoch} is not after ${before.epoch}`);
    return;
  }
  step.reply = { ok: true };
  if (state.storeId === "") state.storeId = command.storeId;
  // Of two nodes that start at once the later one may stand first in the log.
  state.epoch = Math.max(state.epoch, command.epoch);
  state.nodes.delete(node);
  state.nodes.set(node, { epoch: command.epoch, at: state.t });
  forgetStarts(state);
  if (before === undefined) return;
  dropVolatile(state, node, step);
  forgetOffers(state, node);
  forgetRefusals(state, node);
  for (const waiter of state.locks.waiters.values()) {
    if (waiter.origin === null || waiter.origin.node !== node) continue;
    detachWaiter(state, waiter, limits.placeMs, step);
  }
  const at = state.t + limits.boundGraceMs;
  for (const hold of state.locks.holds.values()) {
    for (const { first, bound } of [hold, ...loansOf(hold)]) {
      if (bound?.node !== node) continue;
      step.timers.push({ at, due: { what: "bound_over", key: hold.key, first: first.grant } });
    }
  }
  for (const { daemonStarts } of state.points) daemonStarts?.(state, node, step);
  if (state.rules >= 2) markUnseen(state, node, step);
};

const rules: Handler<"rules"> = (state, command, meta, step) => {
  const refused = isShared(state) ? mayRaise(state, command.level) : null;
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  if (!rulesKnown.includes(command.level)) throw new Error(`rules level ${command.level} is unknown here`);
  // The start that raises the level has served nobody yet: it saw no write begin.
  if (state.rules < 2 && command.level >= 2) markUnseen(state, meta.origin.node, step);
  const isRaised = state.rules < 2 && command.level >= 2;
  state.rules = command.level;
  if (isRaised) countUses(state, step);
  step.reply = { ok: true };
};

/** Changes nothing: a replay of the log skips the entry that the command names. */
const voidEntry: Handler<"void"> = (_state, _command, _meta, step) => {
  step.reply = { ok: true };
};

export const daemonRules: Rules<Pick<Commands, "daemon_started" | "reply_unheard" | "rules" | "void">> = {
  commands: {
    daemon_started: lastingAndFreeing(daemonStarted),
    reply_unheard: freeing(replyUnheard),
    rules: lastingAndFreeing(rules),
    void: freeing(voidEntry),
  },
};
