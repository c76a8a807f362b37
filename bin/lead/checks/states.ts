/** The state of the worktree before and after a check, and the result that counts for it. */
import { LocalError } from "../../../client/errors.ts";
import type { WorktreeStateReply } from "../../../protocol/lead/check.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Client } from "../../process-context.ts";
import { refusalText } from "../../refusal-text.ts";
import { listed } from "../../view/text.ts";

/** A state as the daemon told it, or why it did not: then `dirty` is null. */
export type State = Omit<WorktreeStateReply, "ok">;

export async function stateAt(client: Client, id: string | undefined, cwd: string): Promise<State> {
  const unknown = (reason: string) =>
    ({ project: cwd, top: cwd, commit: null, dirty: null, files: 0, changed: [], reason }) as const;
  try {
    const asked = { cwd, ...(id === undefined ? {} : { id }) };
    const answer = await client.request("worktree_state", asked, { timeoutMs: limits.stateRequestMs });
    return answer.ok ? answer : unknown(refusalText(answer, "terminal"));
  } catch (error) {
    // The daemon is away: the check runs, or ran, all the same.
    if (!(error instanceof LocalError)) throw error;
    return unknown(error.message);
  }
}

/** Returns why a run between these states counts for neither, or null. */
export function whyUnrecorded(name: string, before: State, after: State): string | null {
  const reason = before.reason ?? after.reason;
  if (before.dirty === null || after.dirty === null)
    return reason ?? "the state of the worktree is not known";
  if (before.commit !== after.commit) return `another commit came while ${name} ran; run it again`;
  if (before.dirty === after.dirty) return null;
  const names = differing(before, after);
  const shown = names.slice(0, 3);
  const which = names.length === 0 ? "" : ` (${listed(shown, names.length - shown.length)})`;
  return `files changed while ${name} ran${which}; run it again, or let .gitignore name what it writes`;
}

/** Returns the files that differ between two states, as far as the daemon named them. */
function differing(before: State, after: State): string[] {
  const was = new Map(before.changed.map(({ file, content }) => [file, content]));
  const is = new Map(after.changed.map(({ file, content }) => [file, content]));
  return [...new Set([...was.keys(), ...is.keys()])].filter(file => was.get(file) !== is.get(file)).sort();
}
