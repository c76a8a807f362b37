/** What stands in the way of `kite install`: advice to install begins with what removes it. */
import { constants, existsSync, lstatSync } from "node:fs";
import { dirname } from "node:path";
import { userServers } from "../../hooks/claude-code/settings/files.ts";
import { launcherPath, mcpPath, programPaths } from "../../hooks/install/program.ts";
import type { ProcessContext } from "../process-context.ts";
import { type Advice, advise, aside } from "./advice.ts";
import { type OddFile, oddFile, oddFolder } from "./odd-file.ts";

const { R_OK, W_OK, X_OK } = constants;

/** Advice to run `line`, which installs, and before it what keeps it from writing the programs or the file of settings. */
export function adviseInstall(world: ProcessContext, say: string, line: string, settings: string): Advice {
  const found = obstacles(world, settings);
  const [first] = found;
  if (first === undefined) return advise(say, line);
  const lines = found.flatMap(({ line: one }) => (one === null ? [] : [one]));
  const [begin, ...more] = [...new Set(lines), line];
  const foreign = found.find(one => one.line === null);
  if (foreign !== undefined) return { todo: `${foreign.what}; ${foreign.advice.todo}, then: ${line}` };
  return advise(`an install would fail, since ${first.what}; mend that and ${say}`, begin ?? line, ...more);
}

function obstacles(world: ProcessContext, settings: string): OddFile[] {
  const tools = userServers(world.env).file;
  const found = [
    oddFolder(existing(dirname(settings)), W_OK | X_OK),
    oddFile(settings),
    oddFolder(dirname(tools), W_OK | X_OK),
    oddFile(tools),
    ...oddPrograms(world.paths.bin),
  ];
  return found.filter(odd => odd !== null);
}

function oddPrograms(bin: string): (OddFile | null)[] {
  const shut = oddFolder(bin, R_OK | W_OK | X_OK);
  if (shut !== null) return [shut];
  const { node, ...scripts } = programPaths(bin);
  return [
    ...[...Object.values(scripts), launcherPath(bin), mcpPath(bin)].map(path => oddFile(path)),
    oddLink(node),
  ];
}

/** An install replaces a file or a link, but no folder. */
function oddLink(node: string): OddFile | null {
  if (lstatSync(node, { throwIfNoEntry: false })?.isDirectory() !== true) return null;
  const line = aside(node);
  return { what: `${node} is a folder, not a link`, line, advice: advise("put it aside", line) };
}

/** Returns the path, or the nearest folder above it that is there. */
function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}
