/**
 * The id of this home in a shared store: random, made once, and bound to the machine and to the home's place. So a home that
 * was copied to another machine or path is found out, and two nodes never speak under one id.
 *
 * Invariants: after a crash at any point the file is the old one or the new one. It is on the disk before its id is used. It
 * has only hashes of what it is bound to, each with the id in it: nothing of the machine can be read from it.
 */
import { createHash, randomBytes } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import * as z from "zod";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { machineId } from "./machine.ts";
import { readPrivateFile, writePrivateFile } from "./private-file.ts";
import { refuseStore, type StoreRefusal } from "./refusal.ts";

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
