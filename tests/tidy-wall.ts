/**
 * The wall between the base and what leads agents. The leading half lives in a folder `lead/` on each floor and imports the
 * base; the base never imports it. The two meet in the lists of slices.
 */
import { dirname, normalize } from "node:path/posix";
import { functionsOf } from "./tidy-grain.ts";
import { codeOf, importsOf, type Source } from "./tidy-source.ts";

/** How many lists there are at most, and how long a function of one may be: a list is a file of rows and nothing else. */
export const listsMax = 16;
export const listFunctionLinesMax = 20;

/** The files that list the slices of a floor, of both halves. */
export const lists: ReadonlySet<string> = new Set([
  "bin/command-table.ts",
  "bin/leading.ts",
  "bin/mcp/tool-list.ts",
  "bin/row-list.ts",
  "bin/view/features.ts",
  "daemon/config/settings.ts",
  "daemon/core/slices.ts",
  "daemon/core/state.ts",
  "daemon/leading.ts",
  "daemon/views/columns.ts",
  "hooks/plans/slices.ts",
  "hooks/claude-code/slices.ts",
  "hooks/seam/slices.ts",
  "protocol/limits.ts",
  "protocol/schemas/leading.ts",
]);

/** What stands on both halves and shows them: nothing but the list of commands imports it. */
const top = /^bin\/web\//;

/** Imports of what stands on top, by anything but the list of commands. */
export function importsOfTop(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) =>
    top.test(path) || path === "bin/command-table.ts"
      ? []
      : targetsOf({ path, text })
          .filter(target => top.test(target))
          .map(target => `${path} imports ${target}`),
  );
}

/** Imports of the leading half by files of the base, types included. */
export function importsThroughWall(sources: readonly Source[]): string[] {
  const found: string[] = [];
  for (const { path, text } of sources) {
    if (isLeading(path) || lists.has(path) || top.test(path)) continue;
    for (const target of targetsOf({ path, text }))
      if (isLeading(target)) found.push(`${path} imports ${target}`);
  }
  return found;
}

/** Lists that are not there, that name nothing of the leading half, or that hold more than rows. */
export function wrongLists(sources: readonly Source[], named: ReadonlySet<string> = lists): string[] {
  return [...named].flatMap(path => {
    const source = sources.find(one => one.path === path);
    if (source === undefined) return [`${path} is not there`];
    const long = functionsOf(source).filter(({ lines }) => lines > listFunctionLinesMax);
    const found = long.map(({ name, lines }) => `${path}: ${name} has ${lines} lines`);
    if (!targetsOf(source).some(isLeading)) found.push(`${path} imports nothing that leads agents`);
    return found;
  });
}

/** The project's own files that a file imports. */
function targetsOf({ path, text }: Source): string[] {
  return importsOf(codeOf(text)).flatMap(({ from }) =>
    from?.startsWith(".") ? [normalize(`${dirname(path)}/${from}`)] : [],
  );
}

function isLeading(path: string): boolean {
  return /^(?:protocol|daemon|hooks|bin)\/(?:[\w-]+\/)*lead\//.test(path);
}
