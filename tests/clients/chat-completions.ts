/** Enough of the Chat Completions API for one session of a real client. */
import * as z from "zod";
import type { Turn, Wire } from "./model.ts";

const content = z.union([z.string(), z.array(z.object({ text: z.string().default("") }))]).nullish();
const message = z.object({ role: z.string(), content, tool_call_id: z.string().optional() });
const request = z.object({ messages: z.array(message), tools: z.array(z.unknown()).default([]) });

export const chatCompletions: Wire = {
  isTurn: path => path.endsWith("/chat/completions"),
  read: body => {
    const { messages, tools } = request.parse(body);
    // A request without tools is the one for a title.
    if (tools.length === 0) return null;
    const results = messages.flatMap(one =>
      one.tool_call_id === undefined ? [] : [{ id: one.tool_call_id, text: textOf(one) }],
    );
    const prompt = textOf(messages.find(({ role }) => role === "user"));
    return { results, text: messages.map(textOf).join("\n"), prompt };
  },
  write: (response, turn) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (choice: object | null) => {
      const choices = choice === null ? [] : [{ index: 0, finish_reason: null, ...choice }];
      const usage = choice === null ? { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } : undefined;
      const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices, usage };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    send({ delta: { role: "assistant", ...deltaOf(turn) } });
    send({ delta: {}, finish_reason: "calls" in turn ? "tool_calls" : "stop" });
    send(null);
    response.end("data: [DONE]\n\n");
  },
};

function deltaOf(turn: Turn): object {
  if ("say" in turn) return { content: turn.say };
  const calls = turn.calls.map(({ id, name, input }, index) => {
    const call = { name, arguments: JSON.stringify(input) };
    return { index, id, type: "function", function: call };
  });
  return { content: null, tool_calls: calls };
}

function textOf(one: z.infer<typeof message> | undefined): string {
  const { content: said } = one ?? {};
  return typeof said === "string" ? said : (said ?? []).map(({ text }) => text).join("\n");
}
