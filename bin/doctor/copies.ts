/** Whether the copies of Kite's programs that hooks run are those of this Kite. */
import { constants, existsSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { InstallFailed, readText } from "../../hooks/install/file.ts";
import { clientFiles, launcherFor, launcherPath, programPaths } from "../../hooks/install/program.ts";
import { limits } from "../../protocol/limits.ts";
import type { ProcessContext } from "../process-context.ts";
import { oddFile, oddFolder } from "./odd-file.ts";

interface CopiesProblem {
  readonly detail: string;
  /** Hooks that run the copies fail. */
  readonly isBroken: boolean;
}

const { R_OK, X_OK } = constants;

/** Returns what is wrong with the copies of this Kite, which was built into `dist`; null if nothing is, or there are none. */
export function copiesProblem(
  { paths, env }: Pick<ProcessContext, "paths" | "env">,
  dist: string,
): CopiesProblem | null {
  const { bin } = paths;
  const shut = oddFolder(bin, R_OK | X_OK);
  if (shut !== null) return { detail: `${shut.what}, so no hook runs`, isBroken: true };
  if (!existsSync(bin)) return null;
  const { node, portable, statusLine } = programPaths(bin);
  const start = launcherPath(bin);
  for (const path of [...clientFiles.map(name => join(bin, name)), portable, statusLine, start]) {
    const detail = unfit(path);
    if (detail !== null) return { detail, isBroken: true };
  }
  const old = clientFiles.find(name => !isSame(join(bin, name), join(dist, name)));
  if (old !== undefined) {
    return { detail: `${join(bin, old)} belongs to another version of Kite`, isBroken: false };
  }
  const detail = unfitNode(node);
  if (detail !== null) return { detail, isBroken: true };
  const program = (text: string) => text.trimEnd().split("\n").at(-1);
  if (program(contentOf(start)) === program(launcherFor({ paths, dist, env }))) return null;
  return { detail: `${start} does not start the daemon of this Kite`, isBroken: false };
}

/** Returns why a program that an install wrote cannot run, or null. */
export function unfit(path: string): string | null {
  const odd = oddFile(path, R_OK | X_OK);
  if (odd !== null) return odd.what;
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return `${path} is missing`;
  return stat.size === 0 ? `${path} is empty` : null;
}

/** The same of the link to Node. */
function unfitNode(node: string): string | null {
  const stat = statSync(node, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return `${node} is a folder, not a link to Node`;
  return stat === undefined
    ? `${node} leads to no program: the Node that started Kite was removed`
    : unfit(realpathSync(node));
}

function isSame(one: string, other: string): boolean {
  const text = contentOf(one);
  return text !== "" && text === contentOf(other);
}

/** Returns the file's text; "" if it does not exist or is no regular file. */
function contentOf(path: string): string {
  try {
    return readText(path, limits.settingsBytes) ?? "";
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return "";
  }
}
