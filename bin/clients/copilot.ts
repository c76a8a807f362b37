/** Copilot: Kite's hooks, in a file of their own, and its tools for all projects. */
import { eventTable } from "../../hooks/clients/clients.ts";
import { hooksOf, toolsOf } from "../../hooks/install/copilot.ts";
import { copilotHere } from "./copilot-here.ts";
import { filesClient } from "./files-client.ts";

export const copilot = filesClient(copilotHere, {
  hooks: ({ paths, env }) => hooksOf(paths, env),
  tools: ({ paths, env }) => toolsOf(paths, env),
  events: eventTable.map(({ event }) => event),
  inForce: "in sessions of Copilot that start from now on",
});
