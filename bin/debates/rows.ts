/** Fetches debates from the daemon, page by page. */
import type { DebateEntryRow, DebateGetReply, DebateRow } from "../../protocol/debate.ts";
import { limits } from "../../protocol/limits.ts";
import type { Client } from "../process-context.ts";
import { ask } from "../with-daemon.ts";

/** Returns the debates of a project, oldest first. */
export async function debatesOf(client: Client, project: string): Promise<DebateRow[]> {
  const rows: DebateRow[] = [];
  let after: string | undefined;
  do {
    const page = after === undefined ? {} : { after };
    const answer = await ask(client, "debate_list", { project, limit: limits.rowsMax, ...page });
    rows.push(...answer.rows);
    after = answer.next;
  } while (after !== undefined);
  return rows;
}

/** Returns a debate with all its entries. */
export async function wholeDebate(client: Client, debate: string): Promise<Omit<DebateGetReply, "next">> {
  const entries: DebateEntryRow[] = [];
  for (let after = 0; ; ) {
    const { next, ...answer } = await ask(client, "debate_get", { debate, after });
    entries.push(...answer.entries);
    if (next === undefined) return { ...answer, entries };
    after = next;
  }
}
