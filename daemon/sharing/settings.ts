/** Makes of the user's setting what the shared store is opened by. Only for the holder of the daemon's lock. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { KitePaths } from "../../protocol/paths.ts";
import { postgresJournal, type SharedJournal } from "../journal/shared-journal.ts";
import { readStoreAddress } from "../store/address.ts";
import { bootId, machineName, openNode } from "../store/node-id.ts";
import { storeConnection } from "../store/private-files.ts";
import type { SharedStoreOptions } from "./shared-store-options.ts";

/** A store that machines share, and who this one is in it. */
export type SharedSettings = Pick<
  SharedStoreOptions,
  "node" | "binding" | "machine" | "where" | "copyPath" | "leftPath" | "journal" | "snapshotEntries"
> & {
  /** Where claims are kept for a daemon that is killed; null: nowhere. */
  readonly claimsPath: string | null;
};

/**
 * Returns what the store of this address is opened by; null: none is set. If something of this machine is in the way (a
 * copied home, a missing certificate), each try to open the store says so.
 */
export function sharedSettings(
  address: string,
  paths: Pick<KitePaths, "home" | "storeNode" | "storeSecret" | "storeCopy" | "storeClaims" | "storeLeft">,
): SharedSettings | null {
  if (address === "") return null;
  const kept = { copyPath: paths.storeCopy, claimsPath: paths.storeClaims, leftPath: paths.storeLeft };
  const who = { machine: machineName(), ...kept };
  const stays = (where: string, why: string) => ({
    ...who,
    node: "none",
    binding: "",
    where,
    journal: failing(why),
  });
  const found = readStoreAddress(address);
  if ("ok" in found) return stays("the store", found.error);
  const where = found.text;
  const node = openNode(paths);
  if ("ok" in node) return stays(where, node.error);
  if (node.is !== "own") return stays(where, node.is === "copied" ? node.error : "this node has no id");
  const journal: SharedSettings["journal"] = async storeId => {
    const connection = storeConnection(found, paths);
    if ("ok" in connection) throw new Error(connection.error);
    return postgresJournal({ address: connection, node: node.node, holder: holderOf(node.node), storeId });
  };
  return { ...who, node: node.node, binding: bindingOf(paths), where, journal };
}

/** What tells this home from a copy of it that has the same id. */
function bindingOf({ storeNode }: Pick<KitePaths, "storeNode">): string {
  return createHash("sha256").update(readFileSync(storeNode)).digest("hex");
}

/** What tells this start of the machine from that of a copy; the id itself does not leave the machine. */
function holderOf(node: string): string {
  const boot = bootId();
  return boot === "" ? "" : createHash("sha256").update(`${node} ${boot}`).digest("hex").slice(0, 32);
}

function failing(why: string): () => Promise<SharedJournal> {
  return () => Promise.reject(new Error(why));
}
