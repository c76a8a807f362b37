/** Rows of `query` that the leading half adds, each with a test of its form. */
import type { CheckRow } from "../../protocol/lead/check.ts";
import type { MergeElsewhereRow, MergeRow } from "../../protocol/lead/merge.ts";
import { type GatesRow, gateNames } from "../../protocol/lead/roles.ts";
import type { SpawnRow } from "../../protocol/lead/spawn.ts";
import type { TeamRow } from "../../protocol/lead/team.ts";
import { rowWith } from "../query-rows.ts";

export const leadRows = {
  teams: rowWith<TeamRow>("team", "kind", "members", "tasks", "problems"),
  merges: rowWith<MergeRow>("id", "base", "branch", "state", "runs", "reason"),
  merges_elsewhere: rowWith<MergeElsewhereRow>("id", "machine", "project", "branch", "base", "state"),
  spawns: rowWith<SpawnRow>("id", "name", "state", "backend", "handle", "attempts"),
  gates: rowWith<GatesRow>("project", ...gateNames),
  checks: rowWith<CheckRow>("project", "worktree", "name", "command", "exit", "dirty"),
} as const;
