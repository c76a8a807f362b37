/** Whether OpenCode is here, and connected. */
import { existsSync } from "node:fs";
import { opencodeClient } from "../../hooks/clients/clients.ts";
import { configFolder, hasPlugin } from "../../hooks/install/opencode.ts";
import { type ClientHere, programOnPath } from "./client.ts";

const { name, title } = opencodeClient;

export const opencodeHere: ClientHere = {
  name,
  title,
  find: world => {
    const folder = configFolder(world.env);
    return programOnPath(world, name) ?? (existsSync(folder) ? folder : null);
  },
  isConnected: ({ env }) => hasPlugin(env),
};
