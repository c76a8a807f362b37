/** Paths of the client's settings files. */
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { InstallFailed } from "../../install/failed.ts";

/** Returns the user's settings for all projects: in `CLAUDE_CONFIG_DIR`, else in `.claude` of the home directory. */
export function userSettings(env: Readonly<Record<string, string | undefined>>): string {
  const dir = env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
  return join(resolve(dir), "settings.json");
}

/** Returns a project's private settings file: `.claude/settings.local.json`. */
export function projectSettings(dir: string): string {
  return join(projectRoot(dir), ".claude", "settings.local.json");
}

/** Returns a project's committed settings file: `.claude/settings.json`. Throws if it is the person's own. */
export function sharedSettings(dir: string, env: Readonly<Record<string, string | undefined>>): string {
  const file = join(projectRoot(dir), ".claude", "settings.json");
  if (file !== userSettings(env)) return file;
  throw new InstallFailed(
    `${file} is your own settings file, not a project's; run kite install without --shared`,
  );
}

/**
 * Returns the worktree's root around `dir`, else `dir` itself, as a real path. Searches for `.git` without starting
 * git. Throws if `dir` does not exist.
 */
export function projectRoot(dir: string): string {
  if (!existsSync(dir))
    throw new InstallFailed(`the directory ${resolve(dir)} does not exist; Kite changed nothing`);
  const start = realpathSync(resolve(dir));
  for (let at = start; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return start;
  }
}
