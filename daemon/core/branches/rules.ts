/** The rules of the files that branches changed. */

import { limits } from "../../../protocol/limits.ts";
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import { isWithin } from "../frame/actors.ts";
import type { BaseState, Meta, Rules } from "../tables/base-state.ts";
import type { CommandOf, Part, Step } from "../tables/entries.ts";
import { passing } from "../tables/entries.ts";
import { noSession } from "../tables/naming.ts";
import { moveSameFiles, setFiles } from "./same-files.ts";
import { type BranchCommands, type BranchFile, branchRecords, uncommitted } from "./table.ts";

function branchFiles(
  state: BaseState,
  { session, files }: CommandOf<"branch_files">,
  _meta: Meta,
  step: Step,
): void {
  if (!state.sessions.live.has(session)) {
    step.reply = noSession(state, session);
    return;
  }
  step.reply = { ok: true };
  setFiles(state, session, files, step);
  tellNodes(state, session);
}

const filesPart: Part<BaseState> = {
  *agentsWith({ branches }, session) {
    if (branches.bySession.has(session)) yield null;
  },
  tell({ branches }, session, agent) {
    const row = agent === null ? branches.bySession.get(session) : undefined;
    return row === undefined ? null : (row.files as JsonValue);
  },
  take(state, session, agent, value, step) {
    if (agent === null) setFiles(state, session, readFiles(value), step);
  },
};

export const branchRules: Rules<BranchCommands> = {
  commands: { branch_files: passing(branchFiles) },
  points: {
    parts: { branch_files: filesPart },
    sessionChanges(state, { id, project, branch }, step) {
      const row = state.branches.bySession.get(id);
      if (row === undefined || (row.project === project && row.branch === branch)) return;
      // Nobody knows yet which files the other branch changed.
      setFiles(state, id, null, step);
      tellNodes(state, id);
    },
    sessionMoves(state, from, to) {
      const { branches } = state;
      const row = branches.bySession.get(from);
      if (row === undefined) return;
      moveSameFiles(state, row, to);
      branchRecords.drop(branches, row);
      branchRecords.put(branches, { ...row, session: to });
    },
    sessionEnds: (state, { id }, _cause, step) => setFiles(state, id, null, step),
  },
};

function tellNodes(state: BaseState, session: string): void {
  for (const { partChanges } of state.points) partChanges?.(state, session, null, "branch_files");
}

/** Returns what another node said, or null if that has no sense. */
function readFiles(value: JsonValue): BranchFile[] | null {
  if (!Array.isArray(value) || value.length > limits.branchFilesMax) return null;
  const files = new Map<string, string | null>();
  for (const one of value as readonly JsonValue[]) {
    const [path, blob] = Array.isArray(one) ? one : [];
    const isBlob =
      blob === null || (typeof blob === "string" && (blob === uncommitted || /^[0-9a-f]{40,64}$/.test(blob)));
    if (typeof path !== "string" || !isWithin(path) || !isBlob) return null;
    files.set(path, blob);
  }
  return [...files];
}
