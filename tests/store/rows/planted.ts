/** Bugs of the modules that share a project as rows. Each is found by histories, or by the case that it names. */
import type { Change } from "../build.ts";
import {
  answeredBeforeTheLock,
  answerLost,
  backUnasked,
  cameAlone,
  ended,
  givenOutOnce,
  goneUnasked,
  guarded,
  quietForLong,
  repeatedAtANewStart,
  restoredInPieces,
  silentWithTheLock,
  writtenByHand,
  writtenPast,
  writtenToTheSame,
} from "./cases.ts";
import type { SmallWorld } from "./small-world.ts";

export interface PlantedInRows extends Change {
  readonly bug: string;
  /** Words of a fault that tells this bug. */
  readonly tells: RegExp;
  /** The case that fails with it; absent: histories find it. */
  readonly case?: (world: SmallWorld) => Promise<void>;
}

const project = "daemon/store/project.ts";
const copy = "daemon/store/copy.ts";
const rows = "daemon/store/rows.ts";
const roster = "daemon/store/roster.ts";
const schema = "daemon/store/schema.ts";
const store = "daemon/store/store.ts";

/** Bugs of a step: what is locked, guarded, taken back and answered. */
const ofSteps: readonly PlantedInRows[] = [
  {
    bug: "a step that was worked out stays in the copy",
    file: copy,
    find: '    this.#put(changes, "before", this.#before);\n',
    put: "",
    tells: /the store as|failed|was created|happened then|is not there|was not so|was set on|was refused/,
  },
  {
    bug: "a step that the store refused counts as written",
    file: project,
    find: "    if (!isWritten) {",
    put: "    if (false) {",
    tells: /the store as|happened then|is not there|was not so|fits no order|has the version|was done at/,
  },
  {
    bug: "answers are not kept",
    file: project,
    find: "    const kept = this.#kept.get(id);\n",
    put: '    const kept = this.#kept.get("");\n',
    tells:
      /was created \d times|was sent \d times|was opened twice|fits no order|was set on|has it at|was refused|was not so|two answers/,
  },
  {
    bug: "answers of a commit of which nothing was known are not kept",
    file: project,
    find: "      if (replies !== null) this.#keep(replies, Number(at));\n",
    put: "",
    tells:
      /was created \d times|was sent \d times|was opened twice|fits no order|was set on|has it at|was refused|was not so/,
  },
  {
    bug: "answers of before a start are not read",
    file: project,
    find: "    if (!this.#hasReadKept) await this.#readKept(connection);\n",
    put: "",
    tells: /to match object/,
    case: repeatedAtANewStart,
  },
  {
    bug: "an unknown outcome counts as not done",
    file: project,
    find: 'const isUnknown = meaningOf(error) === "unsure";',
    put: "const isUnknown = false;",
    tells: /store_away/,
    case: answerLost,
  },
  {
    bug: "a request whose outcome is unknown is refused as not done when the store goes away",
    file: project,
    find: "      if (!waiting.isUnknown) this.#settle(waiting, { reply: refusal, version: null });",
    put: "      this.#settle(waiting, { reply: refusal, version: null });",
    tells: /store_away/,
    case: answerLost,
  },
  {
    bug: "a request whose outcome is unknown is refused as not done when it is late",
    file: project,
    find: "reply: waiting.isUnknown ? unknown : late,",
    put: "reply: late,",
    tells: /store_away/,
    case: answerLost,
  },
  {
    bug: "a request that was answered as not done is done in its step",
    file: project,
    find: "        if (waiting.isOver) continue;\n",
    put: "",
    tells: /late/,
    case: answeredBeforeTheLock,
  },
  {
    bug: "a refusal is answered from the copy",
    file: project,
    find: "      if (batch.length > 0) return false;\n",
    put: "",
    tells: /was not so|fits no order|was refused: unknown/,
  },
  {
    bug: "an answer leaves before the commit",
    file: project,
    find: "    for (const waiting of plan.replies.keys()) waiting.isUnknown = true;",
    put: "    for (const [waiting, { reply }] of plan.replies) this.#settle(waiting, { reply, version: reply.ok ? this.#copy.version + 1 : null });",
    tells: /is not there|was done at|happened then|the copy of|is lost|fits no order|was not sent once/,
  },
  {
    bug: "a request that waits twice in one step is done twice",
    file: project,
    find: "        if (done.reply.ok) answered.set(",
    put: "        if (false) answered.set(",
    tells: /two answers|was created \d times|was sent \d times|fits no order|was opened twice|has it at/,
  },
  {
    bug: "a kept answer speaks of the store's project",
    file: project,
    find: "const reply = inward(JSON.parse(kept.reply), this.names) as Reply;",
    put: "const reply = JSON.parse(kept.reply) as Reply;",
    tells: /names the project|two answers/,
  },
  {
    bug: "the store takes a step from another version",
    file: schema,
    find: "WHERE id = p_project AND version = p_version AND stamp = p_stamp",
    put: "WHERE id = p_project AND stamp = p_stamp",
    tells: /version [-+] 1/,
    case: guarded,
  },
  {
    bug: "the store takes a step of another stamp",
    file: schema,
    find: "WHERE id = p_project AND version = p_version AND stamp = p_stamp",
    put: "WHERE id = p_project AND version = p_version",
    tells: /another/,
    case: guarded,
  },
  {
    bug: "the store takes a step of a program of another format",
    file: schema,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source code in a string
    find: '\n          AND (SELECT number FROM ${table("format")}) = ${format};',
    put: ";",
    tells: /a later format/,
    case: guarded,
  },
  {
    bug: "a machine that has the lock and hears nothing keeps it",
    file: project,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source code in a string
    find: "SET LOCAL idle_in_transaction_session_timeout = ${stepMs}; ",
    put: "",
    tells: /ok/,
    case: silentWithTheLock,
  },
];

/** Bugs of the copy: what it reads, and what it makes of it. */
const ofCopies: readonly PlantedInRows[] = [
  {
    bug: "rows of one step are left out",
    file: project,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source code in a string
    find: "AND version > ${known} LIMIT ${limits.storeBehindMax + 1}",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source code in a string
    put: "AND version > ${known + 1} LIMIT ${limits.storeBehindMax + 1}",
    tells: /the store as|failed|was refused|was not so|was claimed at/,
  },
  {
    bug: "rows that are gone are not read",
    file: project,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source code in a string
    find: "AND version > ${known} LIMIT ${limits.storeBehindMax + 1}",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source code in a string
    put: "AND version > ${known} AND value IS NOT NULL LIMIT ${limits.storeBehindMax + 1}",
    tells: /the store as undefined/,
  },
  {
    bug: "which tasks are blocked is not counted anew",
    file: rows,
    find: "  for (const id of counted) {",
    put: "  for (const id of [] as string[]) {",
    tells: /breaks an invariant|was not so|is active before|failed/,
  },
  {
    bug: "a session that came back counts as ended",
    file: rows,
    find: "        table.ended.delete(id);\n",
    put: "",
    tells: /session_ended|breaks an invariant/,
  },
  {
    bug: "the counters are not read with the rows",
    file: copy,
    find: "    if (counters !== null) takeHead(this.state, counters, this.names);\n",
    put: "",
    tells: /breaks an invariant|was refused|the store as|failed|is lost|is not there|was sent \d times/,
  },
  {
    bug: "a letter on its way is stored as read",
    file: rows,
    find: 'return state === "unread" || state === "offered" ? "unread" : "read";',
    put: 'return state === "unread" ? "unread" : "read";',
    tells: /reached nobody/,
  },
  {
    bug: "what a step did to a letter on its way is not kept",
    file: copy,
    find: "      if (own.length > 0) kind.take(this.state, own as never, true);",
    put: '      if (own.length > 0) kind.take(this.state, own as never, side === "before");',
    tells: /AssertionError/,
    case: givenOutOnce,
  },
  {
    bug: "what others did is not told",
    file: project,
    find: "      if (told.length > 0 || hasParts) this.#options.onEvents(told, replies !== null);\n",
    put: "",
    tells: /was told of \d+ events of \d+/,
  },
  {
    bug: "what a machine did itself is not told to it",
    file: project,
    find: "    if (plan.events.length > 0) this.#options.onEvents(plan.events, true);\n",
    put: "",
    tells: /was told of \d+ events of \d+/,
  },
  {
    bug: "a store that was restored and written past goes on from the copy",
    file: project,
    find: "stamp === own.stamp : known === own.stamp;",
    put: "stamp === own.stamp : true;",
    tells: /lost|the store as/,
    case: writtenPast,
  },
  {
    bug: "a store that was restored and written to the same version is the one that the copy has",
    file: project,
    find: "stamp === own.stamp : known === own.stamp;",
    put: "true : known === own.stamp;",
    tells: /lost|the store as/,
    case: writtenToTheSame,
  },
  {
    bug: "a project is added to tables that have no rows yet",
    file: project,
    find: "ON CONFLICT (name) DO NOTHING",
    put: "ON CONFLICT DO NOTHING",
    tells: /pg_restore|before/,
    case: restoredInPieces,
  },
  {
    bug: "the last step goes with the old ones",
    file: store,
    find: "ORDER BY k.version LIMIT 1), p.version)`",
    put: "ORDER BY k.version LIMIT 1), p.version + 1)`",
    tells: /reloads/,
    case: quietForLong,
  },
  {
    bug: "a row of another form is taken",
    file: rows,
    find: "      if (!schema.safeParse(found).success) return null;\n",
    put: "",
    tells: /./,
    case: writtenByHand,
  },
  {
    bug: "rows that name what is not there are taken",
    file: copy,
    find: "    this.#dropUnfit(this.fill(again.length === 0 ? rows : [...again, ...rows]));",
    put: "    this.fill(again.length === 0 ? rows : [...again, ...rows]);",
    tells: /./,
    case: writtenByHand,
  },
];

/** Bugs of time. */
const ofTime: readonly PlantedInRows[] = [
  {
    bug: "a value that ends in time stays until somebody writes",
    file: project,
    find: "    this.#due = this.#copy.due(this.#store.nowMs);\n",
    put: "",
    tells: /which has ended/,
  },
  {
    bug: "the time of a step is its machine's",
    file: project,
    find: "this.#plan(batch, behind.gone, behind.nowMs)",
    put: "this.#plan(batch, behind.gone, Date.now())",
    tells: /ahead of the store's/,
  },
  {
    bug: "the store's time goes on by a clock that people set",
    file: store,
    find: "    this.#clock = { saidMs: nowMs, atMs: performance.now() };",
    put: "    const wall = Date.now();\n    const atMs = () => performance.now() - (Date.now() - wall);\n    this.#clock = { saidMs: nowMs, get atMs() { return atMs(); } };",
    tells: /ahead of the store's/,
  },
  {
    bug: "who is gone has ended when somebody writes",
    file: project,
    find: "if (this.#due.length === 0 && !gone.some(isHere)) return;",
    put: "if (this.#due.length === 0) return;",
    tells: /at last it was/,
    case: goneUnasked,
  },
  {
    bug: "a machine that others ended begins anew when it is asked for something",
    file: project,
    find: '    if (rows.some(([kind, key]) => kind === "sessions" && key.endsWith(own))) this.#mustStep = true;\n',
    put: "",
    tells: /at last it was/,
    case: backUnasked,
  },
];

/** Bugs of who is there, and of what things are called. */
const ofPeople: readonly PlantedInRows[] = [
  {
    bug: "sessions that come and go are not looked at again",
    file: project,
    find: "    this.#presence += 1;\n    this.#mustStep = true;\n",
    put: "    this.#mustStep = true;\n",
    tells: /which is there/,
    case: cameAlone,
  },
  {
    bug: "who is there counts as written before the commit",
    file: project,
    find: "    return { ...copy.end(), replies, events, told, presence: this.#presence };",
    put: "    this.#compared = this.#presence;\n    return { ...copy.end(), replies, events, told, presence: this.#presence };",
    tells: /which is there/,
    case: cameAlone,
  },
  {
    bug: "a machine that shares a project no more stays in it",
    file: project,
    find: "    this.#isOver = true;\n    this.presentChanged();\n",
    put: "    this.#isOver = true;\n",
    tells: /at last it was/,
    case: ended,
  },
  {
    bug: "a session of an id that ended goes on",
    file: roster,
    find: "    if (isThere(id)) continue;",
    put: "    if (there.has(id)) continue;",
    tells: /of a session that ended/,
  },
  {
    bug: "agents within a session are not told of",
    file: roster,
    find: 'apply(copy.apply({ type: "agent_begin", session, agent, name }));',
    put: "void name;",
    tells: /with the agents/,
  },
  {
    bug: "a terminal that opens is not told of",
    file: roster,
    find: "    setIncarnations(copy.state.sessions, known, [...known.incarnations, ...fresh]);\n",
    put: "    void fresh;\n",
    tells: /with the terminals/,
  },
  {
    bug: "a terminal that closes is not told of",
    file: roster,
    find: '      apply(copy.apply({ type: "session_end", session, incarnation, cause: "ended" }));\n',
    put: "      void incarnation;\n",
    tells: /with the terminals/,
  },
  {
    bug: "a path of the machine leaves it",
    file: rows,
    find: "project: name => (name === names.project ? names.shared : name),",
    put: "project: name => name,",
    tells: /has a path of a machine/,
  },
  {
    bug: "a machine's sessions have no machine",
    file: rows,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source code in a string
    find: 'session: id => (id.includes("@") ? id : `${id}@${node}`),',
    put: "session: id => id,",
    tells: /which is there|which has ended|the store as|happened then|given to it/,
  },
];

export const plantedInRows: readonly PlantedInRows[] = [...ofSteps, ...ofCopies, ...ofTime, ...ofPeople];
