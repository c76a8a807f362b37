/** The rules of the outbox: see `core/rules.ts`. */
import type { BaseState } from "../base-state.ts";
import { freeing, lasting } from "../durability.ts";
import { isNodeId, refuseNodeId } from "../nodes/shared-ids.ts";
import { isAfter } from "../nodes/table.ts";
import type { Handler, Rules } from "../rules.ts";
import { isSame } from "../same-index.ts";
import type { OutboxCommands } from "./commands.ts";
import { toldAgentNow, toldNow } from "./now.ts";
import {
  forgetTold,
  publish,
  publishActor,
  publishAgentEnd,
  publishAll,
  publishEnd,
  publishMove,
  sharedIdOf,
} from "./publish.ts";
import { agentKey, outboxRecords, toldAgentRecords, toldRecords } from "./table.ts";

const sharingSet: Handler<"sharing_set"> = (state, { node, projects, relayed }, _meta, step) => {
  const { outbox } = state;
  if (node !== "" && !isNodeId(node)) {
    step.reply = refuseNodeId(node);
    return;
  }
  const isBehind = relayed !== undefined && isAfter(relayed, outbox.last);
  // The shared log has given its ids to others since, or ended them.
  if (outbox.node !== node || isBehind) forgetTold(state);
  if (isBehind) outbox.last = relayed;
  outbox.node = node;
  outbox.projects.clear();
  for (const [project, as] of node === "" ? [] : projects) outbox.projects.set(project, as);
  publishAll(state);
  step.reply = { ok: true };
};

const outboxSent: Handler<"outbox_sent"> = ({ outbox }, { node, last }, _meta, step) => {
  step.reply = { ok: true };
  if (outbox.node !== node) return;
  for (const row of outbox.rows.values()) {
    if (isAfter(row.number, last)) return;
    outboxRecords.drop(outbox, row);
  }
};

/** Yields a sentence for each broken invariant. */
export function* checkOutbox(state: BaseState): Generator<string> {
  const { outbox, sessions } = state;
  yield* outboxRecords.check(outbox, "rows of the outbox");
  yield* toldRecords.check(outbox, "sessions that the outbox told of");
  yield* toldAgentRecords.check(outbox, "agents that the outbox told of");
  if (
    outbox.node === "" &&
    outbox.rows.size + outbox.told.size + outbox.agents.size + outbox.projects.size > 0
  )
    yield "the outbox has something, and nothing is shared";
  let last = { epoch: 0, n: 0 };
  for (const { number } of outbox.rows.values()) {
    if (!isAfter(number, last))
      yield `row ${number.epoch}.${number.n} of the outbox stands in the wrong place`;
    last = number;
  }
  if (isAfter(last, outbox.last)) yield "a row of the outbox has a number that was not given";
  const told = new Set(outbox.told.keys());
  const agents = new Set(outbox.agents.keys());
  for (const session of sessions.live.values()) {
    const project = outbox.projects.get(session.project);
    if (project === undefined) continue;
    for (const { begun } of session.incarnations) {
      const id = sharedIdOf(outbox, session.id, begun) ?? "";
      const said = outbox.told.get(id);
      if (said === undefined || !isSame(said, toldNow(state, session, { id, begun, project })))
        yield `the outbox did not tell how ${session.id} is`;
      told.delete(id);
      for (const agent of session.agents.keys()) {
        const key = agentKey({ id, agent });
        const said = outbox.agents.get(key);
        if (said === undefined || !isSame(said, toldAgentNow(state, session, id, agent)))
          yield `the outbox did not tell how ${agent} of ${id} is`;
        agents.delete(key);
      }
    }
  }
  for (const id of [...told, ...agents])
    yield `the outbox told of ${id.replace("\n", "/")}, which is not alive or not shared`;
}

export const outboxRules: Rules<OutboxCommands> = {
  commands: { sharing_set: lasting(sharingSet), outbox_sent: freeing(outboxSent) },
  points: {
    daemonStarts: state => publishAll(state),
    sessionChanges: publish,
    agentBegins: publish,
    actorChanges: publishActor,
    agentEnds: publishAgentEnd,
    sessionMoves: publishMove,
    sessionEnds: (state, { id }, cause) => publishEnd(state, id, cause),
  },
};
