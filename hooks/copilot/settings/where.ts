/** Where the client's files are, and whether it has Kite's hooks. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { linkTarget, readText } from "../../install/read-file.ts";
import { copilotClient } from "../client.ts";

export const clientName = copilotClient.name;

export type Env = Readonly<Record<string, string | undefined>>;

/** Returns the client's own folder: `COPILOT_HOME`, else `.copilot` of the home directory. */
export function copilotHome(env: Env): string {
  return resolve(env["COPILOT_HOME"] || join(env["HOME"] || homedir(), ".copilot"));
}

/** The client reads every file of this folder, without asking. */
export function hooksFile(env: Env): string {
  return join(copilotHome(env), "hooks", "kite.json");
}

export function serversFile(env: Env): string {
  return join(copilotHome(env), "mcp-config.json");
}

/** Returns true if Kite's file is there; what cannot be read counts as none. */
export function hasHooks(env: Env): boolean {
  try {
    return isKites(readText(linkTarget(hooksFile(env)), limits.settingsBytes) ?? "");
  } catch {
    return false;
  }
}

/** Returns true for the text of Kite's own file, present or older. */
export function isKites(text: string): boolean {
  return text.startsWith('{\n  "version": 1,\n  "hooks": {') && text.includes("/bin/hook");
}
