import type { TerminalClient } from "../seam/spawn.ts";
import { codexClient } from "./client.ts";

/**
 * The session stays in the window's own process: the client's server in the background has the environment of the window that
 * started it, and outlives this one.
 */
export const codexSpawn: TerminalClient = {
  name: codexClient.name,
  program: "codex",
  words: ({ prompt, model }) => [
    ...["--disable", "daemon_auto_start"],
    ...(model === null ? [] : ["--model", model]),
    prompt,
  ],
};
