/**
 * Reads the files of a client's teams, within the budgets of all facts. It never writes one, and keeps nothing: a file
 * may change with each call of the client.
 */
import { setTimeout as after } from "node:timers/promises";
import type { ClientTeams, NativeLetter, NativeTask, NativeTeam } from "../../../hooks/seam/teams.ts";
import { limits } from "../../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "../../facts/filesystem.ts";

/** null: there is no such file, or none can have this name. */
type Look<T> = T | null | Unreachable;

export interface TaskList {
  readonly tasks: ReadonlyMap<string, NativeTask>;
  /** Why a file could not be read, a sentence each. */
  readonly unreadable: readonly string[];
  /** Tasks that were not read. */
  readonly more: number;
}

export class TeamLooks {
  readonly #outside: BudgetedFs;
  readonly #client: ClientTeams;

  constructor(outside: BudgetedFs, client: ClientTeams) {
    this.#outside = outside;
    this.#client = client;
  }

  team(home: string, team: string): Promise<Look<NativeTeam>> {
    return this.#parsed(this.#client.teamFile(home, team), this.#client.team);
  }

  async task(home: string, list: string, task: string): Promise<Look<NativeTask>> {
    const path = this.#client.taskFile(home, list, task);
    const found = await this.#parsed(path, this.#client.task, limits.teamTaskBytes);
    if (found === null || "unreachable" in found || found.id === task) return found;
    return { unreachable: `${path} says that it is another task` };
  }

  letters(home: string, team: string, member: string): Promise<Look<readonly NativeLetter[]>> {
    return this.#parsed(this.#client.inboxFile(home, team, member), this.#client.letters);
  }

  /** The members that have an inbox, whether they exist or not; at most `limits.teamInboxesMax`. */
  async readers(home: string, team: string): Promise<readonly string[]> {
    const folder = this.#client.inboxesFolder(home, team);
    const names = folder === null ? null : await this.#names(folder, limits.teamInboxesMax);
    return Array.isArray(names) ? names.flatMap(name => this.#client.memberOfFile(name) ?? []) : [];
  }

  /** The task, and what it waits for; with `links` also these, and all that any of them waits for through others. */
  async closure(
    home: string,
    list: string,
    first: NativeTask,
    links: readonly string[],
  ): Promise<ReadonlyMap<string, NativeTask> | Unreachable> {
    const tasks = new Map([[first.id, first]]);
    const asked = new Set([first.id, ...first.blockedBy, ...links]);
    for (const id of asked) {
      if (asked.size > limits.teamTasksMax)
        return { unreachable: `task ${first.id} depends on more than ${limits.teamTasksMax} tasks` };
      const task = tasks.get(id) ?? (await this.task(home, list, id));
      if (task === null) continue;
      if ("unreachable" in task) return task;
      tasks.set(id, task);
      // Only a new link can close a cycle.
      if (links.length > 0) for (const other of task.blockedBy) asked.add(other);
    }
    return tasks;
  }

  /** Every task of a list, up to `limits.teamTasksMax`, in the order of their numbers. */
  async tasks(home: string, list: string): Promise<Look<TaskList>> {
    const folder = this.#client.tasksFolder(home, list);
    if (folder === null) return null;
    const names = await this.#names(folder, 2 * limits.teamTasksMax + 1);
    if (names === null || "unreachable" in names) return names;
    const ids = names.flatMap(name => this.#client.taskOfFile(name) ?? []).sort(byNumber);
    const tasks = new Map<string, NativeTask>();
    const unreadable: string[] = [];
    for (const id of ids.slice(0, limits.teamTasksMax)) {
      const task = await this.task(home, list, id);
      if (task === null) continue;
      if ("unreachable" in task) unreadable.push(task.unreachable);
      else tasks.set(id, task);
    }
    return { tasks, unreadable, more: Math.max(0, ids.length - limits.teamTasksMax) };
  }

  #names(folder: string, max: number): Promise<Look<readonly string[]>> {
    return this.#outside.fact(budget =>
      this.#outside.look(folder, null, budget, (prober, path) => prober.names(path, max), elsewhere),
    );
  }

  /**
   * Reads a small file. The client writes some files in place, so a text may be torn for a moment, and no event says when
   * it is whole: it is read again a few times.
   */
  async #parsed<T extends object>(
    path: string | null,
    parse: (text: string) => T | null,
    bytesMax: number = limits.teamFileBytes,
  ): Promise<Look<T>> {
    if (path === null) return null;
    for (let read = 1; ; read += 1) {
      const text = await this.#text(path, bytesMax);
      if (text === null || typeof text !== "string") return text;
      const value = parse(text);
      if (value !== null) return value;
      if (read === limits.teamReadsMax)
        return { unreachable: `${path} does not have the form of such a file; it may be torn` };
      await after(limits.teamReadAgainMs);
    }
  }

  /** null: the file is missing. */
  async #text(path: string, bytesMax: number): Promise<Look<string>> {
    const read = await this.#outside.fact(budget =>
      this.#outside.look(
        path,
        null,
        budget,
        async (prober, p) => ({ text: await prober.readSmall(p, bytesMax) }),
        elsewhere,
      ),
    );
    if (read === null || "unreachable" in read) return read;
    const why = `${path} is no regular file, or longer than ${bytesMax / 1024} KiB`;
    return read.text ?? { unreachable: why };
  }
}

/** The client's folder may be a link to a mount that hangs. */
const elsewhere = { maybeElsewhere: true };

function byNumber(a: string, b: string): number {
  return Number(a) - Number(b) || (a < b ? -1 : 1);
}
