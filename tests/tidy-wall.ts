/**
 * The wall between the base and what leads agents. The leading half lives in a folder `lead/` on each floor and imports the
 * base; the base never imports it. The two meet in the lists of slices.
 */
import { dirname, normalize } from "node:path/posix";
import { codeOf, importsOf, type Source } from "./tidy-source.ts";

/** The files that list the slices of a floor, of both halves. */
const lists: ReadonlySet<string> = new Set([
  "bin/command-table.ts",
  "bin/leading.ts",
  "bin/mcp/tool-list.ts",
  "bin/row-list.ts",
  "bin/view/features.ts",
  "daemon/config/settings.ts",
  "daemon/core/check.ts",
  "daemon/core/commands.ts",
  "daemon/core/rule-list.ts",
  "daemon/core/state.ts",
  "daemon/hooks/slices.ts",
  "daemon/requests/handlers.ts",
  "daemon/requests/points.ts",
  "daemon/trail/lead-lines.ts",
  "daemon/views/columns.ts",
  "daemon/wiring/slices.ts",
  "hooks/plans/answers/slices.ts",
  "hooks/plans/slices.ts",
  "hooks/claude-code/slices.ts",
  "hooks/seam/slices.ts",
  "protocol/events.ts",
  "protocol/limits.ts",
  "protocol/requests.ts",
  "protocol/session-rows.ts",
]);

/** Imports of the leading half by files of the base, types included. */
export function importsThroughWall(sources: readonly Source[]): string[] {
  const found: string[] = [];
  for (const { path, text } of sources) {
    if (isLeading(path) || lists.has(path)) continue;
    for (const { from } of importsOf(codeOf(text))) {
      const target = from?.startsWith(".") ? normalize(`${dirname(path)}/${from}`) : "";
      if (isLeading(target)) found.push(`${path} imports ${target}`);
    }
  }
  return found;
}

function isLeading(path: string): boolean {
  return /^(?:protocol|daemon|daemon\/core|bin|hooks\/seam|hooks\/plans|hooks\/claude-code)\/lead\//.test(
    path,
  );
}
