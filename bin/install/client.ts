/** The form of a client that `kite install` connects. `clients.ts` has a row for each. */

import type { Uninstalled } from "../../hooks/install/hooks-file.ts";
import type { ClientHere } from "../context/clients-here.ts";
import type { ProcessContext } from "../context/process-context.ts";
import type { Check } from "../doctor/results.ts";
import type { ChosenProgram } from "./hook-program.ts";
import type { FileToWrite, InstallDone, InstallScope } from "./words.ts";

/** An option of `kite install` that not every client has. */
export type ClientOption = "allow" | "everyEvent" | "statusline";

export interface AgentClient extends ClientHere {
  /** It is connected only where a person names it: neither `all` nor a question has it. */
  readonly isByName?: true;
  /** For whom it can be connected. */
  readonly scopes: readonly InstallScope[];
  readonly options: readonly ClientOption[];
  /** Returns what a connection would be. Writes nothing. Throws InstallFailed if it is not possible. */
  plan(world: ProcessContext, wish: Wish): Connection;
  /** Takes out what Kite wrote for it. Reports what failed instead of throwing, so that the rest is taken out, too. */
  disconnect(world: ProcessContext, from: Place): Promise<Disconnected>;
  /** Returns true if it is connected, and an install would change its entries. Throws InstallFailed if its file is unusable. */
  isOld?(world: ProcessContext): boolean;
  /** What `kite doctor` says of it; nothing where it is neither here nor connected. */
  checks?(world: ProcessContext): Promise<readonly Check[]>;
  /** Present if the client runs no hook that a person has not trusted. */
  readonly trust?: Trust;
}

/** A person's trust in the hooks of Kite, as the client itself keeps it. */
export interface Trust {
  /** The client's file with its notes. */
  file(world: ProcessContext): string;
  /** Asks the client how many of Kite's hooks it does not trust. Throws InstallFailed if it does not say. */
  missing(world: ProcessContext): Promise<number>;
  /** Has the client trust them, for a person who agreed. Throws InstallFailed if it does not. */
  give(world: ProcessContext): Promise<void>;
}

/** What the flags of `kite install` ask for, for every client. */
export interface Wish extends Readonly<Record<ClientOption, boolean>> {
  readonly scope: InstallScope;
  /** The directory that --project or --shared names, else the working directory. */
  readonly dir: string;
  readonly program: ChosenProgram;
  /** Whether agents get Kite's tools. */
  readonly tools: boolean;
}

export interface Connection {
  /** The file with the hooks. */
  readonly settings: string;
  /** From when on the hooks run, as a line for a person. */
  readonly inForce: string;
  /** What a person reads in place of what Kite's hooks of a client's events are; absent: they are such hooks. */
  readonly says?: readonly string[];
  /** What else a person has to do, as lines. */
  readonly todo?: readonly string[];
  /** The line that takes it out again. */
  readonly undo: string;
  /** Returns every file that it would write, also those that are as it wants them; the settings first. */
  files(): readonly FileToWrite[];
  /** Returns the text of the settings file after it. */
  preview(): string;
  /** Writes the files. Throws InstallFailed, and has changed no settings then. */
  connect(): Promise<InstallDone>;
}

/** From where hooks are taken out: one scope, or everywhere. */
export interface Place {
  readonly scope: InstallScope | "all";
  readonly dir: string;
}

export interface Disconnected {
  readonly results: readonly Uninstalled[];
  /** Files from which Kite's tools were taken. */
  readonly tools: readonly string[];
  /** A team's files, which stay. */
  readonly left: readonly string[];
  /** Folders of plugins that were removed. */
  readonly plugins: readonly string[];
  /** What a person has to know of what is left, as sentences. */
  readonly notes?: readonly string[];
  /** Why something could not be taken out, as sentences. */
  readonly failures: readonly string[];
}
