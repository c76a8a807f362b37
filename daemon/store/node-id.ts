/**
 * Who this home is in a shared store: its node's id, and the machine's own id and name. A node's id is random, made once,
 * and bound to the machine and to the home's place. So a home that was copied to another machine or path is found out, and
 * two nodes never speak under one id.
 *
 * Invariants: after a crash at any point the file is the old one or the new one. It is on the disk before its id is used. It
 * has only hashes of what it is bound to, each with the id in it: nothing of the machine can be read from it. The machine's
 * id never leaves the machine; its name is for people.
 */
import { createHash, randomBytes } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { hostname } from "node:os";
import * as z from "zod";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { plain } from "../../protocol/text.ts";
import { refuseStore, type StoreRefusal } from "./address.ts";
import { readLinkedFile, readPrivateFile, writePrivateFile } from "./private-files.ts";

type Places = Pick<KitePaths, "home" | "storeNode">;

/** What an id is bound to; the order is that of a sentence about it. */
const bonds = ["machine", "path", "inode"] as const;
export type NodeBond = (typeof bonds)[number];

export type NodeState =
  /** The id is this home's. */
  | { readonly is: "own"; readonly node: string }
  /** The home has no id yet. */
  | { readonly is: "absent" }
  /** The id is another home's, of which this one is a copy; `error` says so, and what to do. */
  | {
      readonly is: "copied";
      readonly node: string;
      readonly differs: readonly NodeBond[];
      readonly error: string;
    };

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const nodeFile = z.strictObject({
  version: z.literal(1),
  node: z.string().regex(/^[0-9a-f]{32}$/),
  machine: hash,
  path: hash,
  inode: hash,
});
type NodeFile = z.infer<typeof nodeFile>;

/** Returns whose id the home has. `machine` tells this machine from others. */
export function readNode(
  { home, storeNode }: Places,
  machine: string = machineId(),
): NodeState | StoreRefusal {
  const found = readPrivateFile(storeNode, limits.smallFileBytes);
  if (found.is === "absent") return { is: "absent" };
  if (found.is === "unfit") return refuseStore("store_node", found.error);
  const file = parseNodeFile(found.text);
  if (file === null)
    return refuseStore(
      "store_node",
      `${storeNode} is damaged, or a newer Kite wrote it; put back a copy, or make a new id: kite store rejoin`,
    );
  try {
    const here = bondsOf(home, machine, file.node);
    const differs = bonds.filter(bond => file[bond] !== here[bond]);
    if (differs.length === 0) return { is: "own", node: file.node };
    return { is: "copied", node: file.node, differs, error: copyText(home, differs) };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return refuseStore("store_node", errorText(error));
  }
}

/** Returns the home's id, and makes one if it has none. Only for the holder of the daemon's lock. */
export function openNode(places: Places, machine: string = machineId()): NodeState | StoreRefusal {
  const found = readNode(places, machine);
  return "is" in found && found.is === "absent" ? renewNode(places, machine) : found;
}

/**
 * Gives the home a new id, whatever it had: for a copy, or a file that is damaged. Only for the holder of the daemon's lock,
 * and at a person's word: the store knows the home as another node from then on.
 */
export function renewNode(
  { home, storeNode }: Places,
  machine: string = machineId(),
): Extract<NodeState, { is: "own" }> | StoreRefusal {
  const node = randomBytes(16).toString("hex");
  try {
    const file: NodeFile = { version: 1, node, ...bondsOf(home, machine, node) };
    writePrivateFile(storeNode, `${JSON.stringify(file)}\n`);
    return { is: "own", node };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return refuseStore("store_node", `the id of this node cannot be kept: ${errorText(error)}`);
  }
}

/** Files of systemd and of D-Bus; a machine has the same id in both. */
const idFiles: readonly string[] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/**
 * Returns what tells this machine from others: its id, if the system keeps one in a file. Else returns its name without the
 * domain, which may change from network to network.
 */
export function machineId(files: readonly string[] = idFiles, host: string = hostname()): string {
  for (const file of files) {
    const found = readLinkedFile(file, limits.machineIdBytes, false);
    // A file that is missing, or that no boot has filled yet, has no id; the next one may.
    const id = found.is === "read" ? found.text.trim().toLowerCase() : "";
    if (/^[0-9a-f]{32}$/.test(id) && !/^0+$/.test(id)) return `id ${id}`;
  }
  return `name ${firstLabel(host).toLowerCase()}`;
}

/** Returns what tells this start of the machine from others, also of a copy of its disk; empty where the system does not say. */
export function bootId(file = "/proc/sys/kernel/random/boot_id"): string {
  const found = readLinkedFile(file, limits.machineIdBytes, false);
  return found.is === "read" ? found.text.trim() : "";
}

/** Returns the machine's name for people, as behind the @ in `alice@laptop`: one word of at most `limits.machineNameChars`. */
export function machineName(host: string = hostname()): string {
  const word = plain(firstLabel(host)).replace(/[\s@]+/g, "-");
  return plain(word, limits.machineNameChars) || "machine";
}

function bondsOf(home: string, machine: string, node: string): Record<NodeBond, string> {
  const path = realpathSync.native(home);
  const inode = statSync(path, { bigint: true }).ino;
  return {
    machine: hashOf(node, "machine", machine),
    path: hashOf(node, "path", path),
    inode: hashOf(node, "inode", String(inode)),
  };
}

function hashOf(...parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

function parseNodeFile(text: string): NodeFile | null {
  try {
    return nodeFile.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // No JSON: the caller says that the file is damaged.
  }
}

function copyText(home: string, differs: readonly NodeBond[]): string {
  const what = differs.includes("machine")
    ? "its id was made on another machine, or the machine has a new id"
    : differs.includes("path")
      ? "its id was made for a home at another path"
      : "its id was made for another folder at this path";
  return `${home} is a copy: ${what}; give this one an id of its own: kite store rejoin`;
}

/** Returns a host's name without its domain; an address as it is. */
function firstLabel(host: string): string {
  return isIP(host) === 0 ? (host.split(".").find(label => label !== "") ?? "") : host;
}
