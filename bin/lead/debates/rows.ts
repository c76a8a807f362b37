/** Fetches debates from the daemon, page by page. */
import type { DebateEntryRow, DebateGetReply, DebateRow } from "../../../protocol/lead/debate.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ParamsOf } from "../../../protocol/requests.ts";
import type { Client } from "../../process-context.ts";
import { ask } from "../../with-daemon.ts";

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

type Asked = Omit<ParamsOf<"debate_get">, "after">;

/** Returns the debate that is asked for, with all its entries. */
export async function wholeDebate(client: Client, asked: Asked): Promise<Omit<DebateGetReply, "next">> {
  const entries: DebateEntryRow[] = [];
  for (let after = 0; ; ) {
    const { next, ...answer } = await ask(client, "debate_get", { ...asked, after });
    entries.push(...answer.entries);
    if (next === undefined) return { ...answer, entries };
    after = next;
  }
}
