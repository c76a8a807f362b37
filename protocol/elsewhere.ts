/** Sessions of other machines that share a store with this one, as a query shows them. */
import type { WorkedOn } from "./session.ts";

export interface ElsewhereRow {
  readonly id: string;
  /** With its machine: `alice@desk`. */
  readonly name: string;
  readonly machine: string;
  /** The project as this machine has it; as the store calls it if this machine does not share it. */
  readonly project: string;
  readonly branch: string | null;
  /** `away`: its machine has been silent for a minute; `lost`: for five. */
  readonly state: "there" | "away" | "lost";
  /** What it claims, the latest first. */
  readonly tasks: readonly WorkedOn[];
}
