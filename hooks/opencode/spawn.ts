import type { TerminalClient } from "../seam/spawn.ts";
import { opencodeClient } from "./client.ts";

export const opencodeSpawn: TerminalClient = {
  name: opencodeClient.name,
  program: "opencode",
  words: ({ prompt, model }) => [...(model === null ? [] : ["--model", model]), "--prompt", prompt],
};
