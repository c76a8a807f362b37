/**
 * The command lines that start, watch, stop and remove a session of this client. Pure: from an order to words.
 *
 * Invariant: the prompt comes before the options that would take it for their value, and is no option itself.
 */

/** How records and `kite spawn --client` name this client. */
export const clientName = "claude-code";

/** The client's program. */
export const clientProgram = "claude";

/** An agent to start. */
export interface SpawnOrder {
  readonly name: string;
  readonly prompt: string;
  /** Added to the client's system prompt. */
  readonly briefing: string;
  readonly model: string | null;
  /** Whether the client makes a worktree by the agent's name; else the session works where it is started. */
  readonly ownWorktree: boolean;
  /** Variables of the session, its hooks and its shells. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Starts a session of the client's own background service; it prints a line that `handleIn` reads. */
export function backgroundWords(order: SpawnOrder): string[] {
  return ["--bg", ...sessionWords(order)];
}

/** Starts a session in this terminal. */
export function terminalWords(order: SpawnOrder): string[] {
  return sessionWords(order);
}

function sessionWords({ name, prompt, briefing, model, ownWorktree, variables }: SpawnOrder): string[] {
  return [
    prompt.startsWith("-") ? ` ${prompt}` : prompt,
    ...(ownWorktree ? ["-w", name] : []),
    ...["-n", name],
    // The background service has an environment of its own: settings reach the session.
    ...["--settings", JSON.stringify({ env: variables })],
    ...["--append-system-prompt", briefing],
    ...(model === null ? [] : ["--model", model]),
  ];
}

/** Goes on with a session that was stopped, as it was started before. It prints a line that `handleIn` reads. */
export function resumeWords(session: string, prompt: string): string[] {
  return ["--bg", "--resume", session, prompt.startsWith("-") ? ` ${prompt}` : prompt];
}

/** Opens a background session in this terminal; leaving it does not end it. */
export function attachWords(handle: string): string[] {
  return ["attach", handle];
}

/** Prints a background session's recent output. */
export function logWords(handle: string): string[] {
  return ["logs", handle];
}

/** Stops a background session. Killed, it would come back. */
export function stopWords(handle: string): string[] {
  return ["stop", handle];
}

/** Removes a background session that has ended, with the worktree that it made if nothing in that would be lost. */
export function removeWords(handle: string): string[] {
  return ["rm", handle];
}

/** Whether the client said that it knows no such session: it was removed before. */
export function isUnknownSession(output: string): boolean {
  return /^No session matching '/m.test(output);
}

/** A branch's last commit, which no remote has, and the client's word for it. */
interface Unpushed {
  readonly commit: string;
  readonly word: string;
}

/** Returns what the client refused to remove for commits that no remote has; null if it named another reason. */
export function unpushedIn(output: string): Unpushed | null {
  const [, word, commit] = /--discard-unpushed (([0-9a-f]{40,64})@[0-9a-f]{1,64})(?=\s|$)/.exec(output) ?? [];
  return word === undefined || commit === undefined ? null : { commit, word };
}

/** Returns why the client refused, without its advice, which names commands that lose work. */
export function refusalIn(output: string): string {
  const [first = ""] = output.split("\n").filter(line => line.trim() !== "");
  return first.replace(/[;,]? [^;,.]*\b(?:claude rm|--(?:discard|force)-)[^\n]*/, "");
}

/** Removes it although no remote has the commits, if the branch still ends there. */
export function removeUnpushedWords(handle: string, { word }: Unpushed): string[] {
  return [...removeWords(handle), "--discard-unpushed", word];
}

/** Returns the session's id in what `--bg` printed, or null. */
export function handleIn(output: string): string | null {
  return /^\W*backgrounded · ([0-9a-z]{6,40})(?=\s|$)/m.exec(output)?.[1] ?? null;
}

/** Returns the handle of a background session by its session id. */
export function handleOfSession(session: string): string {
  return session.slice(0, 8);
}

/** The folder in a project in which the client makes its worktrees. */
export const worktreesFolder = ".claude/worktrees";

/** Whether the reason of a worktree's lock is this client's: it locks the worktrees that it makes. */
export function isClientsLock(reason: string): boolean {
  return reason.startsWith("claude ");
}

/** The branch that the client makes for a worktree. */
export function branchOf(name: string): string {
  return `worktree-${name}`;
}

/** Variables of one session: a session that it starts would take them for its own. */
export const sessionVariables = [
  "AI_AGENT",
  "CLAUDECODE",
  "CLAUDE_CODE_CHILD_SESSION",
  "CLAUDE_CODE_ENTRYPOINT",
  "CLAUDE_CODE_MESSAGING_SOCKET",
  "CLAUDE_CODE_MESSAGING_TOKEN",
  "CLAUDE_CODE_SESSION_ATTENDED",
  "CLAUDE_CODE_SESSION_ID",
  "CLAUDE_EFFORT",
  "CLAUDE_ENV_FILE",
  "CLAUDE_JOB_DIR",
  "CLAUDE_PID",
  "CLAUDE_PROJECT_DIR",
] as const;
