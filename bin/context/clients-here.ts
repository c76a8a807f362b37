/**
 * The agents' clients that Kite can connect, as far as frequent commands need them. `bin/install/clients.ts` knows the
 * rest, and loads what writes their files.
 */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { commandsIn, userSettings } from "../../hooks/claude-code/settings/files.ts";
import { clientName, clientProgram } from "../../hooks/claude-code/spawn.ts";
import { copilotClient, geminiClient, opencodeClient } from "../../hooks/clients/clients.ts";
import { codexHome, clientName as codexName, hasHooks } from "../../hooks/install/codex.ts";
import { copilotHome, hasHooks as hasCopilotHooks } from "../../hooks/install/copilot.ts";
import { InstallFailed } from "../../hooks/install/file.ts";
import { geminiFolder, hasHooks as hasGeminiHooks } from "../../hooks/install/gemini.ts";
import { configFolder, hasPlugin } from "../../hooks/install/opencode.ts";
import { installsOf } from "../../hooks/install/records.ts";
import type { ProcessContext } from "./process-context.ts";
import { programOnPath } from "./programs.ts";

/** What shows whether a client is here, and connected. */
export interface ClientHere {
  /** What a person types: `kite install --client NAME`. */
  readonly name: string;
  /** What a person reads. */
  readonly title: string;
  /** Returns the program or folder that shows that the person has it; null if it is not here. */
  find(world: ProcessContext): string | null;
  /** Returns true if Kite's hooks are in a file of it; what cannot be read counts as none. */
  isConnected(world: Pick<ProcessContext, "env" | "paths">): boolean;
}

// Whether Claude Code is here, and connected.

export const claudeCodeHere: ClientHere = {
  name: clientName,
  title: "Claude Code",
  find: world => {
    const { env } = world;
    const folder = env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
    return programOnPath(world, clientProgram) ?? (existsSync(folder) ? folder : null);
  },
  isConnected,
};

function isConnected({ env, paths }: Pick<ProcessContext, "env" | "paths">): boolean {
  if (commandsIn(userSettings(env), paths.bin).length > 0) return true;
  try {
    return installsOf(paths.installs, null).some(({ file }) => commandsIn(file, paths.bin).length > 0);
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return false;
  }
}

// Whether Codex is here, and connected.

export const codexHere: ClientHere = {
  name: codexName,
  title: "Codex",
  find: world => {
    const folder = codexHome(world.env);
    return programOnPath(world, codexName) ?? (existsSync(folder) ? folder : null);
  },
  isConnected: ({ paths, env }) => hasHooks(paths, env),
};

// Whether Copilot is here, and connected.

const { name, title } = copilotClient;

export const copilotHere: ClientHere = {
  name,
  title,
  find: world => {
    const folder = copilotHome(world.env);
    return programOnPath(world, name) ?? (existsSync(folder) ? folder : null);
  },
  isConnected: ({ env }) => hasCopilotHooks(env),
};

// Whether Gemini CLI is here, and connected.

const { name: geminiName, title: geminiTitle } = geminiClient;

export const geminiHere: ClientHere = {
  name: geminiName,
  title: geminiTitle,
  find: world => {
    const folder = geminiFolder(world.env);
    return programOnPath(world, geminiName) ?? (existsSync(folder) ? folder : null);
  },
  isConnected: ({ paths, env }) => hasGeminiHooks(paths, env),
};

// Whether OpenCode is here, and connected.

const { name: opencodeName, title: opencodeTitle } = opencodeClient;

export const opencodeHere: ClientHere = {
  name: opencodeName,
  title: opencodeTitle,
  find: world => {
    const folder = configFolder(world.env);
    return programOnPath(world, opencodeName) ?? (existsSync(folder) ? folder : null);
  },
  isConnected: ({ env }) => hasPlugin(env),
};

export const knownClients: readonly ClientHere[] = [
  claudeCodeHere,
  codexHere,
  opencodeHere,
  copilotHere,
  geminiHere,
];
