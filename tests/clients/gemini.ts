/** The real Gemini CLI. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { geminiEntries } from "../../hooks/install/gemini.ts";
import type { Turn, Wire } from "./model.ts";
import type { RealClient } from "./session.ts";

const part = z.object({
  text: z.string().default(""),
  functionResponse: z.object({ id: z.string().default(""), response: z.unknown() }).optional(),
});
const request = z.object({ contents: z.array(z.object({ parts: z.array(part) })) });

/** Enough of the API of Gemini's models. */
const wire: Wire = {
  isTurn: path => path.includes(":streamGenerateContent"),
  read: body => {
    const parts = request.parse(body).contents.flatMap(content => content.parts);
    const results = parts.flatMap(({ functionResponse: told }) =>
      told === undefined ? [] : [{ id: told.id, text: JSON.stringify(told.response) ?? "" }],
    );
    return { results, text: parts.map(({ text }) => text).join("\n") };
  },
  write: (response, turn) => {
    const content = { role: "model", parts: partsOf(turn) };
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    const answer = { candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${JSON.stringify(answer)}\r\n\r\n`);
  },
};

function partsOf(turn: Turn): readonly object[] {
  if ("say" in turn) return [{ text: turn.say }];
  return turn.calls.map(({ name, input }) => ({ functionCall: { name, args: input } }));
}

export const gemini: RealClient = {
  name: "gemini",
  wire,
  deniedBy: "Tool execution blocked: ",
  edit: (id, file, from, to) => {
    const input = { file_path: file, instruction: "Change it.", old_string: from, new_string: to };
    return { id, name: "replace", input };
  },
  line: (id, command) => ({ id, name: "run_shell_command", input: { command, description: "a command" } }),
  prepare: (home, modelUrl, { hookMs }) => {
    const entries = geminiEntries(null).map(([event, { hooks, ...group }]) => {
      const limit = event === "BeforeTool" && hookMs !== undefined ? { timeout: hookMs } : {};
      return [event, [{ ...group, hooks: hooks.map(hook => ({ ...hook, ...limit })) }]];
    });
    const security = { auth: { selectedType: "gemini-api-key" } };
    mkdirSync(join(home, ".gemini"), { recursive: true });
    const settings = { security, hooks: Object.fromEntries(entries) };
    writeFileSync(join(home, ".gemini", "settings.json"), JSON.stringify(settings));
    return {
      program: process.execPath,
      args: [
        process.env["KITE_TEST_GEMINI"] ?? "",
        ...["-m", "gemini-2.5-flash", "--yolo", "-o", "json", "-p", "Do what the script says."],
      ],
      env: {
        GEMINI_API_KEY: "dummy-key-of-a-test",
        GOOGLE_GEMINI_BASE_URL: modelUrl,
        GEMINI_CLI_TRUST_WORKSPACE: "true",
        GEMINI_CLI_NO_RELAUNCH: "true",
        NO_BROWSER: "true",
      },
    };
  },
};
