/** Finds where sessions work without Kite's hooks. */
import { existsSync } from "node:fs";
import { commandsIn, settingsAt, userSettings } from "../../hooks/claude-code/settings/files.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { ProcessContext } from "../process-context.ts";
import { projectRoot } from "../view/places.ts";
import { listed } from "../view/text.ts";

/** How Claude Code names its sessions. */
const claudeId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns the directories in which Claude Code's sessions work without Kite's hooks, in the user's and in the project's
 * settings. Edits there take no locks. Omits directories that no longer exist.
 */
export function unhooked(world: ProcessContext, sessions: readonly SessionRow[]): string[] {
  const { bin } = world.paths;
  const has = (settings: string) => commandsIn(settings, bin).length > 0;
  // Sessions of scripts and of `kite lock` in a terminal need no hooks.
  const needing = sessions.filter(({ id }) => claudeId.test(id));
  if (needing.length === 0 || has(userSettings(world.env))) return [];
  const found = new Map<string, boolean>();
  for (const { worktree, project } of needing) {
    if (found.has(worktree) || !existsSync(worktree)) continue;
    const places = new Set([worktree, projectRoot(project)]);
    found.set(worktree, ![...places].flatMap(settingsAt).some(has));
  }
  return [...found].filter(([, isBare]) => isBare).map(([worktree]) => worktree);
}

const namedMax = 3;

/** The directories in half a sentence: the first ones, and how many more. */
export function placesIn(directories: readonly string[]): string {
  return listed(directories.slice(0, namedMax), Math.max(0, directories.length - namedMax));
}
