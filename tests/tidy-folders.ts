/**
 * The folders: how many files each has, how deep they lie, and in which order the rooms of a wing stand on each other. A room
 * is a folder of the wing, or a file beside these. No files import each other in a cycle.
 */
import { dirname, normalize } from "node:path/posix";
import { codeOf, importsOf, type Source } from "./tidy-source.ts";

/** Arrows that run against the order: from which room to which one, at most how many, and why. */
type Against = readonly [from: string, to: string, arrows: number, reason: string];

interface Wing {
  readonly folder: string;
  /** The lowest first: a room imports only from those before it. */
  readonly rooms: readonly string[];
  /** No row is added, and no number rises. */
  readonly against: readonly Against[];
}

const list = "a list of slices";

const wings: readonly Wing[] = [
  {
    folder: "daemon/core",
    rooms: words(
      "frame tables work locks tasks messages sessions lead sharing.ts state.ts dispatch.ts invariants.ts slices.ts snapshot.ts apply.ts gap.ts",
    ),
    against: [],
  },
  {
    folder: "daemon",
    rooms: words(
      "bounded-map.ts core facts journal engine server instance config options.ts trail sessions worktree views hooks rescue store lead leading.ts requests wiring.ts main.ts start.ts",
    ),
    against: [
      ["hooks", "leading.ts", 1, list],
      ["config", "lead", 1, list],
      ["trail", "leading.ts", 1, list],
      ["views", "lead", 1, list],
      ["hooks", "rescue", 1, list],
      ["config", "store", 2, "an address and a project's name are checked with the other settings"],
      ["lead", "requests", 8, "what a handler is stands beside the list of handlers"],
      ["store", "requests", 1, "what a handler is stands beside the list of handlers"],
      ["rescue", "requests", 2, "what a handler is stands beside the list of handlers"],
      ["options.ts", "sessions", 1, "services that every part has"],
      ["options.ts", "trail", 1, "services that every part has"],
    ],
  },
  {
    folder: "hooks",
    rooms: words("seam shell git plans clients install claude-code lead client opencode"),
    against: [
      ["seam", "lead", 1, list],
      ["plans", "lead", 1, list],
      ["claude-code", "lead", 1, list],
    ],
  },
  {
    folder: "client",
    rooms: words("errors.ts transport.ts client.ts launch.ts"),
    against: [],
  },
  {
    folder: "protocol",
    rooms: words(
      "request-table.ts codes.ts limits.ts client-waits.ts text.ts names.ts wire.ts paths.ts errors.ts tool-call.ts schemas guard.ts work.ts lead session-rows.ts events.ts repeatable.ts",
    ),
    against: [
      ["limits.ts", "lead", 1, list],
      ["schemas", "lead", 7, list],
      ["schemas", "session-rows.ts", 1, "an overview has rows of sessions"],
      ["schemas", "work.ts", 1, "an overview has rows of work"],
    ],
  },
  {
    folder: "bin",
    rooms: words(
      "version.ts refusal-text.ts query-rows.ts row-list.ts leading.ts view context entry.ts man help.ts parser.ts settings trail tasks agents rescue adapters.ts daemon.ts doctor diff own mcp commands install lead program.ts watch frequent-commands.ts web command-table.ts any-command.ts frequent kite.ts",
    ),
    against: [
      ["leading.ts", "lead", 6, list],
      ["mcp", "lead", 1, list],
      ["row-list.ts", "lead", 1, list],
      ["view", "lead", 1, list],
    ],
  },
];

function words(text: string): string[] {
  return text.split(" ");
}

/** Imports, types included, of a room further up, beyond those that are named; and rooms whose place is not said. */
export function risingImports(sources: readonly Source[]): string[] {
  const graph = importGraph(sources);
  return wings.flatMap(({ folder, rooms, against }) => {
    const inside = [...graph.keys()].filter(path => path.startsWith(`${folder}/`) && !path.endsWith(".mjs"));
    const placeless = new Set(inside.map(path => roomOf(folder, path)).filter(room => !rooms.includes(room)));
    const found = [...placeless].map(room => `${folder}: ${room} has no place among the rooms`);
    for (const [pair, arrows] of risingPairs(graph, folder, rooms)) {
      const [, , most = 0] = against.find(([from, to]) => pair === `${from} ${to}`) ?? [];
      if (arrows.length > most) found.push(...arrows);
    }
    return found;
  });
}

/** Rows of arrows against the order that allow more than there are. */
export function spareArrows(sources: readonly Source[]): string[] {
  const graph = importGraph(sources);
  return wings.flatMap(({ folder, rooms, against }) => {
    const pairs = risingPairs(graph, folder, rooms);
    return against
      .filter(([from, to, most]) => (pairs.get(`${from} ${to}`)?.length ?? 0) < most)
      .map(([from, to, most]) => `${folder}: ${from} to ${to} has fewer than ${most}`);
  });
}

/** Arrows from a room to one further up, by pair of rooms. */
function risingPairs(
  graph: ReadonlyMap<string, readonly string[]>,
  folder: string,
  rooms: readonly string[],
): ReadonlyMap<string, string[]> {
  const pairs = new Map<string, string[]>();
  const placeOf = (path: string) => rooms.indexOf(roomOf(folder, path));
  for (const [from, targets] of graph) {
    for (const to of targets) {
      if (placeOf(from) === -1 || placeOf(to) <= placeOf(from)) continue;
      const pair = `${roomOf(folder, from)} ${roomOf(folder, to)}`;
      pairs.set(pair, [...(pairs.get(pair) ?? []), `${from} imports ${to}`]);
    }
  }
  return pairs;
}

/** The room of a wing that a path lies in; that of another wing has no name here. */
function roomOf(folder: string, path: string): string {
  return path.startsWith(`${folder}/`) ? (path.slice(folder.length + 1).split("/")[0] ?? "") : "";
}

const filesMin = 4;
const filesMax = 15;

/** Folders with fewer or more files. A number only comes nearer to these. */
const oddFolders: ReadonlyMap<string, number> = new Map([
  ["bin/frequent", 2],
  ["bin/lead/view", 3],
  ["bin/man", 1],
  ["bin/settings", 3],
  ["hooks/client", 3],
  ["hooks/lead", 3],
  ["hooks/opencode/plugin", 3],
]);

/** How deep a folder lies below the top level at most. */
const depthMax = 3;

/** Folders of sources with too few files, too many, or too deep; and rows of the list that say more than is so. */
export function wrongFolders(paths: readonly string[], odd = oddFolders): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  const found = [...counts].flatMap(([folder, count]) => {
    if (folder.split("/").length - 1 > depthMax) return [`${folder} lies too deep`];
    const most = odd.get(folder) ?? filesMax;
    const isRight = count <= most && (count >= filesMin || odd.has(folder));
    return isRight ? [] : [`${folder} has ${count} files`];
  });
  const spare = [...odd].filter(([folder, count]) => counts.get(folder) !== count);
  return [...found, ...spare.map(([folder, count]) => `${folder} has not ${count} files any more`)];
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
      return [path, [...new Set(targets)].filter(target => paths.has(target))];
    }),
  );
}
