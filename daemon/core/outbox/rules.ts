/** The rules of the outbox. */

import { isSame } from "../frame/records.ts";
import { partsLevel, partsOf } from "../nodes/parts.ts";
import { isNodeId, refuseNodeId } from "../nodes/shared-ids.ts";
import { isAfter } from "../nodes/table.ts";
import type { BaseState, Meta, Rules } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { freeing, lasting } from "../tables/entries.ts";
import { returnAll } from "../tasks/leave.ts";
import type { OutboxCommands } from "./commands.ts";
import { agentNow, sessionNow } from "./now.ts";
import {
  forgetPublished,
  publish,
  publishActor,
  publishAgentEnd,
  publishAll,
  publishEnd,
  publishMove,
  publishNodePart,
  publishPart,
  sharedIdOf,
  unsentEvents,
} from "./publish.ts";
import {
  agentKey,
  outboxRecords,
  partKey,
  publishedAgentRecords,
  publishedPartRecords,
  publishedSessionRecords,
} from "./table.ts";

function sharingSet(state: BaseState, command: CommandOf<"sharing_set">, _meta: Meta, step: Step): void {
  const { node, projects, relayed, level } = command;
  const { outbox } = state;
  if (node !== "" && !isNodeId(node)) {
    step.reply = refuseNodeId(node);
    return;
  }
  const isBehind = relayed !== undefined && isAfter(relayed, outbox.last);
  if (node === "") giveBackHere(state, step);
  // The shared log has given its ids to others since, or ended them.
  if (outbox.node !== node || isBehind) forgetPublished(state);
  if (isBehind) outbox.last = relayed;
  outbox.node = node;
  if (level !== undefined) outbox.level = level;
  outbox.projects.clear();
  for (const [project, as] of node === "" ? [] : projects) outbox.projects.set(project, as);
  publishAll(state);
  step.reply = { ok: true };
}

/** Work came back of which the shared log has not heard: this machine leaves it, and has its authors' tasks itself. */
function giveBackHere(state: BaseState, step: Step): void {
  for (const command of unsentEvents(state.outbox))
    if (command.type === "task_return")
      returnAll(state, command, { by: null, wallMs: command.wallMs }, state.outbox.node, step);
}

function outboxSent(
  { outbox }: BaseState,
  { node, last }: CommandOf<"outbox_sent">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  if (outbox.node !== node) return;
  for (const row of outbox.rows.values()) {
    if (isAfter(row.number, last)) return;
    outboxRecords.drop(outbox, row);
  }
}

/** Yields a sentence for each broken invariant. */
export function* checkOutbox(state: BaseState): Generator<string> {
  const { outbox, sessions } = state;
  yield* outboxRecords.check(outbox, "rows of the outbox");
  yield* publishedSessionRecords.check(outbox, "sessions that the outbox told of");
  yield* publishedAgentRecords.check(outbox, "agents that the outbox told of");
  yield* publishedPartRecords.check(outbox, "parts that the outbox told of");
  if (
    outbox.node === "" &&
    outbox.nodeParts.size +
      outbox.rows.size +
      outbox.sessions.size +
      outbox.agents.size +
      outbox.parts.size +
      outbox.projects.size >
      0
  )
    yield "the outbox has something, and nothing is shared";
  let last = { epoch: 0, n: 0 };
  for (const { number } of outbox.rows.values()) {
    if (!isAfter(number, last))
      yield `row ${number.epoch}.${number.n} of the outbox stands in the wrong place`;
    last = number;
  }
  if (isAfter(last, outbox.last)) yield "a row of the outbox has a number that was not given";
  const incarnations = new Set(outbox.sessions.keys());
  const agents = new Set(outbox.agents.keys());
  const parts = new Set(outbox.parts.keys());
  for (const session of sessions.live.values()) {
    const project = outbox.projects.get(session.project);
    if (project === undefined) continue;
    for (const { begun } of session.incarnations) {
      const id = sharedIdOf(outbox, session.id, begun) ?? "";
      const published = outbox.sessions.get(id);
      if (published === undefined || !isSame(published, sessionNow(state, session, { id, begun, project })))
        yield `the outbox did not tell how ${session.id} is`;
      incarnations.delete(id);
      for (const agent of session.agents.keys()) {
        const key = agentKey({ id, agent });
        const published = outbox.agents.get(key);
        if (published === undefined || !isSame(published, agentNow(state, session, id, agent)))
          yield `the outbox did not tell how ${agent} of ${id} is`;
        agents.delete(key);
      }
    }
    const [first] = session.incarnations;
    const id = first === undefined ? null : sharedIdOf(outbox, session.id, first.begun);
    if (outbox.level < partsLevel || id === null) continue;
    for (const [part, { agentsWith, tell }] of partsOf(state))
      for (const agent of agentsWith(state, session.id)) {
        if (tell(state, session.id, agent) === null) continue;
        const key = partKey({ id, agent, part });
        if (!parts.delete(key)) yield `the outbox did not tell the ${part} of ${agent} of ${id}`;
      }
  }
  for (const key of parts)
    yield `the outbox told of ${key.trim().replaceAll("\n", "/")}, which is nothing now`;
  for (const id of [...incarnations, ...agents])
    yield `the outbox told of ${id.replace("\n", "/")}, which is not alive or not shared`;
}

export const outboxRules: Rules<OutboxCommands> = {
  commands: { sharing_set: lasting(sharingSet), outbox_sent: freeing(outboxSent) },
  points: {
    daemonStarts: state => publishAll(state),
    sessionChanges: publish,
    agentBegins: publish,
    actorChanges: publishActor,
    partChanges: publishPart,
    nodePartChanges: (state, part) => publishNodePart(state, part),
    agentEnds: publishAgentEnd,
    sessionMoves: publishMove,
    sessionEnds: (state, { id }, cause) => publishEnd(state, id, cause),
  },
};
