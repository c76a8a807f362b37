/** What the rows make their plans of. */

import { limits } from "../../protocol/limits.ts";
import { nearPath, quote } from "../../protocol/text.ts";
import type { WriteTerms } from "../seam/actions.ts";
import type { HookContext, HookPlan } from "../seam/plan.ts";
import type { HookAction, HookOutcome } from "../seam/slices.ts";
import { type Answer, alsoTellPerson, nothing } from "./answers/answer.ts";
import { doingOf } from "./doing.ts";
import { type Actor, type Event, isShell, label } from "./event.ts";

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
            const said = answer(outcomes);
            const told = alsoTellPerson(said, denialText(event, file, by));
            return told === said ? null : write(told);
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
