/** Bugs that histories of daemons over one store have to find. */
import type { Change } from "./build.ts";

export interface PlantedInStore extends Change {
  readonly bug: string;
  /** Words of a fault that tells this bug. */
  readonly tells: RegExp;
}

export const plantedInStore: readonly PlantedInStore[] = [
  {
    bug: "a task that somebody claims is claimed once more",
    file: "daemon/core/tasks/claim.ts",
    find: 'if (status === "active" && (claimerOf(task) !== null || by === null))',
    put: 'if (status === "active" && by === null)',
    tells: /fits no order|was acknowledged, and the log has/,
  },
  {
    bug: "compare-and-set takes a version of before",
    file: "daemon/core/messages/context.ts",
    find: "if (ifVersion === null || ifVersion === version) return null;",
    put: "if (ifVersion === null || ifVersion <= version) return null;",
    tells: /fits no order|was acknowledged, and the log has/,
  },
  {
    bug: "a reply is kept for all machines' senders of one name",
    file: "daemon/core/tables/base-state.ts",
    find: "return { ...retry, by: `",
    put: "return node.length > 0 ? retry : { ...retry, by: `",
    tells: /was acknowledged, and the log has|was told|was refused/,
  },
  {
    bug: "an append whose answer is lost counts as not stored",
    file: "daemon/journal/postgres/appends.ts",
    find: "return isSent || isUnsure;",
    put: "return isSent && isUnsure;",
    tells: /was refused as not stored, and is entry/,
  },
  {
    bug: "an entry of a debate has the number of the one before",
    file: "daemon/core/lead/debates.ts",
    find: "step.reply = { ok: true, debate: debate.id, entry: next.entries.length };",
    put: "step.reply = { ok: true, debate: debate.id, entry: debate.entries.length };",
    tells: /was told entry|at another place|debate .* fits no order/,
  },
  {
    bug: "the sessions of a silent machine are never lost",
    file: "daemon/core/nodes/leases.ts",
    find: "if (lease !== undefined) losesSessions(state, lease, step);",
    put: "void losesSessions; void lease; void step;",
    tells: /another state|the sessions elsewhere of machine/,
  },
  {
    bug: "a value of context has no end",
    file: "daemon/core/messages/context.ts",
    find: "const endsAt = command.ttlMs === null ? null : state.t + command.ttlMs;",
    put: "const endsAt = null as number | null;",
    tells: /shows a value that has ended|another state/,
  },
  {
    bug: "a timer is as late as the log's clock went ahead",
    file: "daemon/engine/clock.ts",
    find: "aheadMs < this.#armedAheadMs + lateMs",
    put: "aheadMs >= 0",
    tells: /the log keeps .*, which has ended/,
  },
  {
    bug: "messages of a shared project are looked for in the store alone",
    file: "daemon/sharing/two-logs.ts",
    find: "return messages.filter(id => !isIn(own, id, key) || isIn(state.messages, id, sharedKey));",
    put: "return [...messages];",
    tells: /an early message to .* is gone/,
  },
  {
    bug: "what a session says goes ahead of its row after an outage",
    file: "daemon/sharing/shared-store.ts",
    find: "return this.#waits.until(() => this.#opening?.relay.isSending !== false, limits.storeAnswerMs);",
    put: "return true;",
    tells: /was refused: .*unknown_session/,
  },
  {
    bug: "a machine that leaves does not say so",
    file: "daemon/sharing/shared-store.ts",
    find: 'await opening.engine.submitAndWait({ type: "node_leave" })',
    put: "({ ok: true } as const)",
    tells: /left, and the log has its sessions/,
  },
  {
    bug: "what an append brought back passes what is missing before it",
    file: "daemon/journal/postgres/delivery.ts",
    find: "stored[0]?.entry.seq !== this.#position.seq + 1",
    put: "(stored[0]?.entry.seq ?? 0) <= this.#position.seq",
    tells:
      /heard nothing|threw in a daemon|ended by itself|another state|was acknowledged|fits no order|was told|is not shared/,
  },
  {
    bug: "other machines hear nothing of files that were struck off",
    file: "daemon/core/work/declare.ts",
    find: "  tellNodes(state, after);",
    put: "  if (after.files.length >= before.files.length) tellNodes(state, after);",
    tells: /shows of .* which declared/,
  },
  {
    bug: "a start tells nothing of what agents declared",
    file: "daemon/core/outbox/publish.ts",
    find: "if (isAnew || !wasTold || known.size > 0) sayParts(state, session.id, id);",
    put: "if (!wasTold || known.size > 0) sayParts(state, session.id, id);",
    tells: /shows of .* which declared/,
  },
  {
    bug: "an overlap that is over is told to other machines",
    file: "daemon/core/work/declared-elsewhere.ts",
    find: "takeBackOverlaps(state, known, struck, known.project === after.project ? after.files : []);",
    put: "void takeBackOverlaps;",
    tells: /which was struck off before/,
  },
  {
    bug: "agents of two machines overlap for the later one alone",
    file: "daemon/core/work/overlaps.ts",
    find: "tellLater(state, other, { what, file: own.path, other: by.name, will: own.will });",
    put: 'if (mine.project.startsWith("/")) tellLater(state, other, { what, file: own.path, other: by.name, will: own.will });',
    tells: /was not told of .* which overlaps/,
  },
];
