import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { InstallFailed } from "../../install/failed.ts";

/** The settings of the user, for all projects: in `CLAUDE_CONFIG_DIR`, else in `.claude` of the home directory. */
export function userSettings(env: Readonly<Record<string, string | undefined>>): string {
  const dir = env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
  return join(resolve(dir), "settings.json");
}

/** The settings file of a project that its owner does not share: `.claude/settings.local.json`. */
export function projectSettings(dir: string): string {
  return join(projectRoot(dir), ".claude", "settings.local.json");
}

/**
 * The worktree's root around `dir`, else `dir` itself; real paths. Found by looking for `.git`, without starting
 * git. Throws where `dir` does not exist.
 */
export function projectRoot(dir: string): string {
  if (!existsSync(dir)) throw new InstallFailed(`there is no directory ${resolve(dir)}; nothing was done`);
  const start = realpathSync(resolve(dir));
  for (let at = start; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return start;
  }
}

/**
 * The file behind symbolic links, also where it does not exist yet: writing it must not replace the link.
 * Throws where links go in a cycle.
 */
export function linkTarget(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  let at = path;
  for (let hops = 0; hops < 40; hops += 1) {
    if (!lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) return at;
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw new InstallFailed(`${path} is a link that leads nowhere; remove it or point it at a file`);
}
