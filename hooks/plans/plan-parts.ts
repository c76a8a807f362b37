/** What the rows make their plans of. */

import type { ShellUses } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import type { Doing } from "../../protocol/schemas/session.ts";
import { nearPath, quote } from "../../protocol/text.ts";
import type { WriteTerms } from "../seam/actions.ts";
import type { HookContext, HookPlan } from "../seam/plan.ts";
import type { HookAction, HookOutcome } from "../seam/slices.ts";
import { type Answer, alsoTellPerson, nothing, type Reader } from "./answers/answer.ts";
import type { Edit, Edits } from "./answers/lock.ts";
import { type Actor, type Event, inputText, isShell, label } from "./event.ts";

// What an event says that the agent does, for a list of sessions: a file that it writes, a program that it runs.

/**
 * Returns null for an event that says nothing of it; `file` is the file that the event is about, if it is about one. Of a
 * shell line this keeps the name of the first program only.
 */
function doingOf(event: Event, file: string | null): Doing | null {
  const verbs = verbsOf(event);
  if (verbs === null) return null;
  const [ofFile, ofProgram] = verbs;
  if (file !== null) return { verb: ofFile, what: file };
  const program = isShell(event) ? programOf(inputText(event, "command") ?? "") : null;
  return program === null ? null : { verb: ofProgram, what: program };
}

/** Returns what the event says of a file, and of a program; null if it says nothing. */
function verbsOf({ step, raw }: Event): readonly [Doing["verb"], Doing["verb"]] | null {
  if (step === "before") return ["writes", "runs"];
  if (step === "after") return ["wrote", "ran"];
  if (step === null) return null;
  return raw["is_interrupt"] === true ? ["interrupted", "interrupted"] : ["failed", "failed"];
}

/** Returns the first program of a shell line, behind changes of the directory and variables. */
function programOf(line: string): string | null {
  for (const part of line.slice(0, limits.typedChars).split(/&&|\|\||[;|\n]/)) {
    const word = part
      .trim()
      .split(/\s+/)
      .find(one => !/^\w+=/.test(one));
    if (word === undefined || word === "" || word === "cd") continue;
    const name = word.slice(word.lastIndexOf("/") + 1);
    return /^[\w.+-]+$/.test(name) ? name.slice(0, limits.sayableChars) : null;
  }
  return null;
}

/** What one event asks of the daemon, and its answer; without `answer` it prints nothing. */
export interface Plan {
  readonly actions: readonly HookAction[];
  readonly file?: string;
  /** The rule by which the event itself is refused, whatever comes of the actions. */
  readonly refuses?: HookPlan["refuses"];
  readonly answer?: (outcomes: readonly HookOutcome[]) => Answer;
}

export type Row = (event: Event, actor: Actor, context: HookContext) => Plan;

export const idle: Plan = { actions: [] };

type Heartbeat = Extract<HookAction, { do: "heartbeat" }>;
type HeartbeatFields = Partial<
  Pick<
    Heartbeat,
    "active" | "attention" | "agentName" | "teammate" | "descends" | "ended" | "stopped" | "failed"
  >
>;

/** Registers an unknown session; only for events that the client waits for. Empty if the event names no directory. */
export function begin(event: Event, { session, pid }: Actor, revive = false): readonly HookAction[] {
  const { cwd } = event;
  if (cwd === null) return [];
  const title = label(event, "session_title");
  const goesOnUnless =
    revive && event.raw["source"] === "clear" ? event.client.limits.clearGoesOnUnless : null;
  const more = {
    ...(pid === undefined ? {} : { pid }),
    ...(title === null ? {} : { title }),
    ...(goesOnUnless === null ? {} : { goesOnUnless }),
  };
  return [{ do: "begin", session, cwd, ...more, revive }];
}

/** A sign of life of the actor. */
export function heartbeat({ session, agent }: Actor, fields: HeartbeatFields = {}): HookAction {
  return { do: "heartbeat", session, ...(agent === undefined ? {} : { agent }), ...fields };
}

/** The actor is at work; an agent gets the name that the client gives it. */
export function atWork(event: Event, actor: Actor): HookAction {
  const { isSubagent, teammate } = event.worker;
  const name = actor.agent === undefined ? null : label(event, "agent_type");
  return heartbeat(actor, {
    active: true,
    attention: null,
    ...(name === null ? {} : { agentName: name }),
    ...(isSubagent ? { descends: true } : {}),
    ...(teammate === null ? {} : { teammate }),
  });
}

/** The actor is a teammate, if the event says so. A teammate in a pane is a session of its own. */
export function asTeammate(event: Event, actor: Actor): readonly HookAction[] {
  const [name, team] = [label(event, "teammate_name"), label(event, "team_name")];
  if (name === null || team === null || event.worker.isSubagent) return [];
  return [heartbeat(actor, { teammate: { name, team } })];
}

/** The actor's turn has ended, with `failed` by an error, and no person is asked anything for it any more. */
export function turnOver(actor: Actor, failed = false): readonly HookAction[] {
  const error = failed ? { failed } : {};
  return [{ do: "turn_end", ...actor }, heartbeat(actor, { active: false, attention: null, ...error })];
}

/** The agent has ended. */
export function agentOver(actor: Actor & { readonly agent: string }): readonly HookAction[] {
  return [{ do: "turn_end", ...actor }, heartbeat(actor, { ended: true, attention: null })];
}

/** The session's main agent, whichever agent the event names. */
export function mainOf({ session, pid }: Actor): Actor {
  return { session, ...(pid === undefined ? {} : { pid }) };
}

/** What the event's client says of its writes; `isPatch`: a shell line applies a patch. */
export function writeTerms({ client }: Event, isPatch = false): WriteTerms {
  const { untoldWriteMs, untoldPatchMs, asksAllFirst } = client.limits;
  const untoldMs = untoldWriteMs ?? (isPatch ? untoldPatchMs : null);
  return { ...(untoldMs === null ? {} : { untoldMs }), ...(asksAllFirst ? { beside: true } : {}) };
}

/** Any other event shows that the session lives. It may come late, so it says nothing about the session's agents. */
export const otherEvent: Row = (_event, actor) => ({ actions: [heartbeat(mainOf(actor))] });

/** An event that the client waits for registers an unknown session. */
export const waitingEvent: Row = (event, actor, context) => ({
  actions: [...begin(event, actor), ...otherEvent(event, actor, context).actions],
});

type Words = ReturnType<HookPlan["answer"]>;

/** What an adapter adds to the plan of an event. */
interface Form {
  readonly env: HookContext["env"];
  /** The client's own folder, as far as the event tells. */
  readonly home: string | null;
  /** Writes an answer in the client's form. */
  readonly write: (answer: Answer) => Words;
}

/** Returns the plan of an event as the daemon runs it. */
export function hookPlan(event: Event, plan: Plan, { env, home, write }: Form): HookPlan {
  const { name, session, agent, tool, transcript } = event;
  const file = plan.file ?? null;
  const answer = plan.answer ?? (() => nothing);
  return {
    event: name ?? "unknown",
    session,
    agent,
    tool,
    file,
    doing: doingOf(event, file),
    ...(env["KITE_SPAWN"] === undefined ? {} : { spawn: env["KITE_SPAWN"] }),
    home,
    transcript,
    actions: plan.actions,
    ...(plan.refuses === undefined ? {} : { refuses: plan.refuses }),
    answer: outcomes => write(answer(outcomes)),
    // The tool is about to run, so the answer may deny it.
    ...(event.step === "before"
      ? {
          ...(event.toolUseId === null ? {} : { toolUseId: event.toolUseId }),
          tellDenial: (outcomes, by) => {
            const denial = answer(outcomes);
            const fullDenial = alsoTellPerson(denial, denialText(event, file, by));
            return fullDenial === denial ? null : write(fullDenial);
          },
        }
      : {}),
  };
}

/** Says once in a session what a denial is about: its person sees the agent's words for it, and not who stopped what. */
function denialText(event: Event, file: string | null, by: string): string {
  const { tool, cwd } = event;
  const what =
    file !== null
      ? `an edit of ${quote(nearPath(file, cwd ?? ""))}`
      : isShell(event)
        ? "a command line"
        : `a call of ${quote(tool ?? "")}`;
  const who = quote(by, limits.nameBytes);
  return `Kite stopped ${what} by ${who}. Why, and what to do: kite explain --last`;
}

// Where other parts of the adapter join in the rows of events.

/** Asks before a step of an agent; `T` says what the step is. */
export interface Asking<T> {
  /** The name of its action: without an outcome of that, it has nothing to word. */
  readonly did: HookAction["do"];
  /** Null: the step needs no question. */
  asks(step: T, actor: Actor): HookAction | null;
  /** Words what came of that; `rest` words what comes after it, if the step happens. */
  answer(step: T, outcomes: readonly HookOutcome[], rest: () => Answer): Answer;
}

/** Who calls a task completed. */
export type Completion = Pick<Reader, "isTeammate"> & { readonly cwd: string | null };

/** What asks before each step. */
export interface Before {
  /** A write of a file; `isOwn`: it is one of the client's own files. */
  readonly write: readonly Asking<Edit & { readonly isOwn: boolean }>[];
  /** A patch writes several files at once. */
  readonly patch: readonly Asking<Edits>[];
  /** A shell line; `written`: the files in Kite's own directory that it writes, as far as its words tell. */
  readonly shell: readonly Asking<ShellUses & Reader & { readonly written: readonly string[] }>[];
  /** A shell line wipes or changes the files that it names; absolute paths. */
  readonly files: readonly Asking<Reader & { readonly files: readonly string[] }>[];
  /** The end of a turn. */
  readonly stop: readonly Asking<null>[];
  /** A task of the client's own list is called completed; `cwd` is null if the event names none. */
  readonly completion: readonly Asking<Completion>[];
}

/** Returns the actions that ask before a step. */
export function asksBefore<T>(all: readonly Asking<T>[], step: T, actor: Actor): readonly HookAction[] {
  return all.flatMap(one => one.asks(step, actor) ?? []);
}

/** Returns the answer of the first that holds the step back, else that of `rest` with what they add. */
export function answerAround<T>(
  all: readonly Asking<T>[],
  step: T,
  outcomes: readonly HookOutcome[],
  rest: () => Answer,
): Answer {
  let answer = rest;
  for (const one of all.toReversed()) {
    const inner = answer;
    for (const { did } of outcomes) if (did === one.did) answer = () => one.answer(step, outcomes, inner);
  }
  return answer();
}
