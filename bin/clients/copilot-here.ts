/** Whether Copilot is here, and connected. */
import { existsSync } from "node:fs";
import { copilotClient } from "../../hooks/clients/clients.ts";
import { copilotHome, hasHooks } from "../../hooks/install/copilot.ts";
import { type ClientHere, programOnPath } from "./client.ts";

const { name, title } = copilotClient;

export const copilotHere: ClientHere = {
  name,
  title,
  find: world => {
    const folder = copilotHome(world.env);
    return programOnPath(world, name) ?? (existsSync(folder) ? folder : null);
  },
  isConnected: ({ env }) => hasHooks(env),
};
