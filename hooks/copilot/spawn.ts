import type { TerminalClient } from "../seam/spawn.ts";

export const copilotSpawn: TerminalClient = {
  name: "copilot",
  program: "copilot",
  words: ({ name, prompt, model }) => [
    ...["--name", name],
    ...(model === null ? [] : ["--model", model]),
    ...["--interactive", prompt],
  ],
};
