/** The rules of locks: see `core/rules.ts`. */
import { freeing, passing } from "../durability.ts";
import type { TimedRules } from "../rules.ts";
import type { LockCommands, LockDues } from "./commands.ts";
import { flightEnd, leaseRenew } from "./in-flight.ts";
import { lockDetach, lockRelease, lockRevoke, lockUnbind, lockUndelivered, turnEnd } from "./release.ts";
import { lockRequest } from "./request.ts";
import { lockDues, lockTimers } from "./timers.ts";
import { flightUnseen } from "./unseen.ts";

export const lockRules: TimedRules<LockCommands, LockDues> = {
  commands: {
    lock_request: passing(lockRequest),
    lock_detach: freeing(lockDetach),
    lock_undelivered: freeing(lockUndelivered),
    lock_release: freeing(lockRelease),
    lock_revoke: freeing(lockRevoke),
    lock_unbind: freeing(lockUnbind),
    turn_end: freeing(turnEnd),
    flight_end: passing(flightEnd),
    lease_renew: passing(leaseRenew),
    flight_unseen: freeing(flightUnseen),
  },
  timers: lockTimers,
  dues: lockDues,
};
