/** Checks whether agents and people find the program `kite`, and whether they find this one. */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { processWords } from "../../daemon/facts/programs.ts";
import { limits } from "../../protocol/limits.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { shellArgument } from "../../protocol/text.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { foldersOf } from "../context/programs.ts";
import { dist, version } from "../version.ts";
import { clean, listed } from "../view/text.ts";
import type { Check } from "./results.ts";
import { type Advice, advise, ok, warn } from "./results.ts";

const check = "path";

/** This Kite's own program, which PATH should lead to. */
export const own = join(dist, "..", "bin", "kite");

export function checkPath(world: ProcessContext): Check {
  const folders = foldersOf(world.env["PATH"]);
  const found = folders.map(folder => join(folder, "kite")).find(isThere);
  if (found === undefined) {
    const detail = "no kite on the PATH of this shell: agents that start here cannot run it";
    return warn(check, detail, linked(world, folders));
  }
  if (!existsSync(found)) {
    const detail = `${found} is a link to a program that is gone`;
    const line = `ln -sf ${shellArgument(own)} ${shellArgument(found)}`;
    return warn(check, detail, advise("point it at this Kite", line));
  }
  const other = versionOf(found);
  if (other === version) return ok(check, found);
  const detail =
    other === null
      ? `${found} is another program of that name, not Kite`
      : `${found} is version ${clean(other)}, this program is ${version}`;
  const todo = `put this Kite before it in PATH, or point it here: ln -sf ${shellArgument(own)} ${shellArgument(found)}`;
  return warn(check, detail, todo);
}

/** Checks the PATH with which the clients of live sessions were started, where the system tells it. */
export function checkSessionPaths(sessions: readonly SessionRow[]): Check[] {
  const without = sessions.filter(({ pid }) => {
    const path = pid === null ? null : (processWords(pid)?.env?.("PATH") ?? null);
    return path !== null && !foldersOf(path).some(folder => isProgram(join(folder, "kite")));
  });
  if (without.length === 0) return [];
  const names = listed(
    without.slice(0, 5).map(({ name }) => clean(name)),
    Math.max(0, without.length - 5),
  );
  const detail = `no kite on the PATH with which these sessions were started: ${names}`;
  return [warn(check, detail, "start them again from a shell that finds kite")];
}

/** A link counts even if its target is gone: a shell stops there. */
export function isThere(path: string): boolean {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isProgram(path) || (isLink && !existsSync(path));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // Missing, or not for this user: the shell goes on to the next folder.
  }
}

/** Returns the version that the program says it has; null if it is no Kite. */
export function versionOf(path: string): string | null {
  if (existsSync(own) && realpathSync(path) === realpathSync(own)) return version;
  const ran = spawnSync(path, ["--version"], {
    encoding: "utf8",
    timeout: limits.mcpStartMs,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return ran.status === 0 ? (/^(\d+\.\d+\.\d+\S*)\s*$/.exec(ran.stdout)?.[1] ?? null) : null;
}

/** Advice to link the program into a folder of PATH that is the user's own; else to extend PATH. */
function linked(world: ProcessContext, folders: readonly string[]): Advice | string {
  const home = world.env["HOME"] ?? "";
  const isOwn = (folder: string) => home !== "" && folder.startsWith(`${home}/`);
  const folder = folders.find(one => (isOwn(one) || one === "/usr/local/bin") && isWritable(one));
  if (folder === undefined)
    return `add Kite's folder to PATH where your shell starts: PATH="$PATH:${join(dist, "..", "bin")}"`;
  const line = `ln -s ${shellArgument(own)} ${shellArgument(join(folder, "kite"))}`;
  return advise("link it into a folder of PATH", line);
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false; // Missing, or somebody else's.
  }
}
