/** The messages between a test and the process of one machine: what the test asks, and what the process answers. */
import type { NewEntry } from "../../../daemon/core/lead/tables/debates.ts";
import type { Reply } from "../../../daemon/core/tables/entries.ts";

/** A session that the machine says is there; `agents`: ids of agents within it. */
export interface SessionSettings {
  readonly id: string;
  /** A later number: the session of this id ended, and another one began. */
  readonly registeredAt: number;
  readonly agents: readonly string[];
  /** Numbers of its terminals. */
  readonly terminals: readonly number[];
}

export interface ProjectSettings {
  /** Its name in the store. */
  readonly name: string;
  readonly sessions: readonly SessionSettings[];
}

/** What the process is started with. */
export interface MachineSettings {
  /** Ports of loopback at which the store's servers take connections, the first one first. */
  readonly ports: readonly number[];
  readonly database: string;
  readonly node: string;
  /** Binds the node to one home. */
  readonly binding: string;
  readonly projects: readonly ProjectSettings[];
  /** Where the copies of projects are kept. */
  readonly folder: string;
}

/** What a session asks of a project. */
export type Operation = { readonly session: string } & (
  | { readonly what: "create"; readonly text: string; readonly dependsOn: readonly string[] }
  /** `task` null: whichever is ready. */
  | { readonly what: "claim"; readonly task: string | null }
  | { readonly what: "done" | "failed"; readonly task: string; readonly text: string }
  | { readonly what: "release" | "reopen"; readonly task: string }
  | { readonly what: "depend"; readonly task: string; readonly dependsOn: readonly string[] }
  | {
      readonly what: "set";
      readonly key: string;
      readonly value: number;
      /** Null: whatever is there. */
      readonly ifVersion: number | null;
      readonly ttlMs: number | null;
    }
  | { readonly what: "send"; readonly to: string; readonly text: string }
  | { readonly what: "take" }
  /** `heard` false: the answer with them did not reach the client. */
  | { readonly what: "told"; readonly messages: readonly string[]; readonly heard: boolean }
  | { readonly what: "ack"; readonly messages: readonly string[] }
  | { readonly what: "open"; readonly text: string }
  | { readonly what: "enter"; readonly debate: string; readonly entry: NewEntry }
  | { readonly what: "close"; readonly debate: string; readonly verdict: string; readonly text: string }
);

export type Question =
  /** `id`: of the request, the same in each try. */
  | { readonly ask: "submit"; readonly project: string; readonly id: string; readonly operation: Operation }
  /** The sessions of the project are these now. */
  | { readonly ask: "present"; readonly project: string; readonly sessions: readonly SessionSettings[] }
  | { readonly ask: "dump"; readonly project: string }
  /** The machine shares the project no more. */
  | { readonly ask: "end"; readonly project: string }
  /** What an agent would read now: the copy answers, without the store. */
  | { readonly ask: "read"; readonly project: string; readonly key: string }
  | { readonly ask: "reached" }
  /** Keeps the copies on the disk and ends the connection, as a daemon does at its end. */
  | { readonly ask: "close" };

export interface Submitted {
  readonly reply: Reply;
  /** The version of the project that the request made; null: none. */
  readonly version: number | null;
  /** The version of the machine's copy when the answer came. */
  readonly copied: number;
}

/** A value of context; version 0: there is none. */
export interface Value {
  readonly version: number;
  readonly value: unknown;
}

/** A machine's copy of a project. */
export interface Dump {
  readonly version: number;
  /** Each row as the store has it, by its kind and key. */
  readonly rows: Readonly<Record<string, string>>;
  /** A sentence for each invariant of the core that the copy breaks. */
  readonly broken: readonly string[];
  /** The version that the copy had when the process first reached the store. */
  readonly from: number;
  /** Each event that names a task or a message, in the order in which the process was told of it. */
  readonly heard: readonly string[];
  /** How often the process read all anew. */
  readonly reloads: number;
  /** Whether it said that the store lacks what it had. */
  readonly wentBack: boolean;
  /** How often it said that it does not know event by event what happened. */
  readonly gaps: number;
  /** Stored rows that are left out, each with why. */
  readonly unfit: readonly string[];
}

export interface Reached {
  /** Why the store cannot be asked; null: it can. */
  readonly refusal: string | null;
}

/** What the process answers to each question. */
export interface Answers {
  readonly submit: Submitted;
  readonly present: object;
  readonly dump: Dump;
  readonly end: object;
  readonly read: Value;
  readonly reached: Reached;
  readonly close: object;
}

/** What the process says unasked: something for the log of its daemon. */
export interface Trouble {
  readonly trouble: string;
}

/** Returns how a step's event is told apart from all others of its project; null: it names no task and no message. */
export function eventKey(event: object): string | null {
  const { event: name, task, message } = event as Readonly<Record<string, unknown>>;
  if (typeof task !== "string" && typeof message !== "string") return null;
  return `${String(name)} ${String(task ?? message)}`;
}
