import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { describe, expect, it } from "vitest";
import type { Outcome } from "./run.ts";

/** A bug put into one file of the program: `find` stands there exactly once. */
interface Planted {
  readonly bug: string;
  readonly file: string;
  readonly find: string;
  readonly put: string;
  /** A further change that the bug needs in the same file. */
  readonly and?: { readonly find: string; readonly put: string };
  readonly host?: "file" | "remote";
  /** Words of a violation that tells this bug. */
  readonly tells: RegExp;
}

const planted: readonly Planted[] = [
  {
    bug: "barging: who comes later is granted past the line",
    file: "daemon/core/locks/blockers.ts",
    find: "if (waiter.ticket < ask.ticket && attached",
    put: "if (waiter.ticket < ask.ticket - 3 && attached",
    tells: /went past|in a cycle|which went to|waits for what is free/,
  },
  {
    bug: "two holders: a turn hold keeps nobody out",
    file: "daemon/core/locks/blockers.ts",
    find: "if (!mine) yield {",
    put: 'if (!mine && (hold.kind !== "turn" || hold.key !== file.key)) yield {',
    tells: /two holders|overlap|is held already|which went to|went past|in a cycle|waits for what is free/,
  },
  {
    bug: "a grant to a closed connection stays",
    file: "daemon/engine/answers.ts",
    find: 'if (pending?.command.type !== "lock_request") return;',
    put: "return;",
    and: { find: "else if (grant !== null) this.undelivered(to.n, grant);", put: "" },
    tells: /stays granted to nobody|is kept, and nobody read it/,
  },
  {
    bug: "a token used again after a restart",
    file: "daemon/journal/epoch.ts",
    find: "const epoch = chain.files.epoch + 1;",
    put: "const epoch = Math.max(1, chain.files.epoch);",
    tells: /epoch|another daemon keeps opening/,
  },
  {
    bug: "tokens that begin anew after a snapshot",
    file: "daemon/core/snapshot.ts",
    find: "state.locks.grants = header.grants;",
    put: "state.locks.grants = 0;",
    tells: /differs from what was lived|reads back as another|token/,
  },
  {
    bug: "a set held in part while it waits",
    file: "daemon/core/locks/request.ts",
    find: "  addWaiter(locks, waiter);",
    put: `  addWaiter(locks, waiter);
  const free = waiter.files.find(f => firstBlocker(locks, { ...ask, files: [f] }) === null);
  if (free !== undefined && waiter.files.length > 1) take(state, { ...request, files: [free] }, meta.origin, step);`,
    tells: /of its set while it waits|waits for a set/,
  },
  {
    bug: "an answer before it is stored",
    file: "daemon/engine/engine.ts",
    find: "    this.#options.journal.propose([proposal],",
    put: `    if (command.type === "lock_release") {
      this.#answers.expect(n, command, { answer: () => {} });
      queueMicrotask(() => caller.answer({ ok: true, released: [] }));
    }
    this.#options.journal.propose([proposal],`,
    tells: /answered before it was stored/,
  },
  {
    bug: "a batch that is not written",
    file: "daemon/journal/file-journal.ts",
    find: 'const outcome = entries.length === 0 ? "stored" : this.#append(segment, text);',
    put: 'const outcome = entries.length !== 3 ? this.#append(segment, text) : "stored";',
    host: "file",
    tells: /were delivered and are lost|gap|Damaged/,
  },
  {
    bug: "a lease that outlives its holder: an ended session keeps its locks",
    file: "daemon/core/sessions/end.ts",
    find: "  releaseSession(state, session.id, null, cause, step);\n",
    put: "",
    tells: /is gone|not alive/,
  },
  {
    bug: "a turn hold whose lease never ends",
    file: "daemon/core/timers.ts",
    find: 'if (hold === null || hold.kind !== "turn") return null;',
    put: "return null;",
    tells: /outlives its lease/,
  },
  {
    bug: "a write in flight that is yielded",
    file: "daemon/core/locks/wait-edges.ts",
    find: 'if (hold.kind !== "turn" || hold.flights.length > 0) return;',
    put: 'if (hold.kind !== "turn") return;',
    tells: /yielded with .* in flight/,
  },
  {
    bug: "an explicit hold that does not come back from a descendant",
    file: "daemon/core/locks/release.ts",
    find: "const back = final ? null : returnHold(state, hold);",
    put: "const back = null;",
    tells: /did not come back/,
  },
  {
    bug: "a voided entry replayed",
    file: "daemon/engine/replay.ts",
    find: "if (voided.has(entry.seq)) {",
    put: "if (voided.size < 0) {",
    host: "file",
    tells: /differs from what was lived|not that of its log|hears of token/,
  },
  {
    bug: "a waiter that is never told that its time is over",
    file: "daemon/core/timers.ts",
    find: "return waiter === undefined || waiter.origin === null ? null : waiter.deadline;",
    put: "return waiter === undefined || waiter.origin === null ? null : waiter.deadline + 600_000;",
    tells: /past its time-out/,
  },
  {
    bug: "a release that forgets who waits",
    file: "daemon/core/locks/wait-graph.ts",
    find: "    this.#freeCount += 1;\n    this.#free.push(waiter.ticket);\n",
    put: "",
    tells: /waits for what is free|is still blocked/,
  },
  {
    bug: "a search for deadlocks that does not see what subagents wait for",
    file: "daemon/core/locks/wait-graph.ts",
    find: "  join(from: ActorLocks, to: ActorLocks, ticket: number): void {",
    put: "  join(from: ActorLocks, to: ActorLocks, ticket: number): void {\n    if (from.actor.agent !== null) return;",
    and: {
      find: "  part(from: ActorLocks, to: ActorLocks, ticket: number): void {",
      put: "  part(from: ActorLocks, to: ActorLocks, ticket: number): void {\n    if (from.actor.agent !== null) return;",
    },
    tells: /waits in a cycle/,
  },
  {
    bug: "a lock that passes to a descendant without a look for cycles",
    file: "daemon/core/locks/wait-graph.ts",
    find: "      this.fresh.add(edge);\n",
    put: "",
    tells: /waits in a cycle/,
  },
  {
    bug: "a task that is acknowledged before it is safe on disk",
    file: "daemon/core/command-traits.ts",
    find: "  task_create: lasting,",
    put: "  task_create: passing,",
    host: "file",
    tells: /was acknowledged (?:as safe )?and is lost/,
  },
  {
    bug: "a task claimed twice",
    file: "daemon/core/tasks/claim.ts",
    find: 'if (status === "active" && (claimerOf(task) !== null || by === null))',
    put: 'if (status === "active" && by === null)',
    tells: /was claimed by .* and then by/,
  },
  {
    bug: "the first match of a prefix is taken",
    file: "daemon/core/tasks/replies.ts",
    find: "if (first !== undefined && matches.length === 1) return",
    put: "if (first !== undefined) return",
    tells: /was taken for/,
  },
  {
    bug: "a task that is done and frees nobody who waited for it",
    file: "daemon/core/tasks/table.ts",
    find: "for (const id of tasks.dependents.get(task.id) ?? []) {",
    put: "for (const id of new Set<string>()) {",
    tells: /was the best|tasks' index/,
  },
  {
    bug: "dependencies that close a cycle",
    file: "daemon/core/tasks/update.ts",
    find: "if (cycle !== null) return cycleRefusal(cycle);",
    put: "",
    tells: /cycle/,
  },
  {
    bug: "a claim that outlives its session",
    file: "daemon/core/sessions/end.ts",
    find: "  endClaims(state, session.id, null, cause, step);\n",
    put: "",
    tells: /is gone|not alive/,
  },
  {
    bug: "a done task that is reopened under those who build on it",
    file: "daemon/core/tasks/update.ts",
    find: 'if (now !== "done") return null;',
    put: "return null;",
    tells: /is active before/,
  },
  {
    bug: "a message that is acknowledged before it is safe on disk",
    file: "daemon/core/command-traits.ts",
    find: "  message_send: lasting,",
    put: "  message_send: passing,",
    host: "file",
    tells: /was acknowledged (?:as safe )?and is lost/,
  },
  {
    bug: "a message shown twice after an interruption",
    file: "daemon/core/messages/inbox.ts",
    find: 'if (isOurs && letter.state === "offered")',
    put: 'if (isOurs && letter.state !== "read")',
    tells: /was shown twice/,
  },
  {
    bug: "a message in two answers at a time",
    file: "daemon/core/messages/delivery.ts",
    find: 'putLetter(messages, message, { ...letter, state: "offered" });',
    put: "",
    tells: /was shown twice/,
  },
  {
    bug: "a message that came back behind later ones",
    file: "daemon/core/messages/table.ts",
    find: 'order.toString(36).padStart(11, "0")',
    put: "order.toString(36)",
    tells: /stands behind a later message|is not in order/,
  },
  {
    bug: "context in memory that outlives its daemon",
    file: "daemon/core/daemon.ts",
    find: "  dropVolatile(state, node, step);\n",
    put: "",
    tells: /outlives its daemon/,
  },
  {
    bug: "durable context that goes with its daemon",
    file: "daemon/core/context.ts",
    find: "if (!item.durable && item.node === node)",
    put: "if (item.node === node)",
    tells: /was acknowledged and is lost/,
  },
  {
    bug: "a version of a key given out again after it was deleted",
    file: "daemon/core/context.ts",
    find: "  context.versions = Math.max(context.versions, item.version);\n",
    put: "",
    tells: /got version/,
  },
  {
    bug: "a lock granted while somebody holds edits of its file",
    file: "daemon/core/messages/freezes.ts",
    find: "  sendWaitersAway(state, waiting, step);\n  return hold;",
    put: "  return hold;",
    tells: /was granted while/,
  },
  {
    bug: "a hold on edits that outlives its session",
    file: "daemon/core/sessions/end.ts",
    find: "  endHoldsOf(state, { session: session.id }, cause, step);\n",
    put: "",
    tells: /is not alive/,
  },
  {
    bug: "work that came after git was asked is forgotten",
    file: "daemon/core/files/dirty-files.ts",
    find: "if (work !== undefined && latestOf(work).seq === seq)",
    put: "if (work !== undefined)",
    tells: /work in .* (?:is of|was never committed)/,
  },
  {
    bug: "a shell command may change what a living one has work in",
    file: "daemon/core/files/dirty-files.ts",
    find: "const other = writers.findLast(w => isAlive(state, w.actor));",
    put: "const other = writers.findLast(w => isAlive(state, w.actor) && w.actor.agent !== null);",
    tells: /bypassed:|work in .* is of/,
  },
  {
    bug: "a note that is forgotten before it was told",
    file: "daemon/core/messages/notices.ts",
    find: "const left = pending.notes.filter(({ n }) => !told.has(n));",
    put: "const left = pending.notes.filter(() => told.size === 0);",
    tells: /is to be told/,
  },
  {
    bug: "a conflict that is told again in the same turn",
    file: "daemon/core/messages/notices.ts",
    find: "const isNew = session !== undefined && !state.notes.conflicts.has(id);",
    put: "const isNew = session !== undefined;",
    tells: /was told again/,
  },
  {
    bug: "a conflict that is kept over the end of a turn",
    file: "daemon/core/locks/release.ts",
    find: "  forgetConflicts(state, request.actor, request.keepPrompt);\n",
    put: "",
    tells: /the conflicts told are|was not told/,
  },
  {
    bug: "notes that stay with an id that is gone",
    file: "daemon/core/sessions/begin.ts",
    find: "  moveNotes(state, before.id, command.session);\n",
    put: "",
    tells: /is to be told/,
  },
  {
    bug: "whoever's work was taken is not told",
    file: "daemon/core/files/work-taken.ts",
    find: "    tellLater(state, writer.actor, note);\n",
    put: "",
    tells: /is to be told/,
  },
  {
    bug: "work of a main agent puts nobody at risk",
    file: "daemon/core/files/merge-risk.ts",
    find: "isAlive(state, w.actor) && !sameActor(w.actor, actor)",
    put: "isAlive(state, w.actor) && w.actor.agent !== null",
    tells: /is not at risk/,
  },
  {
    bug: "a late write that is not remembered",
    file: "daemon/core/locks/release.ts",
    find: "if (cutShort.has(cause)) expireWrites(state, hold);",
    put: "",
    tells: /late writes are known to|a late write is told as nothing/,
  },
  {
    bug: "a late write that nobody but its writer is told of",
    file: "daemon/core/locks/in-flight.ts",
    find: "const holding = holder === null ? null : actorRow(state, holder);",
    put: "const holding = null;",
    tells: /a late write is told as .* of nobody, not as/,
  },
  {
    bug: "a late write that is told though its writer has the file again",
    file: "daemon/core/locks/in-flight.ts",
    find: "if (holder !== null && sameActor(holder, actor)) return;",
    put: "",
    tells: /a late write is told as .*, not as nothing/,
  },
  {
    bug: "a late write that is forgotten over a start",
    file: "daemon/core/snapshot.ts",
    find: "expiredWrites: [...locks.expiredWrites],",
    put: "expiredWrites: [],",
    tells: /what was written late is another after a start|differs from what was lived|not that of its log/,
  },
  {
    bug: "a loan that is forgotten over a start",
    file: "daemon/core/snapshot.ts",
    find: "loan: hold.loan,",
    put: "loan: null,",
    tells: /what is held is another after a start|differs from what was lived/,
  },
  {
    bug: "a lock that outlives the connection it is bound to over a start",
    file: "daemon/core/daemon.ts",
    find: 'step.timers.push({ at, due: { what: "bound_over", key: hold.key, first: first.grant } });',
    put: "",
    tells: /outlives connection/,
  },
  {
    bug: "what is lent by a connection that closed",
    file: "daemon/core/locks/release.ts",
    find: "    disconnectLoans(state, hold, isGone, step);\n",
    put: "",
    tells: /outlives connection/,
  },
  {
    bug: "what is lent by a connection that is gone since a start",
    file: "daemon/core/daemon.ts",
    find: "of [hold, ...loansOf(hold)]) {",
    put: "of [hold]) {",
    tells: /outlives connection/,
  },
  {
    bug: "a refusal that nobody read is kept for a retry",
    file: "daemon/core/retries.ts",
    find: "if (state.replies.get(keyOf(kept))?.reply.ok === false) forgetReply(state, kept, to);",
    put: "",
    tells: /is kept, and nobody read it/,
  },
  {
    bug: "a refusal that a later retry read is forgotten",
    file: "daemon/core/retries.ts",
    find: "if (state.replies.get(keyOf(kept))?.reply.ok === false) forgetReply(state, kept, to);",
    put: "if (state.replies.get(keyOf(kept))?.reply.ok === false) forgetReply(state, kept);",
    tells: /is forgotten, and may have been read/,
  },
  {
    bug: "refusals are kept over a start",
    file: "daemon/core/daemon.ts",
    find: "  forgetRefusals(state, node);\n",
    put: "",
    tells: /is kept, and nobody read it/,
  },
  {
    bug: "who came to have nothing last makes room",
    file: "daemon/core/sessions/room.ts",
    find: "const [first] = idle;",
    put: "const first = [...idle].at(-1);",
    tells: /made room before/,
  },
  {
    bug: "a session with an unread message makes room",
    file: "daemon/core/sessions/room.ts",
    find: "for (const key of messages.bySession.get(id) ?? []) if (countUngot(messages, key) > 0) return false;",
    put: "",
    tells: /made room and had something/,
  },
  {
    bug: "who made room may not come back",
    file: "daemon/core/sessions/end.ts",
    find: "if (!returns) ended.set(session.id, state.t);",
    put: "ended.set(session.id, state.t);",
    tells: /made room and may not come back/,
  },
  {
    bug: "the order in which sessions make room is forgotten over a start",
    file: "daemon/core/snapshot.ts",
    find: "idle: [...state.sessions.idle],",
    put: "idle: [...state.sessions.idle].sort(),",
    tells: /who makes room is another after a start/,
  },
];

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The simulation, built with the bug in it. */
async function simulationWith({
  file,
  find,
  put,
  and,
}: Planted): Promise<typeof import("./run.ts")["runSeed"]> {
  let count = 0;
  const plant: Plugin = {
    name: "plant",
    setup(setup) {
      setup.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        if (!path.endsWith(`/${file}`)) return undefined;
        const text = await readFile(path, "utf8");
        count += text.split(find).length - 1;
        const once = text.replace(find, () => put);
        if (and === undefined) return { contents: once, loader: "ts" };
        const at = once.lastIndexOf(and.find);
        expect(at, `"${and.find}" in ${file}`).toBeGreaterThan(0);
        return { contents: once.slice(0, at) + and.put + once.slice(at + and.find.length), loader: "ts" };
      });
    },
  };
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["tests/simulation/run.ts"],
    bundle: true,
    platform: "node",
    format: "esm",
    write: false,
    plugins: [plant],
    logLevel: "silent",
  });
  expect(count, `"${find}" in ${file}`).toBe(1);
  const [output] = outputFiles;
  if (output === undefined) throw new Error("nothing was built");
  const module: unknown = await import(
    `data:text/javascript;base64,${Buffer.from(output.contents).toString("base64")}`
  );
  return (module as typeof import("./run.ts")).runSeed;
}

// Some take twenty seeds and more, each a second of processor time or two.
describe("a planted bug is caught", { timeout: 300_000 }, () => {
  it.each(planted)("$bug", async bug => {
    const runSeed = await simulationWith(bug);
    let caught: Outcome | null = null;
    for (let seed = 1; seed <= 60 && caught === null; seed += 1) {
      const host = bug.host ?? (seed % 2 === 0 ? "file" : "remote");
      const outcome = await runSeed(seed, 2000, host);
      if (outcome.failure !== null) caught = outcome;
    }
    expect(caught?.failure?.split("\n")[0]).toMatch(bug.tells);
  });
});
