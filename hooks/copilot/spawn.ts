import type { TerminalClient } from "../seam/spawn.ts";
import { copilotClient } from "./client.ts";

export const copilotSpawn: TerminalClient = {
  name: copilotClient.name,
  program: "copilot",
  words: ({ name, prompt, model }) => [
    ...["--name", name],
    ...(model === null ? [] : ["--model", model]),
    ...["--interactive", prompt],
  ],
};
