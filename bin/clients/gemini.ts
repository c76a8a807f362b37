/** Gemini CLI: Kite's hooks and tools for all projects, in one file. */
import { eventTableGemini as eventTable } from "../../hooks/clients/clients.ts";
import { settingsOf } from "../../hooks/install/gemini.ts";
import { filesClient } from "./files-client.ts";
import { geminiHere } from "./gemini-here.ts";

export const gemini = filesClient(geminiHere, {
  hooks: ({ paths, env }, hasTools) => settingsOf(paths, env, hasTools),
  tools: null,
  events: eventTable.map(({ event }) => event),
  inForce: "in sessions of Gemini CLI that start from now on",
});
