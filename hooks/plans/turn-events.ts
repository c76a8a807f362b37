/** A session begins, a prompt comes, and a session ends, whichever client says so. */

import { limits } from "../../protocol/limits.ts";
import { frame, nearPath, quote } from "../../protocol/text.ts";
import type { FreedFile, ReturnedMerge } from "../seam/outcomes.ts";
import type { HookAction, HookOutcome } from "../seam/slices.ts";
import { type Answer, nothing, withContext } from "./answers/answer.ts";
import { agentStartAnswer, promptAnswer, startAnswer } from "./answers/first-context.ts";
import { readSoFar, withInbox } from "./answers/inbox.ts";
import type { Actor, Event } from "./event.ts";
import {
  answerAround,
  asksBefore,
  atWork,
  begin,
  heartbeat,
  idle,
  mainOf,
  type Plan,
  type Row,
  turnOver,
  waitingEvent,
} from "./plan-parts.ts";
import { before, newsText } from "./slices.ts";

/** What a session of a client is told whose events do not name the subagent that acts. */
const sharedLocks =
  "Kite: it cannot tell your subagents apart: you all share your locks. Let one of you at a time edit a file.";

/** Also runs after a compaction: the model has lost what the start told it, while its turn may go on. */
export const sessionStart: Row = (event, actor, context) => {
  const { session } = actor;
  const { cwd } = event;
  if (cwd === null) return idle;
  const isCompacted = event.raw["source"] === "compact";
  const rests = isCompacted ? {} : { active: false };
  const actions: HookAction[] = [
    ...begin(event, actor, true),
    heartbeat(mainOf(actor), { attention: null, ...rests }),
    ...(isCompacted ? [{ do: "context_lost", ...actor } as const] : []),
    { do: "list_peers", session },
    readSoFar(mainOf(actor)),
  ];
  const { tellsSubagents } = event.client.limits;
  const answer: Plan["answer"] = outcomes => {
    const ownAnswer = startAnswer({ session, cwd }, context.socket, outcomes);
    return tellsSubagents ? ownAnswer : withContext(ownAnswer, sharedLocks);
  };
  return { actions, answer };
};

/**
 * A new prompt shows that the turn before is over, even if an interruption left no event. A prompt typed into a running
 * turn carries that turn's id. A prompt without an id ends no turn, unless the client's limits say that it does.
 * Machine-made prompts carry the session's id, too: its agents keep their locks.
 */
export function promptOf(event: Event, actor: Actor, byPerson: boolean): Plan {
  const { prompt } = event;
  const named: HookAction[] = prompt === null ? [] : [{ do: "turn_end", ...actor, keepPrompt: prompt }];
  const isOver = prompt === null && event.client.limits.promptsEndTurns;
  const ended: HookAction[] = isOver ? [{ do: "turn_end", ...actor }] : named;
  const prompted = {
    do: "prompt_submitted",
    ...mainOf(actor),
    promptId: prompt,
    byPerson,
  } as const;
  const working = heartbeat(actor, { active: true, attention: null });
  const { session } = actor;
  const changes = { do: "list_peers", session, changesOnly: true } as const;
  const actions = [...begin(event, actor), ...ended, working, prompted, changes];
  const cwd = event.cwd ?? "";
  const answer: Plan["answer"] = outcomes => promptAnswer(cwd, outcomes);
  return withInbox(event, actor, cwd, { actions, answer });
}

/** The session ends, and its agents with it. */
export const sessionEnd: Row = (event, actor) => ({
  actions: [{ do: "end", ...mainOf(actor), cause: event.reason ?? "other" }],
});

// An agent's turn ends, and an agent starts within a session, whichever client says so.

/** The actor's turn ends, unless a gate has it go on; `also` comes when it has ended. */
export function turnEnds(event: Event, actor: Actor, also: readonly HookAction[] = []): Plan {
  const actions = [...begin(event, actor), ...stopGate(event, actor), ...turnOver(actor), ...also];
  return { actions: [...actions, readSoFar(actor)], answer: stopAnswer };
}

/** An agent that goes on because a hook said so may stop now: no gate is asked twice in a row. */
export function stopGate(event: Event, actor: Actor): readonly HookAction[] {
  return event.raw["stop_hook_active"] === true ? [] : asksBefore(before.stop, null, actor);
}

export function stopAnswer(outcomes: readonly HookOutcome[]): Answer {
  return answerAround(before.stop, null, outcomes, () => nothing);
}

/** Comes each time a teammate wakes. No field marks the first time: the daemon knows whether the agent is new to it. */
export const subagentStart: Row = (event, actor, context) => {
  const { session, agent } = actor;
  if (agent === undefined) return waitingEvent(event, actor, context);
  const peers: HookAction = { do: "list_peers", session, agent };
  const actions = [...begin(event, actor), peers, atWork(event, actor), readSoFar(actor)];
  const cwd = event.cwd ?? "";
  return { actions, answer: outcomes => agentStartAnswer({ session, cwd }, outcomes) };
};

// The second hook of a Stop. It wakes its session when a refused file is free, when an agent that it leads stalls, or
// when its branch's merge comes back. It also wakes the session if others changed or removed its work and the session
// has not heard of it.

const opening = "Kite: a file that you were refused is free now.";
/** By it the prompt that follows is known as no person's. */
const alarmOpening = "Kite wakes you, as an agent that you lead may need you.";
const returnOpening = "Kite wakes you, as a merge came back.";
const noticeOpening = "Kite wakes you, as other agents changed or removed work of yours.";

/**
 * Waits until something wakes the session. An unattended one is woken only if Kite spawned it: of others no person expects that
 * they go on by themselves. The hook beside this one ends the turn; this one begins, locks and ends nothing.
 */
export function awaitWake(event: Event, actor: Actor, isAttended: boolean): Plan {
  if (actor.agent !== undefined) return idle;
  const { session } = mainOf(actor);
  const cwd = event.cwd ?? "";
  return {
    actions: [
      {
        do: "await_release",
        session,
        promptId: event.prompt,
        ...(isAttended ? {} : { unattended: true as const }),
      },
    ],
    answer: outcomes => answer(cwd, outcomes),
  };
}

function answer(cwd: string, outcomes: readonly HookOutcome[]): Answer {
  const [woken] = outcomes;
  if (woken?.did !== "await_release" || !woken.ok) return nothing;
  if (woken.freed !== null) return { wakes: notice(cwd, woken.freed) };
  if (woken.cameBack !== undefined) return { wakes: returned(woken.cameBack) };
  if (woken.hasNotice === true)
    return { wakes: `${noticeOpening}\nThe notes that say how come with this prompt.` };
  return woken.health.length === 0
    ? nothing
    : { wakes: `${alarmOpening}\n${newsText(woken.health, { isTeammate: false })}` };
}

/** The client shows this to the model as a hook's error, so it begins with good news and asks for little. */
function notice(cwd: string, { file, had }: FreedFile): string {
  const name = quote(nearPath(file, cwd));
  const who = had === null ? "No agent holds" : `${quote(had, limits.nameBytes)} no longer holds`;
  return [
    opening,
    `${frame} ${who} ${name}.`,
    "It is not locked for you, and may have changed: read it again before you edit it. " +
      "If you no longer need it, say so and stop.",
  ].join("\n");
}

/** The message says why, and what to do: the prompt that the client makes of this text brings it. */
function returned({ merge, branch, base }: ReturnedMerge): string {
  return [
    returnOpening,
    `${frame} ${quote(branch)} was not merged into ${quote(base)} (${merge}).`,
    "The message that says why comes with this prompt; if you see none, read it: kite message inbox.",
  ].join("\n");
}

/** Whether a prompt is the text by which Kite woke the session. */
export function isWakeText(prompt: string): boolean {
  return [opening, alarmOpening, returnOpening, noticeOpening].some(text => prompt.includes(text));
}
