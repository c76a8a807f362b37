/** Which folders stand on which, and that no files import each other in a cycle. */
import { dirname, normalize } from "node:path/posix";
import { codeOf, importsOf, type Source } from "./tidy-source.ts";

/** Outermost first: a file imports from its own folder and from those behind it. */
const floors: readonly (readonly string[])[] = [
  [
    "daemon/wiring",
    "daemon/requests",
    "daemon/hooks",
    "daemon/views",
    "daemon/worktree",
    "daemon/sessions",
    "daemon/trail",
    "daemon/events",
    "daemon/config",
    "daemon/store",
    "daemon/instance",
    "daemon/server",
    "daemon/facts",
    "daemon/engine",
    "daemon/journal",
    "daemon/core",
  ],
  ["hooks/claude-code", "hooks/plans", "hooks/git", "hooks/shell", "hooks/seam"],
  ["hooks/codex", "hooks/plans"],
  ["hooks/copilot", "hooks/plans"],
  ["hooks/gemini", "hooks/plans"],
  ["hooks/opencode", "hooks/plans"],
  ["hooks/claude-code", "hooks/install"],
];

/** What wires everything together, and who alone imports it in the daemon. */
const wiring = { path: "daemon/main.ts", importer: "daemon/start.ts" };

/** Imports, types included, of a file in a folder further out. */
export function upwardImports(sources: readonly Source[]): string[] {
  const found: string[] = [];
  for (const [from, targets] of importGraph(sources)) {
    for (const to of targets) {
      const isWiring = to === wiring.path && from !== wiring.importer && from.startsWith("daemon/");
      if (isUpward(from, to) || isWiring) found.push(`${from} imports ${to}`);
    }
  }
  return found;
}

function isUpward(from: string, to: string): boolean {
  return floors.some(folders => {
    const floorOf = (path: string) => folders.findIndex(folder => path.startsWith(`${folder}/`));
    return floorOf(to) !== -1 && floorOf(to) < floorOf(from);
  });
}

/** Groups of files of which each imports another one of the group, types included. */
export function importCycles(sources: readonly Source[]): string[][] {
  const graph = importGraph(sources);
  const cycles: string[][] = [];
  const [order, low, open] = [new Map<string, number>(), new Map<string, number>(), new Set<string>()];
  const lowOf = (path: string) => low.get(path) ?? Number.POSITIVE_INFINITY;
  // Tarjan's strongly connected components.
  const visit = (path: string) => {
    order.set(path, order.size);
    low.set(path, order.size - 1);
    open.add(path);
    for (const next of graph.get(path) ?? []) {
      if (!order.has(next)) visit(next);
      if (open.has(next)) low.set(path, Math.min(lowOf(path), lowOf(next)));
    }
    if (lowOf(path) !== order.get(path)) return;
    const group = [...open].filter(one => (order.get(one) ?? -1) >= lowOf(path));
    for (const one of group) open.delete(one);
    if (group.length > 1) cycles.push(group.sort());
  };
  for (const path of graph.keys()) if (!order.has(path)) visit(path);
  return cycles;
}

/** The files that each file imports. */
function importGraph(sources: readonly Source[]): ReadonlyMap<string, readonly string[]> {
  const paths = new Set(sources.map(({ path }) => path));
  return new Map(
    sources.map(({ path, text }) => {
      const targets = importsOf(codeOf(text)).map(({ from }) => normalize(`${dirname(path)}/${from}`));
      return [path, targets.filter(target => paths.has(target))];
    }),
  );
}
