/**
 * What was said of each hypothesis, and what a debate lacks before it can close.
 *
 * Invariants: a debate closes with a hypothesis that is not conceded and whose challenges are all answered. Each rival was
 * challenged or conceded. A person may force the debate to close without that. No agent settles a debate with itself:
 * - an answer counts if another actor made it than the one that made the challenge;
 * - an agent closes a debate only if an actor other than itself made a challenge, and an actor other than its opener did. A
 *   person counts as another actor to everybody, also to other persons. An agent that is alone in its project needs no other
 *   actor, and the verdict says so. So there is always a way on. The agent itself or another
 *   one can do what is missing, or a person forces the debate to close. The entries for that always have room.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { KiteEvent } from "../../../protocol/events.ts";
import type { MissingRow } from "../../../protocol/lead/debate.ts";
import { type Limits, limits } from "../../../protocol/limits.ts";
import { personOnWire } from "../../../protocol/names.ts";
import type { ActorRow } from "../../../protocol/schemas/lock.ts";
import { nearest, quote } from "../../../protocol/text.ts";
import type { Actor } from "../frame/actors.ts";
import { ambiguity, isShortOf, matchesOf, nearestId, scopeOf } from "../frame/records.ts";
import { contextAt, endItem, setItem, verdictKey } from "../messages/context.ts";
import { everyoneIn, recipientOf } from "../messages/inbox.ts";
import { postNotice } from "../messages/send.ts";
import type { Meta, Rules } from "../tables/base-state.ts";
import { itemKey } from "../tables/context.ts";
import type { CommandOf } from "../tables/entries.ts";
import { lasting, type Step } from "../tables/entries.ts";
import { inboxKey } from "../tables/messages.ts";
import { actorRow, isAlive, isPerson, noSession, projectOf, speakerRow } from "../tables/naming.ts";
import { allAt, type Session, sessionsOf } from "../tables/sessions.ts";
import type { Task } from "../tables/tasks.ts";
import type { State } from "./state.ts";
import {
  addDebate,
  type Debate,
  type DebateClose,
  type DebateCommands,
  type DebateEnter,
  type DebateEntry,
  type DebateOpen,
  type Debates,
  debateOf,
  debateRecords,
  moveSpeaker,
  type NewEntry,
  type Participant,
  putDebate,
  type Verdict,
} from "./tables/debates.ts";

interface Standing {
  readonly name: string;
  readonly conceded: boolean;
  /** The number of challenges. */
  readonly challenges: number;
  /** The numbers of the challenges that no entry of another actor answers. */
  readonly unanswered: readonly number[];
}

/** Who closes a debate, and whether it is alone in the project, so that its own answers count. */
interface Closer {
  readonly by: ActorRow | null;
  readonly alone: boolean;
}

type DebateText = Pick<Debate, "hypotheses" | "entries">;

/** Whether the two are different actors; a person differs from everybody. */
function isOther(one: ActorRow | null, other: ActorRow | null): boolean {
  return isPerson(one) || isPerson(other) || one?.id !== other?.id || one?.agent !== other?.agent;
}

/** Returns the standing of every hypothesis, in their order. `alone`: answers of the challenger itself count. */
export function standingsOf(debate: DebateText, alone = false): Standing[] {
  const answered = answeredIn(debate.entries, alone);
  const { hypotheses, entries } = debate;
  return hypotheses.map(({ name }) => {
    const challenges = entries.flatMap(({ kind, hypothesis }, i) =>
      kind === "challenge" && hypothesis === name ? [i + 1] : [],
    );
    return {
      name,
      conceded: entries.some(entry => entry.kind === "concede" && entry.hypothesis === name),
      challenges: challenges.length,
      unanswered: challenges.filter(n => !answered.has(n)),
    };
  });
}

/** Returns what the debate lacks before `closer` can close it with `verdict`; empty: nothing. */
function missingFor(debate: Debate, verdict: string, closer: Closer): MissingRow[] {
  const { by, alone } = closer;
  const rows = standingsOf(debate, alone).flatMap(
    ({ name, conceded, challenges, unanswered }): MissingRow[] => {
      if (name === verdict) {
        return unanswered.map(challenge => {
          const others = !alone && !isOther(debate.entries[challenge - 1]?.by ?? null, by);
          return { hypothesis: name, challenge, next: "answer" as const, others };
        });
      }
      const isOpen = !conceded && challenges === 0;
      return isOpen ? [{ hypothesis: name, challenge: null, next: "challenge" as const, others: false }] : [];
    },
  );
  if (isPerson(by) || alone) return rows;
  const others = !isChallengedByOther(debate.entries, by);
  if (!others && (isPerson(debate.openedBy) || isChallengedByOther(debate.entries, debate.openedBy)))
    return rows;
  return [...rows, { hypothesis: verdict, challenge: null, next: "challenge", others }];
}

/** Whether these entries leave room for what the debate needs to close, whoever is there then. */
function leavesRoom({ hypotheses, entries }: DebateText): boolean {
  const anyhow = standingsOf({ hypotheses, entries }, true);
  const needed = standingsOf({ hypotheses, entries }).map(({ conceded, challenges, unanswered }, i) => {
    if (conceded) return 0;
    // A challenge needs an answer, and that of an agent alone may need another one later.
    return challenges === 0 ? 3 : unanswered.length + (anyhow[i]?.unanswered.length ?? 0);
  });
  const sum = needed.reduce((total, one) => total + one, isChallengedByTwo(entries) ? 0 : 3);
  return entries.length + sum <= limits.debateEntriesMax;
}

/** Returns the numbers of the challenges that are answered: by another actor, or, if `alone`, by anybody. */
function answeredIn(entries: readonly DebateEntry[], alone: boolean): Set<number> {
  const answered = new Set<number>();
  for (const { answers, by } of entries)
    if (answers !== null && (alone || isOther(entries[answers - 1]?.by ?? null, by))) answered.add(answers);
  return answered;
}

function isChallengedByOther(entries: readonly DebateEntry[], actor: ActorRow | null): boolean {
  return entries.some(({ kind, by }) => kind === "challenge" && isOther(by, actor));
}

/** Whether two actors made challenges, so that every actor was challenged by another one. */
function isChallengedByTwo(entries: readonly DebateEntry[]): boolean {
  const first = entries.find(({ kind }) => kind === "challenge");
  return first !== undefined && (isPerson(first.by) || isChallengedByOther(entries, first.by));
}

// How debates are found and named in replies, refusals and events.

/**
 * Returns the debate that a request names, or a refusal. A name is a whole id. With `project` it may also be a prefix of an
 * id, or the id's last part, if only one debate of the project has it. `project` null: whole ids alone.
 */
export function findDebate(debates: Debates, name: string, project: string | null): Debate | Refusal {
  const exact = debates.all.get(name);
  if (exact !== undefined) return exact;
  const matches = project === null ? [] : matchesOf(debates, name, scopeOf(project));
  const [first] = matches;
  if (first !== undefined && matches.length === 1) return debateOf(debates, first);
  if (first === undefined) return unknownDebate(debates, name, project);
  const { error, shown } = ambiguity("debates", name, matches);
  return refuse("ambiguous_debate", error, { debate: name, matches: shown });
}

/** Refuses an unknown name with the nearest id of the project. */
function unknownDebate(debates: Debates, name: string, project: string | null): Refusal {
  const near = project === null ? null : nearestId(debates, name, scopeOf(project));
  const isShort = isShortOf("d", name);
  const where = isShort && project !== null ? " in this project" : "";
  const hint = near === null ? "kite debate list shows them" : `did you mean ${near}?`;
  const other = isShort ? "; a debate of another project needs its whole id" : "";
  return refuse("unknown_debate", `no debate ${name}${where}; ${hint}${other}`, {
    debate: name,
    nearest: near,
  });
}

export function isDebate(found: Debate | Refusal): found is Debate {
  return "question" in found;
}

type Naming = Pick<DebateEnter, "debate" | "by" | "project">;

/** Returns the open debate that a command names, or why its actor cannot change it. An agent's own project counts first. */
function openFor(state: State, { debate: name, by, project }: Naming): Debate | Refusal {
  const own = by === null ? undefined : projectOf(state, by);
  const debate = findDebate(state.debates, name, own ?? project ?? null);
  if (!isDebate(debate)) return debate;
  return strangerRefusal(state, debate, by) ?? closedRefusal(debate) ?? debate;
}

/** Refuses an actor that is not alive, or works in another project; a person may speak anywhere. */
function strangerRefusal(state: State, { id, project }: Debate, by: Actor | null): Refusal | null {
  if (by === null) return null;
  if (!isAlive(state, by)) return noSession(state, by.session);
  const own = projectOf(state, by);
  if (own === project) return null;
  const error = `${id} is a debate of ${project}, and you work in ${own}; open one there`;
  return refuse("not_in_debate", error, { debate: id, project });
}

function closedRefusal({ id, verdict }: Debate): Refusal | null {
  if (verdict === null) return null;
  const by = verdict.by === null ? personOnWire : quote(verdict.by.name);
  const how = verdict.forced ? " by force" : "";
  const error = `${id} is closed: ${by} chose ${quote(verdict.name)}${how}; open a new debate to doubt it`;
  return refuse("debate_state", error, { debate: id, status: "closed", verdict });
}

/** Returns names of hypotheses for a sentence: agents chose them. */
function quoted(names: readonly string[]): string {
  return names.map(name => quote(name)).join(", ");
}

/** Refuses a hypothesis that the debate does not have, or returns null. */
function unknownHypothesis({ id, hypotheses }: Debate, name: string): Refusal | null {
  const names = hypotheses.map(one => one.name);
  if (names.includes(name)) return null;
  const near = nearest(name, names);
  const hint = near === null ? `it has ${quoted(names)}` : `did you mean ${quote(near)}?`;
  const fields = { debate: id, hypothesis: name, nearest: near, hypotheses: names };
  return refuse("not_in_debate", `${id} has no hypothesis ${quote(name)}; ${hint}`, fields);
}

type Change = Extract<KiteEvent, { readonly event: "debate_changed" }>["what"];

/** Emits the event of a change, about the sessions of the participants. */
function announce(step: Step, debate: Debate, what: Change, by: ActorRow | null): void {
  const { id, project, participants } = debate;
  const about = [...new Set(participants.map(({ row }) => row.id))];
  step.events.push({ event: { event: "debate_changed", debate: id, project, what, by }, about, project });
}

// Which other actors can speak in a debate.
//
// Invariants: a lost session is not there. An agent that a session's main agent started, and waits for, counts as the main
// agent. A teammate counts as another actor. An agent is alone if nobody else is there.

/** Returns the others in the project that could speak, at most as many as a refusal names; empty: the agent is alone. */
function othersThere({ sessions, teammates }: State, project: string, { session, agent }: Actor): ActorRow[] {
  const rows: ActorRow[] = [];
  const own = sessions.live.get(session);
  if (own !== undefined) rows.push(...besides(own, allAt(teammates, session), agent));
  for (const { id, name, lostAt } of sessionsOf(sessions, project)) {
    if (rows.length >= limits.recipientsNamedMax) break;
    if (id !== session && lostAt === null) rows.push({ id, agent: null, name });
  }
  return rows.slice(0, limits.recipientsNamedMax);
}

/** Returns how a debate goes on that waits for others than the agent; `verdict` is a hypothesis's name. */
function waysOn({ id }: Debate, others: readonly ActorRow[], verdict: string): string {
  const names = others.map(({ name }) => name).join(", ");
  const force = `a person can force it: kite debate close ${id} --verdict ${quote(verdict)} --because WHY --force`;
  return `here now: ${names}; or ${force}`;
}

/** Returns the teammates in the agent's own session, and its main agent if the agent is a teammate. */
function besides(
  { id, name, agents }: Session,
  teammates: ReadonlyMap<string | null, unknown>,
  agent: string | null,
): ActorRow[] {
  const rows: ActorRow[] = [];
  if (agent !== null && teammates.has(agent)) rows.push({ id, agent: null, name });
  for (const [other, called] of agents)
    if (other !== agent && teammates.has(other)) rows.push({ id, agent: other, name: `${name}/${called}` });
  return rows;
}

// The debate that a task requires.
// Invariants: it existed in the task's project when the task got it; no agent takes an open one off.

/** Returns the task's debate while it is open, or null. A debate that is no longer kept was closed. */
export function openDebateOf(state: State, { debate }: Pick<Task, "debate">): Debate | null {
  const known = debate === undefined ? undefined : state.debates.all.get(debate);
  return known?.verdict === null ? known : null;
}

/** Returns the id of the debate that a request names for a task of `project`, or a refusal; undefined or null: none. */
function debateNamed(
  state: State,
  project: string,
  name: string | null | undefined,
): string | undefined | Refusal {
  if (name === undefined || name === null) return undefined;
  const found = findDebate(state.debates, name, project);
  if (!isDebate(found) || found.project === project) return isDebate(found) ? found.id : found;
  const error = `${found.id} is a debate of ${found.project}, and the task is one of ${project}; name a debate of ${project}`;
  return refuse("not_in_debate", error, { debate: found.id, project: found.project });
}

/** Returns the debate that an imported task keeps, which is one of its project; undefined: none. */
function debateKept(
  { debates }: State,
  { project, debate = "" }: Pick<Task, "project" | "debate">,
): string | undefined {
  const known = debates.all.get(debate);
  return known?.project === project ? known.id : undefined;
}

/** Returns why `by` may not give the task another debate, or none, or null: an agent keeps a debate that is open. */
function mayReplace(state: State, task: Task, next: string | undefined, by: Actor | null): Refusal | null {
  const open = by === null ? null : openDebateOf(state, task);
  if (open === null || open.id === next) return null;
  const error = `${task.id} requires debate ${open.id}, which is open; close it first (a person can force that)`;
  return refuse("debate_state", error, { task: task.id, debate: open.id, status: "open" });
}

// Tells the participants of a debate by messages, in the name of the actor that changed it.
//
// Invariants: a participant has at most one unread message of a debate, and gets one more when the debate closes. No change
// fails because a message cannot be sent.

interface Notice {
  readonly by: Actor | null;
  readonly text: string;
  readonly wallMs: number;
  /** Whether it goes to those, too, that have not read the one before. */
  readonly always: boolean;
}

/** Writes to the participants other than the actor, and returns the debate with the message that each was told by. */
function tellOthers(state: State, debate: Debate, notice: Notice, step: Step): Debate {
  const { by, text, wallMs, always } = notice;
  const { project, participants } = debate;
  const to = participants
    .filter(one => !isActor(one.row, by) && isHere(state, project, one.row))
    .filter(one => always || !isUnread(state, one))
    .map(({ row }) => row);
  const posted = { actor: by, project, text, bytes: bytesOf(text), wallMs };
  const sent = postNotice(state, posted, to, step);
  if (sent === null) return debate;
  const reached = new Set(sent.to.map(inboxKey));
  return {
    ...debate,
    participants: participants.map(one => (reached.has(inboxKey(one.row)) ? { ...one, told: sent.id } : one)),
  };
}

/** Returns the beginning of a text as a sentence of its own, in quotation marks. */
function brief(text: string): string {
  const { quoteChars: max } = limits;
  const head = text.length > max ? `${text.slice(0, max - 1)}…` : text;
  return `"${head}".`;
}

/** Returns the size of a text as UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function isActor(row: ActorRow, by: Actor | null): boolean {
  return row.id === by?.session && row.agent === by.agent;
}

/** Whether the participant is alive and still in the project. */
function isHere({ sessions }: State, project: string, { id, agent }: ActorRow): boolean {
  const session = sessions.live.get(id);
  return session?.project === project && (agent === null || session.agents.has(agent));
}

/** Whether the message that told the participant last is still to be shown to it. */
function isUnread({ messages }: State, { row, told: messageId }: Participant): boolean {
  const letter = messageId === null ? undefined : messages.all.get(messageId)?.letters.get(inboxKey(row));
  return letter?.state === "unread" || letter?.state === "offered";
}

// Opens debates.
//
// Invariants: a debate has at least two hypotheses, each with a name of its own. A session opens debates in its own project.
// The participants were alive there. A project has at most `limits.debatesOpenMax` open debates. A closed debate that makes
// room takes its verdict out of the context.

function debateOpen(state: State, command: CommandOf<"debate_open">, _meta: Meta, step: Step): void {
  const { debates } = state;
  const { by, question, wallMs } = command;
  if (by !== null && !isAlive(state, by)) {
    step.reply = noSession(state, by.session);
    return;
  }
  const project = (by === null ? undefined : projectOf(state, by)) ?? command.project;
  const hypotheses = command.hypotheses.map(({ name, claim }) => ({ name, claim }));
  const rows = participantsOf(state, project, command);
  const refused =
    noRoom(state, project) ?? wrongNames(hypotheses, state.limits) ?? ("ok" in rows ? rows : null);
  if (refused !== null || "ok" in rows) {
    step.reply = refused;
    return;
  }
  debates.count += 1;
  const n = debates.count;
  const id = `d-${Math.max(0, wallMs).toString(36)}-${n.toString(36)}`;
  const openedBy = speakerRow(state, by);
  const participants = rows.map(row => ({ row, told: null }));
  const empty = { entries: [], verdict: null };
  const opened = { id, n, project, question, openedBy, openedAt: wallMs, hypotheses, participants, ...empty };
  announce(step, opened, "opened", openedBy);
  const announced = tellOthers(state, opened, { by, text: openingOf(opened), wallMs, always: true }, step);
  for (const dropped of addDebate(debates, announced)) {
    const verdict = contextAt(state, dropped.project, verdictKey(dropped.id));
    if (verdict !== undefined) endItem(state, verdict, step);
  }
  step.reply = { ok: true, debate: id, participants: rows };
}

/** Returns the participants, each once: those named, or the live actors of the project; and who opens the debate. */
function participantsOf(
  state: State,
  project: string,
  { by, participants }: DebateOpen,
): readonly ActorRow[] | Refusal {
  const rows = by === null ? [] : [actorRow(state, by)];
  if (participants === null) rows.push(...everyoneIn(state, project, state.limits.debateParticipantsMax));
  for (const name of participants ?? []) {
    const found = recipientOf(state, project, name, "debate not opened");
    if ("ok" in found) return found;
    rows.push(found);
  }
  const once = new Map(rows.map(row => [inboxKey(row), row]));
  return [...once.values()].slice(0, state.limits.debateParticipantsMax);
}

function noRoom({ debates, limits }: State, project: string): Refusal | null {
  const open = debates.open.get(project)?.size ?? 0;
  if (open >= limits.debatesOpenMax) {
    const error = `${project} has ${open} open debates, as many as it may; close one first`;
    return refuse("too_many_debates", error, { project });
  }
  if (debates.all.size < limits.debatesMax || debates.closed.size > 0) return null;
  const error = `all projects together have ${limits.debatesMax} open debates, as many as they may; close one first`;
  return refuse("too_many_debates", error);
}

function wrongNames(hypotheses: Debate["hypotheses"], limits: Limits): Refusal | null {
  const names = new Set(hypotheses.map(({ name }) => name));
  const most = limits.debateHypothesesMax;
  const error =
    names.size < hypotheses.length
      ? "two of the hypotheses have one name; give each a name of its own"
      : names.size < 2 || names.size > most
        ? `a debate has 2 to ${most} hypotheses, not ${names.size}; name the rivals, too`
        : null;
  return error === null ? null : refuse("invalid_request", error, { path: "hypotheses" });
}

function openingOf({ id, question, hypotheses }: Debate): string {
  const names = hypotheses.map(({ name }) => name).join(", ");
  return `opens debate ${id}: ${brief(question)} Hypotheses: ${names}. To read and challenge them: kite debate show ${id}`;
}

// Makes entries in debates.
//
// Invariants: a closed debate takes no entry. An answer names a challenge. The challenge is another actor's, unless the
// agent is alone in the project. A conceded hypothesis gets no further entry, and one hypothesis is never conceded. An agent
// concedes a hypothesis that it introduced or supports, and that nobody else supports. A person concedes any. An agent can
// challenge what it cannot concede. An actor supports a hypothesis if it brings evidence for it, or answers a challenge to
// it.

function debateEnter(state: State, command: CommandOf<"debate_enter">, _meta: Meta, step: Step): void {
  const { by, entry, wallMs } = command;
  const debate = openFor(state, command);
  if (!isDebate(debate)) {
    step.reply = debate;
    return;
  }
  const row = speakerRow(state, by);
  const outcome = saidBy(debate, entry, row, by === null ? [] : othersThere(state, debate.project, by));
  if ("ok" in outcome) {
    step.reply = outcome;
    return;
  }
  const made = { ...outcome, by: row, at: wallMs };
  const next = { ...debate, entries: [...debate.entries, made] };
  if (!leavesRoom(next)) {
    const error = `${debate.id} has ${debate.entries.length} of ${limits.debateEntriesMax} entries, and needs the others to close; answer what is unanswered, and close it`;
    step.reply = refuse("too_many_debates", error, { debate: debate.id });
    return;
  }
  announce(step, debate, entry.kind, row);
  const isTold = entry.kind === "challenge";
  putDebate(state.debates, isTold ? tellOthers(state, next, noticeOf(next, made, by), step) : next);
  step.reply = { ok: true, debate: debate.id, entry: next.entries.length };
}

/** Returns the entry without who made it, or why it cannot be made. */
function saidBy(
  debate: Debate,
  entry: NewEntry,
  by: ActorRow | null,
  others: readonly ActorRow[],
): Omit<DebateEntry, "by" | "at"> | Refusal {
  const { kind, text } = entry;
  const answers = kind === "answer" ? entry.challenge : null;
  const challenged = answers === null ? undefined : debate.entries[answers - 1];
  if (answers !== null && challenged?.kind !== "challenge") return unknownChallenge(debate, answers);
  const hypothesis = kind === "answer" ? (challenged?.hypothesis ?? "") : entry.hypothesis;
  const refused =
    unknownHypothesis(debate, hypothesis) ??
    concededRefusal(debate, hypothesis, kind) ??
    (kind === "concede" ? mayConcede(debate, hypothesis, by) : null) ??
    (challenged === undefined ? null : ownChallenge(debate, answers, challenged, by, others));
  if (refused !== null) return refused;
  return { kind, hypothesis, answers, against: kind === "evidence" && entry.against, text };
}

function unknownChallenge(debate: Debate, challenge: number): Refusal {
  const unanswered = standingsOf(debate).flatMap(one => (one.conceded ? [] : one.unanswered));
  const hint = unanswered.length === 0 ? "all are answered" : `unanswered: ${unanswered.join(", ")}`;
  const error = `entry ${challenge} of ${debate.id} is no challenge; ${hint}`;
  return refuse("not_in_debate", error, { debate: debate.id, challenge, unanswered });
}

function concededRefusal(debate: Debate, name: string, kind: NewEntry["kind"]): Refusal | null {
  const { id } = debate;
  const left = standingsOf(debate).filter(one => !one.conceded);
  if (!left.some(one => one.name === name)) {
    const names = left.map(one => one.name);
    const error = `${quote(name)} is conceded in ${id}, so nothing more is said of it; left: ${quoted(names)}`;
    return refuse("debate_state", error, { debate: id, hypothesis: name, left: names });
  }
  if (kind !== "concede" || left.length > 1) return null;
  const error = `${quote(name)} is the last hypothesis of ${id} that is not conceded; close the debate with it, or open another one`;
  return refuse("debate_state", error, { debate: id, hypothesis: name, left: [name] });
}

/** Refuses an agent's answer to its own challenge while others are there that can answer it. */
function ownChallenge(
  debate: Debate,
  challenge: number | null,
  challenged: DebateEntry,
  by: ActorRow | null,
  others: readonly ActorRow[],
): Refusal | null {
  if (isOther(challenged.by, by) || others.length === 0) return null;
  const { id } = debate;
  const ways = waysOn(debate, others, challenged.hypothesis);
  const error = `entry ${challenge} of ${id} is your own challenge; another agent has to answer it; ${ways}`;
  return refuse("debate_state", error, { debate: id, challenge, hypothesis: challenged.hypothesis });
}

/** Returns why `by` may not concede the hypothesis, or null. */
function mayConcede(debate: Debate, hypothesis: string, by: ActorRow | null): Refusal | null {
  if (by === null || isPerson(by)) return null;
  const { id, openedBy, entries } = debate;
  const support = entries.filter(
    entry =>
      entry.hypothesis === hypothesis &&
      (entry.kind === "answer" || (entry.kind === "evidence" && !entry.against)),
  );
  const another = support.find(entry => isOther(entry.by, by));
  const isOwn = support.length > 0 || !isOther(openedBy, by);
  if (another === undefined && isOwn) return null;
  const who = another === undefined ? openedBy : another.by;
  const name = who?.name ?? personOnWire;
  const what = another === undefined ? "opened it, and you did not speak for" : "supports";
  const named = quote(hypothesis);
  const error = `you cannot concede ${named} in ${id}: ${name} ${what} ${named}; challenge it instead`;
  return refuse("debate_state", error, { debate: id, hypothesis });
}

/** Returns what the others are told of a challenge, the debate's last entry. */
function noticeOf({ id, entries }: Debate, { hypothesis, text, at }: DebateEntry, by: Actor | null): Notice {
  const number = entries.length;
  const notice = `challenges ${hypothesis} in debate ${id} (entry ${number}): ${brief(text ?? "")}`;
  return {
    by,
    text: `${notice} To answer: kite debate answer ${id} ${number} TEXT`,
    wallMs: at,
    always: false,
  };
}

// Closes debates.
//
// Invariants: a debate closes once, with a hypothesis that is not conceded. Nothing is missing, a person forces it, or its
// agent is alone in the project. The verdict says which of these it was. The same step makes the verdict durable context of
// the project, or refuses to close.

function debateClose(state: State, command: CommandOf<"debate_close">, meta: Meta, step: Step): void {
  const { by, because, wallMs } = command;
  const debate = openFor(state, command);
  if (!isDebate(debate)) {
    step.reply = debate;
    return;
  }
  const row = speakerRow(state, by);
  const others = by === null ? [] : othersThere(state, debate.project, by);
  const isAlone = by !== null && others.length === 0;
  const missing = missingFor(debate, command.verdict, { by: row, alone: isAlone });
  const forced = command.force && missing.length > 0;
  const alone = isAlone && missingFor(debate, command.verdict, { by: row, alone: false }).length > 0;
  const verdict = { name: command.verdict, because, by: row, forced, alone, at: wallMs };
  const item = contextOf(debate, verdict, command);
  const refused = mayClose(debate, command, missing, others);
  if (refused !== null) {
    step.reply = refused;
    return;
  }
  setItem(state, item, null, meta, step);
  const closed = { ...debate, verdict };
  announce(step, closed, "closed", row);
  const text = closingOf(closed, verdict, item.key);
  putDebate(state.debates, tellOthers(state, closed, { by, text, wallMs, always: true }, step));
  step.reply = { ok: true, debate: debate.id, verdict, key: item.key };
}

function mayClose(
  debate: Debate,
  { by, verdict, force }: DebateClose,
  missing: readonly MissingRow[],
  others: readonly ActorRow[],
): Refusal | null {
  const { id } = debate;
  const unknown = unknownHypothesis(debate, verdict);
  if (unknown !== null) return unknown;
  if (force && by !== null) {
    const error = `only a person at a terminal may force a debate to close; leave force out, and ${id} closes once nothing is missing`;
    return refuse("person_only", error, { debate: id });
  }
  const left = standingsOf(debate).flatMap(one => (one.conceded ? [] : [one.name]));
  if (!left.includes(verdict)) {
    const error = `${quote(verdict)} is conceded in ${id} and cannot be chosen; left: ${quoted(left)}`;
    return refuse("debate_state", error, { debate: id, hypothesis: verdict, left });
  }
  if (missing.length === 0 || force) return null;
  const ways = missing.some(row => row.others) ? `; ${waysOn(debate, others, verdict)}` : "";
  const error = `${id} cannot close with ${quote(verdict)}: ${missingText(debate, verdict, missing)}${ways}`;
  return refuse("debate_unsettled", error, { debate: id, verdict, missing });
}

/** Returns all that is missing, with what to do about it. */
function missingText({ openedBy }: Debate, verdict: string, missing: readonly MissingRow[]): string {
  const parts: string[] = [];
  const [open, own] = [false, true].map(others =>
    missing.flatMap(row => (row.challenge !== null && row.others === others ? [row.challenge] : [])),
  );
  if (open?.length === 1) parts.push(`challenge ${open[0]} to ${quote(verdict)} is unanswered (answer it)`);
  if (open !== undefined && open.length > 1)
    parts.push(`challenges ${open.join(", ")} to ${quote(verdict)} are unanswered (answer each)`);
  if (own !== undefined && own.length > 0)
    parts.push(
      `nobody else answered your own ${own.length === 1 ? "challenge" : "challenges"} ${own.join(", ")}`,
    );
  const unchallenged = missing.filter(({ challenge }) => challenge === null);
  const rivals = unchallenged.flatMap(({ hypothesis }) => (hypothesis === verdict ? [] : [hypothesis]));
  const doubt = unchallenged.find(({ hypothesis }) => hypothesis === verdict);
  if (doubt?.others === true) parts.push("nobody else challenged any hypothesis (another agent has to)");
  if (doubt?.others === false)
    parts.push(`nobody but ${openedBy?.name}, who opened it, challenged any hypothesis (challenge one)`);
  if (rivals.length === 1) parts.push(`${quoted(rivals)} was never challenged (challenge or concede it)`);
  if (rivals.length > 1) parts.push(`${quoted(rivals)} were never challenged (challenge or concede each)`);
  return parts.join("; ");
}

/** Returns the verdict as an item of the project's context. */
function contextOf(
  { id, project, question }: Debate,
  { name, because, by, forced, alone }: Verdict,
  { by: actor, wallMs }: DebateClose,
) {
  const value = { question, verdict: name, because, by: by === null ? null : by.name, forced, alone };
  const bytes = bytesOf(JSON.stringify(value));
  return { actor, project, key: verdictKey(id), value, bytes, durable: true, wallMs };
}

function closingOf({ id }: Debate, { name, because, forced, alone }: Verdict, key: string): string {
  const how = forced ? " by force" : alone ? " alone" : "";
  return `closes debate ${id}${how} with ${name}: ${brief(because)} The verdict is shared: kite context get ${key}`;
}

// The rules of debates.

export const debateRules: Rules<DebateCommands, State> = {
  commands: {
    debate_open: lasting(debateOpen),
    debate_enter: lasting(debateEnter),
    debate_close: lasting(debateClose),
  },
  shared: ["debate_open", "debate_enter", "debate_close"],
  numbers: {
    kind: "d",
    tableIn: ({ debates }) => debates,
    usedBy: ({ type }) => (type === "debate_open" ? 1 : 0),
  },
  points: {
    sessionMoves: ({ debates }, from, to) => moveSpeaker(debates, from, to),
    debateNamed,
    debateKept,
    mayReplaceDebate: mayReplace,
  },
};

// The invariants of debates; part of `check`.

/** Yields one sentence per broken invariant. */
export function* checkDebates({ debates, context, limits }: State): Generator<string> {
  let last = 0;
  for (const debate of debates.all.values()) {
    if (debate.n <= last || debate.n > debates.count)
      yield `${debate.id} has number ${debate.n} behind ${last}`;
    last = debate.n;
    yield* checkBounds(debate, limits);
    yield* checkEntries(debate);
    yield* checkVerdict(debate);
  }
  for (const [project, places] of debates.byProject)
    if (places.size > limits.debatesPerProjectMax) yield `${project} has ${places.size} debates`;
  const closed = [...debates.all.values()].filter(({ verdict }) => verdict !== null);
  const keys = closed.map(({ project, id }) => itemKey(project, verdictKey(id)));
  for (const key of keys)
    if (!context.items.has(key)) yield `${key.replace("\n", " ")} is a verdict, and not in the context`;
  if (context.verdicts !== keys.length)
    yield `${context.verdicts} verdicts are in the context, not ${keys.length}`;
  for (const [project, ids] of debates.open)
    if (ids.size > limits.debatesOpenMax) yield `${project} has ${ids.size} open debates`;
  yield* debateRecords.check(debates, "debates", limits.debatesMax);
}

function* checkBounds(debate: Debate, limits: Limits): Generator<string> {
  const { id, hypotheses, participants } = debate;
  const names = new Set(hypotheses.map(({ name }) => name));
  if (names.size < 2 || names.size > limits.debateHypothesesMax) yield `${id} has ${names.size} hypotheses`;
  if (names.size < hypotheses.length) yield `two hypotheses of ${id} have one name`;
  const keys = new Set(participants.map(({ row }) => inboxKey(row)));
  if (keys.size < participants.length) yield `${id} has a participant twice`;
  if (keys.size > limits.debateParticipantsMax) yield `${id} has ${keys.size} participants`;
  if (!leavesRoom(debate)) yield `${id} has no room for what it needs to close`;
}

function* checkEntries({ id, hypotheses, entries }: Debate): Generator<string> {
  const names = new Set(hypotheses.map(({ name }) => name));
  const conceded = new Set<string>();
  for (const [i, { kind, hypothesis, answers }] of entries.entries()) {
    const entry = `entry ${i + 1} of ${id}`;
    if (!names.has(hypothesis)) yield `${entry} is about ${hypothesis}, which it does not have`;
    if (conceded.has(hypothesis)) yield `${entry} is about ${hypothesis}, which was conceded`;
    if (kind === "concede") conceded.add(hypothesis);
    const challenge = answers === null || answers > i ? undefined : entries[answers - 1];
    const isSound = kind === "answer" ? challenge?.kind === "challenge" : answers === null;
    if (!isSound || (challenge !== undefined && challenge.hypothesis !== hypothesis))
      yield `${entry} answers ${answers}, which is no such challenge`;
  }
  if (conceded.size >= names.size) yield `every hypothesis of ${id} is conceded`;
}

function* checkVerdict(debate: Debate): Generator<string> {
  const { id, verdict } = debate;
  if (verdict === null) return;
  const chosen = standingsOf(debate).find(({ name }) => name === verdict.name);
  if (chosen === undefined || chosen.conceded)
    yield `${id} is closed with ${verdict.name}, which was not left`;
  const { by, alone, forced } = verdict;
  const missing = missingFor(debate, verdict.name, { by, alone }).length;
  if (alone && (forced || missingFor(debate, verdict.name, { by, alone: false }).length === 0))
    yield `${id} says alone, and nothing of others was missing`;
  if (missing > 0 && !forced) yield `${id} is closed, and ${missing} things were missing`;
  if (forced && !isPerson(by)) yield `${id} was forced to close by ${by?.name}`;
}
