/**
 * What shared projects were when this machine left the store. A later share uses it to tell what changed here from what
 * changed there. A leave that broke off is undone with it.
 *
 * Invariants: the record of a project is on the disk before anything of it is copied back. It goes when all that the project
 * has is in the store again. If `before` is not null and the project is shared, a leave broke off.
 */
import { createHash } from "node:crypto";
import { refuse } from "../../protocol/codes.ts";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { ContextItem } from "../core/tables/context.ts";
import { resultOf, type Task } from "../core/tables/tasks.ts";
import { readPrivateFile, writePrivateFile } from "../store/private-files.ts";
import { CopyRefused } from "./copy.ts";

/** A task as it was. A field that is absent is not known: then both sides count as changed where they differ. */
export type TaskBase = Pick<Task, "createdAt"> &
  Partial<Pick<Task, "priority" | "labels" | "dependsOn" | "risk">> & {
    /** Digests. */
    readonly description?: string;
    readonly result?: string;
    readonly status?: Task["state"]["status"];
  };

export interface ProjectRecord {
  /** The project's name in the store. */
  readonly as: string;
  /** Open tasks and durable keys that this machine's own log had before the copies came; null: the project is shared again. */
  readonly before: { readonly tasks: readonly string[]; readonly keys: readonly string[] } | null;
  /** By id. */
  readonly tasks: Readonly<Record<string, TaskBase>>;
  /** Digests of durable values by their keys. */
  readonly keys: Readonly<Record<string, string>>;
  /**
   * What a share found gone from the store, and brings back: a run that goes on after a kill names it, too. Absent: nothing.
   */
  readonly gone?: { readonly tasks: readonly string[]; readonly keys: readonly string[] };
}

/** Returns how tasks are, by their ids. `isHere`: whether another one comes back, too: the copies depend on no other ones. */
export function basesOf(
  tasks: readonly Task[],
  isHere: (id: string) => boolean,
): Readonly<Record<string, TaskBase>> {
  const bases = tasks.map(task => {
    const { createdAt, priority, labels, risk = "green" } = task;
    const dependsOn = task.dependsOn.filter(isHere);
    const text = { description: digestOf(task.description), priority, labels };
    const state = { status: task.state.status, result: digestOf(resultOf(task.state)) };
    return [task.id, { createdAt, ...text, dependsOn, risk, ...state }] as const;
  });
  return Object.fromEntries(bases);
}

/** Returns the digest of what agents wrote. */
export function digestOf(value: ContextItem["value"]): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 22);
}

export interface LeaveRecordsOptions {
  /** Null: they are kept in memory alone. */
  readonly path: string | null;
  readonly onTrouble: (message: string, error: unknown) => void;
}

export class LeaveRecords {
  readonly #path: string | null;
  readonly #all: Map<string, ProjectRecord>;
  /** Wall time in milliseconds of the last leave that was undone; null: this daemon undid none. */
  undoneAtMs: number | null = null;

  constructor({ path, onTrouble }: LeaveRecordsOptions) {
    this.#path = path;
    this.#all = path === null ? new Map() : load(path, onTrouble);
  }

  /** Returns the record of a project that the store knows by this name. */
  get(project: string, as: string): ProjectRecord | null {
    const found = this.#all.get(project);
    return found?.as === as ? found : null;
  }

  /** Keeps the record in place of the project's last one; null: none. Throws `CopyRefused` if the disk does not take it. */
  put(project: string, record: ProjectRecord | null): void {
    const before = this.#all.get(project);
    if (record === null && before === undefined) return;
    if (record === null) this.#all.delete(project);
    else this.#all.set(project, record);
    try {
      this.#save();
    } catch (error) {
      if (before === undefined) this.#all.delete(project);
      else this.#all.set(project, before);
      if (!isSystemError(error)) throw error;
      const why = `${this.#path} cannot be written (${errorText(error)}); make room, and run this again`;
      throw new CopyRefused(refuse("store_full", why));
    }
  }

  #save(): void {
    if (this.#path === null) return;
    const text = JSON.stringify({ version: 1, projects: [...this.#all] });
    // What was left can be undone without the tasks' fields.
    const bare = () => [...this.#all].map(([project, one]) => [project, { ...one, tasks: {}, keys: {} }]);
    const isShort = Buffer.byteLength(text) <= limits.storeCopyBytes;
    writePrivateFile(this.#path, isShort ? text : JSON.stringify({ version: 1, projects: bare() }));
  }
}

function load(path: string, onTrouble: LeaveRecordsOptions["onTrouble"]): Map<string, ProjectRecord> {
  const found = readPrivateFile(path, limits.storeCopyBytes);
  if (found.is === "absent") return new Map();
  try {
    if (found.is !== "read") throw new Error(found.error);
    const { version, projects } = JSON.parse(found.text);
    if (version !== 1) throw new Error(`${path} is of another version`);
    return new Map(projects);
  } catch (error) {
    // Then a share takes nothing over a change of the store.
    onTrouble("what the store had when this machine left it is not known", error);
    return new Map();
  }
}
