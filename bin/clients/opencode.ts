/** OpenCode: Kite's plugin and tools for all projects. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { events } from "../../hooks/clients/clients.ts";
import { pluginOf, toolsOf } from "../../hooks/install/opencode.ts";
import { dist } from "../program-paths.ts";
import { filesClient } from "./files-client.ts";
import { opencodeHere } from "./opencode-here.ts";

export const opencode = filesClient(opencodeHere, {
  hooks: ({ paths, env }) => pluginOf(paths, env, readFileSync(join(dist, "opencode-plugin.mjs"), "utf8")),
  tools: ({ paths, env }) => toolsOf(paths, env),
  events,
  inForce: "in sessions of OpenCode that start from now on",
});
