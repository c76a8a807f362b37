/** The log's commands for declarations. */
import type { UncertaintyRow } from "../../../protocol/schemas/declaration.ts";
import type { Actor } from "../actor.ts";
import type { FileRef } from "../file-ref.ts";
import type { Retry } from "../origin.ts";

/** Changes parts of the actor's declaration; what is absent stays. */
export interface Declare {
  readonly actor: Actor;
  /** Agents of the session that the actor works for; null is the main agent. */
  readonly ancestors: readonly (string | null)[];
  /** Ends the declaration before and begins a new one. */
  readonly anew: boolean;
  readonly role?: string;
  readonly team?: string;
  readonly task?: string;
  readonly confidence?: number;
  readonly reason?: string;
  readonly plan?: readonly string[];
  readonly files: readonly ViewedFile[];
  readonly uncertainties: readonly UncertaintyPart[];
  /** Wall time in milliseconds. */
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** A file to add to the code view, to change in it, or with `drop` to strike off. */
export interface ViewedFile {
  readonly ref: FileRef;
  readonly sees?: string;
  readonly will?: string;
  readonly drop?: boolean;
}

export type UncertaintyPart = Pick<UncertaintyRow, "question"> & Partial<UncertaintyRow>;

/** These commands by name. */
export interface DeclarationCommands {
  declare: Declare;
}
