/** Bugs in what nodes tell of their sessions, and what the simulation of two logs has to say of each. */
import type { Planted } from "../planted.ts";

export const plantedInNodes: readonly Planted[] = [
  {
    bug: "a row of an outbox is applied as often as it comes",
    file: "daemon/core/apply.ts",
    find: "if (lease === undefined || !isAfter(number, lease.relayed)) return;",
    put: "if (lease === undefined) return;",
    tells: /lives in the shared log alone|and shared as|is not in the shared log/,
  },
  {
    bug: "a row of an outbox passes one that was lost",
    file: "daemon/core/apply.ts",
    find: "if (after !== undefined && isAfter(after, lease.relayed)) {",
    put: "if (after !== undefined && after.n < 0) {",
    tells: /lives in the shared log alone|and shared as|is not in the shared log/,
  },
  {
    bug: "a daemon that was replaced still speaks",
    file: "daemon/core/nodes/authority.ts",
    find: "if (lease !== undefined && epoch < lease.epoch) {",
    put: "if (lease !== undefined && epoch < 0) {",
    tells: /start \d+ of . speaks after/,
  },
  {
    bug: "a start does not tell again what a power cut took back",
    file: "daemon/core/outbox/publish.ts",
    find: "if (session.id !== ending) publishOf(state, session, true);",
    put: "if (session.id !== ending) publishOf(state, session, false);",
    tells: /and shared as|is not in the shared log/,
  },
  {
    bug: "a start does not say which sessions there are",
    file: "daemon/core/outbox/publish.ts",
    find: "outboxRecords.put(outbox, { number: nextNumber(state), key: null, command: all });",
    put: "void all;",
    tells: /lives in the shared log alone/,
  },
  {
    bug: "numbers of an outbox begin with 1 at each start",
    file: "daemon/core/outbox/publish.ts",
    find: "{ epoch: Math.max(start.at, epoch) + start.epoch, n: 1 };",
    put: "{ epoch: 1, n: 1 };",
    tells: /lives in the shared log alone|and shared as|is not in the shared log|did not tell how/,
  },
  {
    bug: "one terminal's end is told of neither",
    file: "daemon/core/outbox/publish.ts",
    find: 'for (const told of known.values()) withdraw(state, told, "ended");',
    put: "",
    tells: /which is not alive or not shared/,
  },
  {
    bug: "agents are told of before their session",
    file: "daemon/core/outbox/publish.ts",
    find: "if (row !== undefined) say(state, row.key, row.command);",
    put: "void row;",
    tells: /has the agents/,
  },
  {
    bug: "a start does not say which agents there are",
    file: "daemon/core/nodes/leases.ts",
    find: "else if (agents !== null) {",
    put: "else if (agents !== null && agents.size < 0) {",
    tells: /has the agents/,
  },
  {
    bug: "what a row says of roles is not taken",
    file: "daemon/core/apply.ts",
    find: "takeTraits(state, command, step);",
    put: "void takeTraits;",
    tells: /has the roles/,
  },
  {
    bug: "a home that was put back gives its numbers anew",
    file: "daemon/core/outbox/publish.ts",
    find: "{ epoch: Math.max(start.at, epoch) + start.epoch, n: 1 };",
    put: "{ epoch: start.epoch, n: 1 };",
    tells: /lives in the shared log alone|and shared as|is not in the shared log|has the agents|wrong place/,
  },
  {
    bug: "an ended session still claims",
    file: "daemon/core/nodes/authority.ts",
    find: "const ended = speakersOf(command).find(id => !state.sessions.live.has(id));",
    put: "const ended = speakersOf(command).find(() => false);",
    tells: /has ended, and claims a task/,
  },
];
