/** Keeps a daemon out of a container whose Kite directory is the host's: it would see other paths, and end with the container. */
import { readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import type { KitePaths } from "../../protocol/paths.ts";
import { MountTable, namespacesHere } from "../facts/mounts.ts";

/** What the rule looks at. */
export interface Container {
  /** This process's namespaces, as the link in Kite's directory names the last daemon's; empty: the system has none. */
  readonly namespaces: string;
  /** The last daemon's; empty: none left a link. */
  readonly before: string;
  /** The text of this process's mount table. */
  readonly table: string;
  /** Whether `KITE_MOUNTS` is set. */
  readonly hasPairs: boolean;
}

/** The kernel's number of the first process namespace, which is the host's. */
const hostProcesses = "pid:[4026531836]";
/** Where the makers of containers keep what belongs to a container alone. */
const ownVolume = /\/volumes\/[^/]+\/_data(?:\/|$)/;

/** Whether a directory is the host's, and this process runs in a container. */
export function isForeignHome(home: string, container: Container): boolean {
  const { namespaces, before, table, hasPairs } = container;
  if (namespaces === "" || namespaces === before || namespaces.endsWith(hostProcesses)) return false;
  const mount = new MountTable(table).mountOf(home);
  const isMounted = mount === null || (mount.at !== "/" && !ownVolume.test(mount.root));
  // A container may keep a directory of its own outside, and an earlier container's daemon may have used it. Such a
  // directory is no host's.
  return isMounted && (hasPairs || before.endsWith(hostProcesses));
}

/** Returns why no daemon may start with this directory; null if one may. */
export function foreignHomeProblem(
  paths: KitePaths,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  if (!isForeignHome(paths.home, containerHere(paths, env))) return null;
  return (
    `${paths.home} is the host's, and this is a container: a daemon here would see other paths, and end with the ` +
    "container; run kite up on the host, or set KITE_HOME to a directory of the container's own"
  );
}

export function containerHere(
  paths: KitePaths,
  env: Readonly<Record<string, string | undefined>>,
): Container {
  return {
    namespaces: namespacesHere(),
    before: quietly(() => readlinkSync(paths.namespaces)),
    table: quietly(() => readFileSync("/proc/self/mountinfo", "utf8")),
    hasPairs: Boolean(env["KITE_MOUNTS"]),
  };
}

/** Leaves the link by which clients see that they are in other namespaces. Only for the holder of the lock. */
export function writeNamespaces(paths: KitePaths): void {
  const namespaces = namespacesHere();
  if (namespaces === "") return;
  const temporary = `${paths.namespaces}.new`;
  rmSync(temporary, { force: true });
  symlinkSync(namespaces, temporary);
  renameSync(temporary, paths.namespaces);
}

function quietly(read: () => string): string {
  try {
    return read();
  } catch {
    // Not Linux, or no daemon was here yet.
    return "";
  }
}
