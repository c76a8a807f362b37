/** What came of asking gates, and the rules of a client's own teams. */

import type { GateFinding } from "../../../protocol/lead/roles.ts";
import type { TeamFinding } from "../../../protocol/lead/team.ts";
import type { Verdict } from "../outcomes.ts";

export type LeadOutcome = GateOutcome | TeamOutcome;

/** What the gates found before a step of an agent. */
export interface GateOutcome {
  readonly did: "gate_write" | "gate_files" | "gate_shell" | "gate_stop" | "gate_complete";
  readonly ok: true;
  readonly verdict: Verdict;
  readonly findings: readonly GateFinding[];
  /** The agent was told the same findings before. */
  readonly isRepeated: boolean;
  /** The task that the agent claimed, for an example; null: it claimed none. */
  readonly task: string | null;
  /** Of several files, the one that the findings are about. */
  readonly file?: string;
}

/** What the rules of a team found before a call of the client's own tools. */
export interface TeamOutcome {
  readonly did: "gate_team";
  readonly ok: true;
  readonly verdict: Verdict;
  readonly findings: readonly TeamFinding[];
  /** The caller is a teammate, in its lead's process or in a pane, or works for one. */
  readonly isTeammate: boolean;
}
