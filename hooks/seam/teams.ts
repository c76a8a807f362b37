/** The types between the daemon and what an adapter knows of its client's own teams: their files, and their processes. */

export type NativeStatus = "pending" | "in_progress" | "completed";

/** A task of a client's own list, as its file says. */
export interface NativeTask {
  readonly id: string;
  readonly subject: string;
  readonly description: string;
  readonly status: NativeStatus;
  /** The name of a member, or any other text that an agent put there; null: nobody. */
  readonly owner: string | null;
  /** The ids of the tasks that must be complete before it. */
  readonly blockedBy: readonly string[];
}

/** A team as its file says. */
export interface NativeTeam {
  readonly name: string;
  /** The session that leads it; null if the file does not say. */
  readonly lead: string | null;
  readonly members: readonly NativeMember[];
}

export interface NativeMember {
  readonly name: string;
  /** `pane`: a process of its own. */
  readonly backend: "lead" | "in_process" | "pane";
}

/** A letter that its reader has not read. */
export interface NativeLetter {
  readonly from: string;
  /** The client's own notice that a member is idle; each wakes the lead. */
  readonly isIdleNotice: boolean;
}

/** What a client's process says of its session. */
export interface ClientProcess {
  /** It is a teammate of another session. */
  readonly teammate: { readonly name: string; readonly team: string; readonly lead: string } | null;
  /** The task list that its environment names; null: the one of its team or session. */
  readonly list: string | null;
  /** The client's folder, as far as its environment tells. */
  readonly home: string | null;
}

/** The arguments of a process, and its environment as it was when it began; null: the system does not tell. */
export interface ProcessWords {
  readonly args: readonly string[];
  readonly env: ((name: string) => string | null) | null;
}

/** Everything that one client's adapter knows of teams. Pure: the daemon reads the files. */
export interface ClientTeams {
  /** The name by which members call the lead. */
  readonly leadName: string;
  /** The name of the team that a session leads. */
  teamOf(session: string): string;
  processOf(words: ProcessWords): ClientProcess;
  /** Paths in the client's folder `home`; null if no such file can have this name. */
  teamFile(home: string, team: string): string | null;
  inboxFile(home: string, team: string, member: string): string | null;
  inboxesFolder(home: string, team: string): string | null;
  tasksFolder(home: string, list: string): string | null;
  taskFile(home: string, list: string, task: string): string | null;
  /** The task, or the member, whose file has this name; null if it is another file. */
  taskOfFile(name: string): string | null;
  memberOfFile(name: string): string | null;
  /** What a file says; null if the text is torn, or has another form. */
  team(text: string): NativeTeam | null;
  task(text: string): NativeTask | null;
  letters(text: string): readonly NativeLetter[] | null;
}

/** A call of the client's own tools that a team's rules are about. */
export type TeamCall =
  | ({ readonly what: "task_update" } & TaskChange)
  | { readonly what: "message"; readonly to: string }
  /** The lead begins a member. */
  | { readonly what: "begin"; readonly name: string }
  | { readonly what: "move"; readonly tool: string };

/** A change of a task of the client's own list, as an agent asks for it. */
export interface TaskChange {
  readonly task: string;
  readonly status: NativeStatus | "deleted" | null;
  /** null: it stays as it is. */
  readonly owner: string | null;
  readonly addBlockedBy: readonly string[];
  readonly addBlocks: readonly string[];
}
