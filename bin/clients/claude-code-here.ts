/** Whether Claude Code is here, and connected. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { commandsIn, userSettings } from "../../hooks/claude-code/settings/files.ts";
import { clientName, clientProgram } from "../../hooks/claude-code/spawn.ts";
import { InstallFailed } from "../../hooks/install/file.ts";
import { installsOf } from "../../hooks/install/records.ts";
import type { ProcessContext } from "../process-context.ts";
import { type ClientHere, programOnPath } from "./client.ts";

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
