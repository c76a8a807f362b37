/** Fetches debates from the daemon, page by page. */
import type { DebateEntryRow, DebateGetReply, DebateRow } from "../../../protocol/lead/debate.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ParamsOf } from "../../../protocol/schemas/requests.ts";
import type { Client } from "../../process-context.ts";
import { ask, pagesOf } from "../../with-daemon.ts";

type Asking = Pick<Client, "request">;
type InProject = Pick<ParamsOf<"debate_list">, "id" | "agent" | "project">;

/** Returns the debates of a project, oldest first. */
export async function debatesOf(client: Asking, where: InProject): Promise<{ readonly rows: DebateRow[] }> {
  const limit = limits.rowsMax;
  const pages = await pagesOf(from => ask(client, "debate_list", { ...where, limit, ...from }));
  return { rows: pages.flatMap(({ rows }) => rows) };
}

export type WholeDebate = Omit<DebateGetReply, "next">;

/** Returns the debate that is asked for, with all its entries. */
export async function wholeDebate(
  client: Asking,
  which: Omit<ParamsOf<"debate_get">, "after">,
): Promise<WholeDebate> {
  const entries: DebateEntryRow[] = [];
  for (let after = 0; ; ) {
    const { next, ...answer } = await ask(client, "debate_get", { ...which, after });
    entries.push(...answer.entries);
    if (next === undefined) return { ...answer, entries };
    after = next;
  }
}
