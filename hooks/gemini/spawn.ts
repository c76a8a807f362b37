import type { TerminalClient } from "../seam/spawn.ts";
import { geminiClient } from "./client.ts";

export const geminiSpawn: TerminalClient = {
  name: geminiClient.name,
  program: "gemini",
  words: ({ prompt, model }) => [
    ...(model === null ? [] : ["--model", model]),
    "--prompt-interactive",
    prompt,
  ],
};
