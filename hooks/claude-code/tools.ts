/** The client's own tools, by the names that its events and its settings use. */

/** The field of a writing tool's input that names the file. */
export const writes: ReadonlyMap<string, string> = new Map([
  ["Edit", "file_path"],
  ["Write", "file_path"],
  ["NotebookEdit", "notebook_path"],
]);

/** Tools whose calls a team's rules are about. */
export const teamTools = ["TaskUpdate", "SendMessage", "Agent", "EnterWorktree", "ExitWorktree"] as const;
