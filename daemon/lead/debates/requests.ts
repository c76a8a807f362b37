/** debate_open, debate_challenge, _evidence, _answer, _concede, debate_close, debate_get, debate_list. */
import type { debateRequests } from "../../../protocol/lead/debate.ts";
import type { RequestOf } from "../../../protocol/schemas/requests.ts";
import { findDebate, isDebate } from "../../core/lead/debates.ts";
import type { NewEntry } from "../../core/lead/tables/debates.ts";
import type { Reply } from "../../core/tables/entries.ts";
import { projectOf } from "../../requests/caller.ts";
import { forward } from "../../requests/forward.ts";
import type { HandlersOf } from "../../requests/handler.ts";
import type { Steps } from "../../server/turns.ts";
import type { Services } from "../../services.ts";
import { debatePage, debateText } from "./rows.ts";

type Entering = "debate_challenge" | "debate_evidence" | "debate_answer" | "debate_concede";

export const debateHandlers: HandlersOf<typeof debateRequests> = {
  debate_open: forward<"debate_open">({
    command: ({ question, hypotheses, participants = null }, stamp) => ({
      type: "debate_open",
      ...{ ...stamp, question, hypotheses, participants },
    }),
    line,
  }),
  debate_challenge: entering<"debate_challenge">(({ hypothesis, text }) => ({
    kind: "challenge",
    ...{ hypothesis, text },
  })),
  debate_evidence: entering<"debate_evidence">(({ hypothesis, text, against = false }) => ({
    kind: "evidence",
    ...{ hypothesis, text, against },
  })),
  debate_answer: entering<"debate_answer">(({ challenge, text }) => ({ kind: "answer", challenge, text })),
  debate_concede: entering<"debate_concede">(({ hypothesis, text = null }) => ({
    kind: "concede",
    ...{ hypothesis, text },
  })),
  debate_close: forward<"debate_close">({
    command: ({ debate, verdict, because, force = false }, stamp) => ({
      type: "debate_close",
      ...{ ...stamp, debate, verdict, because, force },
    }),
    line,
  }),
  debate_get: (services, request, call) =>
    call.replyLong(() => found(services, request, projectOf(services, request, call))),
  debate_list: (services, request, call) =>
    call.replyLong(() => {
      const project = projectOf(services, request, call);
      return debatePage(services.engine.logOf(project), project, request);
    }),
};

function entering<T extends Entering>(entryOf: (request: RequestOf<T>) => NewEntry) {
  return forward<T>({
    command: (request, { by, project, wallMs }) => ({
      type: "debate_enter",
      ...{ by, debate: request.debate, project, entry: entryOf(request), wallMs },
    }),
    line,
  });
}

function* found(
  { engine }: Services,
  request: RequestOf<"debate_get">,
  project: string,
): Steps<string | Reply> {
  const log = engine.logOf(project);
  const debate = findDebate(log.state.debates, request.debate, log.project(project));
  return isDebate(debate) ? yield* debateText(log, debate, request.after ?? 0) : log.outward(debate);
}

/** The trail has actor and debate, without what was said. */
function line(reply: Reply): { readonly why: string } {
  const entry = reply.ok && "entry" in reply ? ` entry ${String(reply["entry"])}` : "";
  return { why: reply.ok ? `${String(reply["debate"])}${entry}` : "" };
}
