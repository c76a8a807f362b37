/** The real Copilot. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { copilotHooks } from "../../hooks/copilot/settings/entries.ts";
import type { Turn, Wire } from "./model.ts";
import type { RealClient } from "./session.ts";

const program = process.env["KITE_TEST_COPILOT"] ?? "";

const request = z.object({
  messages: z.array(
    z.object({ role: z.string(), content: z.unknown(), tool_call_id: z.string().default("") }),
  ),
});

/** Enough of the Chat Completions API. */
const wire: Wire = {
  isTurn: path => path.endsWith("/chat/completions"),
  read: body => {
    const { messages } = request.parse(body);
    const results = messages
      .filter(({ role }) => role === "tool")
      .map(({ tool_call_id: id, content }) => ({ id, text: textOf(content) }));
    return { results, text: messages.map(({ content }) => textOf(content)).join("\n") };
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

function textOf(content: unknown): string {
  return typeof content === "string" ? content : (JSON.stringify(content) ?? "");
}

export const copilot: RealClient = {
  name: "copilot",
  wire,
  deniedBy: "Denied by preToolUse hook: ",
  edit: (id, file, from, to) => ({ id, name: "edit", input: { path: file, old_str: from, new_str: to } }),
  line: (id, command) => ({ id, name: "bash", input: { command, description: "a command" } }),
  prepare: (home, modelUrl, hookMs) => {
    const folder = join(home, ".copilot", "hooks");
    mkdirSync(folder, { recursive: true });
    const file = copilotHooks(null);
    const before = file.hooks["PreToolUse"]?.map(entry => ({
      ...entry,
      ...(hookMs === undefined ? {} : { timeoutSec: hookMs / 1000 }),
    }));
    const text = JSON.stringify({ ...file, hooks: { ...file.hooks, PreToolUse: before } });
    writeFileSync(join(folder, "kite.json"), text);
    // What the program unpacks takes a while, and was unpacked beside it.
    mkdirSync(join(home, ".cache"), { recursive: true });
    const installed = dirname(dirname(dirname(dirname(program))));
    symlinkSync(join(installed, ".cache", "copilot"), join(home, ".cache", "copilot"));
    const free = ["--allow-all-tools", "--allow-all-paths", "--no-color", "--log-level", "error"];
    return {
      program,
      args: [...free, "-p", "Do what the script says."],
      env: {
        COPILOT_PROVIDER_BASE_URL: modelUrl,
        COPILOT_PROVIDER_API_KEY: "dummy-key-of-a-test",
        COPILOT_OFFLINE: "true",
        COPILOT_AUTO_UPDATE: "false",
        COPILOT_MODEL: "claude-sonnet-4.5",
      },
    };
  },
};
