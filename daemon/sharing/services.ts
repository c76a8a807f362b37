/** The services of the store that machines share. */
import type { Needs } from "../hooks/parts.ts";
import type { Services } from "../options.ts";
import type { StoreRefusal } from "../store/address.ts";
import type { NodeState } from "../store/node-id.ts";
import type { ProjectReader } from "../store/shared-project.ts";
import type { SharedStore } from "./shared-store.ts";

export interface StoreServices extends Services, Needs<"config"> {
  /** The store that this machine shares with others; null: none is set. */
  readonly shared: SharedStore | null;
  /** Reads the names by which machines know projects. */
  readonly projectNames: ProjectReader;
  /** Gives this home a new id in the store, from the next start. */
  renewNode(): NodeState | StoreRefusal;
}
