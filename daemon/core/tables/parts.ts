/** What the machines of a shared project tell each other of their agents and of themselves: declarations, roles, merges. */
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import { Records, sets } from "../frame/records.ts";

export interface PartRow {
  readonly project: string;
  /** The node of the session, or the machine's own. */
  readonly node: string;
  /** Null: it is the machine's, and `machine` is what people call that one. */
  readonly session: string | null;
  readonly machine?: string;
  /** Null: the session's main agent. */
  readonly agent: string | null;
  readonly part: string;
  readonly told: JsonValue;
}

export const partRecords = new Records("all", (row: PartRow) => partKey(row), {
  byNode: sets(({ node }: PartRow) => node),
  bySession: sets(({ session }: PartRow) => session),
});

export type Parts = ReturnType<typeof partRecords.empty>;

export function noParts(): Parts {
  return partRecords.empty();
}

/** Returns the part's key. No session is called as a machine is here. */
export function partKey({
  session,
  node,
  agent,
  part,
}: Pick<PartRow, "session" | "node" | "agent" | "part">): string {
  return `${session ?? `@@${node}`}\n${agent ?? ""}\n${part}`;
}
