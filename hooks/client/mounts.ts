/**
 * What a client in a container says of its mounts. The daemon leaves its own namespaces as a link in Kite's directory; a
 * client in the same ones reads three links, and says nothing.
 */
import { readFileSync, readlinkSync, statSync } from "node:fs";
import type { limits } from "../../protocol/limits.ts";
import type { Mounts } from "../../protocol/schemas/hook.ts";

// Literal types of the protocol's own bounds: a different number here does not compile.
const tableBytes: typeof limits.mountTableBytes = 256 * 1024;
const pairsMax: typeof limits.mountPairsMax = 64;
const pathBytes: typeof limits.pathBytes = 4096;

/** Returns whether the daemon of this directory runs, or ran, in another namespace: on the host of this container. */
export function isElsewhere(home: string): boolean {
  const daemons = linkAt(`${home}/namespaces`);
  return daemons !== "" && daemons !== namespaces();
}

/** Returns digits that name the container of this process; "": it is in none. The daemon calls it the same. */
export function containerName(home: string): string {
  return isElsewhere(home) ? (/\d+/.exec(namespaces())?.[0] ?? "") : "";
}

/** Returns what to say of this process's mounts; null: the daemon has the same paths. */
export function mountsHere(home: string, pairs: string | undefined): Mounts | null {
  if (!isElsewhere(home)) return null;
  const pairsText = pairs === undefined || Buffer.byteLength(pairs) > pathBytes ? "" : pairs;
  const inside = pairsText.split(":", pairsMax).map(pair => pair.split("=", 1)[0]?.trim() ?? "");
  const seen: Record<string, string> = {};
  for (const path of [linkAt("/proc/self/cwd"), ...inside.map(path => path.replace(/(?<=.)\/+$/, ""))]) {
    const id = path.startsWith("/") && Buffer.byteLength(path) <= pathBytes ? idOf(path) : null;
    if (id !== null) seen[path] = id;
  }
  return {
    namespaces: namespaces(),
    table: table(),
    ...(pairsText === "" ? {} : { pairs: pairsText }),
    seen,
  };
}

function namespaces(): string {
  return `${linkAt("/proc/self/ns/mnt")} ${linkAt("/proc/self/ns/pid")}`;
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Not Linux, or a daemon that left no link.
    return "";
  }
}

function table(): string {
  try {
    const text = readFileSync("/proc/self/mountinfo", "utf8");
    return Buffer.byteLength(text) > tableBytes ? "" : text;
  } catch {
    return ""; // The daemon then goes by the pairs alone.
  }
}

function idOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null; // The daemon says that it is not there.
  }
}
