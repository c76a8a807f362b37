import type { TerminalClient } from "../seam/spawn.ts";

export const geminiSpawn: TerminalClient = {
  name: "gemini",
  program: "gemini",
  words: ({ prompt, model }) => [
    ...(model === null ? [] : ["--model", model]),
    "--prompt-interactive",
    prompt,
  ],
};
