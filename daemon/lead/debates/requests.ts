/** debate_open, debate_challenge, _evidence, _answer, _concede, debate_close, debate_get, debate_list. */
import type { RequestOf } from "../../../protocol/requests.ts";
import type { Actor } from "../../core/actor.ts";
import type { Command } from "../../core/commands.ts";
import type { NewEntry } from "../../core/lead/debates/commands.ts";
import { findDebate, isDebate } from "../../core/lead/debates/replies.ts";
import type { Reply } from "../../core/outcome.ts";
import { type Asking, callerOf, projectOf } from "../../requests/caller.ts";
import type { RequestHandler } from "../../requests/handler.ts";
import { type Call, retryOf } from "../../server/call.ts";
import type { Steps } from "../../server/turns.ts";
import type { Services } from "../../services.ts";
import { signOfLife } from "../../sessions/commands.ts";
import { noteReply } from "../../trail/decisions.ts";
import { debatePage, debateText } from "./rows.ts";

export const debateOpen: RequestHandler<"debate_open"> = (services, request, call) => {
  const { question, hypotheses, participants = null } = request;
  const by = speakerOf(services, request, call);
  return propose(services, call, by, {
    type: "debate_open",
    by,
    project: projectOf(services, request, call),
    question,
    hypotheses,
    participants,
    wallMs: services.clock.wall(),
    ...retryOf(request, call),
  });
};

export const debateChallenge: RequestHandler<"debate_challenge"> = (services, request, call) => {
  const { hypothesis, text } = request;
  return enter(services, request, call, { kind: "challenge", hypothesis, text });
};

export const debateEvidence: RequestHandler<"debate_evidence"> = (services, request, call) => {
  const { hypothesis, text, against = false } = request;
  return enter(services, request, call, { kind: "evidence", hypothesis, text, against });
};

export const debateAnswer: RequestHandler<"debate_answer"> = (services, request, call) => {
  const { challenge, text } = request;
  return enter(services, request, call, { kind: "answer", challenge, text });
};

export const debateConcede: RequestHandler<"debate_concede"> = (services, request, call) => {
  const { hypothesis, text = null } = request;
  return enter(services, request, call, { kind: "concede", hypothesis, text });
};

export const debateClose: RequestHandler<"debate_close"> = (services, request, call) => {
  const { debate, verdict, because, force = false } = request;
  const by = speakerOf(services, request, call);
  const project = projectOf(services, request, call);
  const said = { debate, project, verdict, because, force, wallMs: services.clock.wall() };
  return propose(services, call, by, { type: "debate_close", by, ...said, ...retryOf(request, call) });
};

export const debateGet: RequestHandler<"debate_get"> = (services, request, call) =>
  call.replyLong(() => found(services, request, projectOf(services, request, call)));

function* found(
  { engine }: Services,
  request: RequestOf<"debate_get">,
  project: string,
): Steps<string | Reply> {
  const debate = findDebate(engine.state.debates, request.debate, project);
  return isDebate(debate) ? yield* debateText(debate, request.after ?? 0) : debate;
}

export const debateList: RequestHandler<"debate_list"> = (services, request, call) =>
  call.replyLong(() => debatePage(services.engine.state, projectOf(services, request, call), request));

function enter(
  services: Services,
  request: Asking & { readonly debate: string; readonly requestId?: string | undefined },
  call: Call,
  entry: NewEntry,
): undefined {
  const by = speakerOf(services, request, call);
  const project = projectOf(services, request, call);
  const said = { debate: request.debate, project, entry, wallMs: services.clock.wall() };
  return propose(services, call, by, { type: "debate_enter", by, ...said, ...retryOf(request, call) });
}

/** Returns who speaks, and notes the sign of life; null: a person. */
function speakerOf(services: Services, request: Asking, call: Call): Actor | null {
  if (request.id !== undefined) signOfLife(services, request.id, request.agent ?? null);
  return callerOf(services, request, call);
}

/** Proposes, and writes actor and debate to the trail, without what was said. */
function propose(services: Services, call: Call, by: Actor | null, command: Command): undefined {
  call.propose(command, reply => {
    const entry = reply.ok && "entry" in reply ? ` entry ${String(reply["entry"])}` : "";
    const why = reply.ok ? `${String(reply["debate"])}${entry}` : "";
    noteReply(services, call.type, by, reply, { why });
    return reply;
  });
  return undefined;
}
