/** Whether the copies of Kite's programs that hooks run are those of this Kite. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { InstallFailed } from "../../hooks/install/failed.ts";
import { launcherPath } from "../../hooks/install/launcher.ts";
import { clientFiles, launcherFor, programPaths } from "../../hooks/install/program.ts";
import { readText } from "../../hooks/install/read-file.ts";
import { limits } from "../../protocol/limits.ts";
import type { ProcessContext } from "../process-context.ts";

interface CopiesProblem {
  readonly detail: string;
  /** Hooks that run the copies fail. */
  readonly isBroken: boolean;
}

/** Returns what is wrong with the copies of this Kite, which was built into `dist`; null if nothing is, or there are none. */
export function copiesProblem(
  { paths, env }: Pick<ProcessContext, "paths" | "env">,
  dist: string,
): CopiesProblem | null {
  if (!existsSync(paths.bin)) return null;
  const old = clientFiles.find(name => !isSame(join(paths.bin, name), join(dist, name)));
  if (old !== undefined) {
    return { detail: `${join(paths.bin, old)} belongs to another version of Kite`, isBroken: false };
  }
  const { node } = programPaths(paths.bin);
  if (!existsSync(node)) {
    return {
      detail: `${node} leads to no program: the Node that started Kite was removed`,
      isBroken: true,
    };
  }
  const start = launcherPath(paths.bin);
  const program = (text: string) => text.trimEnd().split("\n").at(-1);
  if (program(contentOf(start)) === program(launcherFor({ paths, dist, env }))) return null;
  return { detail: `${start} does not start the daemon of this Kite`, isBroken: false };
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
