/** Whether Codex is here, and connected. */
import { existsSync } from "node:fs";
import { clientName, codexHome, hasHooks } from "../../hooks/install/codex.ts";
import { type ClientHere, programOnPath } from "./client.ts";

export const codexHere: ClientHere = {
  name: clientName,
  title: "Codex",
  find: world => {
    const folder = codexHome(world.env);
    return programOnPath(world, clientName) ?? (existsSync(folder) ? folder : null);
  },
  isConnected: ({ paths, env }) => hasHooks(paths, env),
};
