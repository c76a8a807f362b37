/** Whether Gemini CLI is here, and connected. */
import { existsSync } from "node:fs";
import { geminiClient } from "../../hooks/clients/clients.ts";
import { geminiFolder, hasHooks } from "../../hooks/install/gemini.ts";
import { type ClientHere, programOnPath } from "./client.ts";

const { name, title } = geminiClient;

export const geminiHere: ClientHere = {
  name,
  title,
  find: world => {
    const folder = geminiFolder(world.env);
    return programOnPath(world, name) ?? (existsSync(folder) ? folder : null);
  },
  isConnected: ({ paths, env }) => hasHooks(paths, env),
};
