/** A session that stops waits for the merges of its branch. */
import { join } from "node:path";
import type { ReturnedMerge } from "../../../hooks/seam/outcomes.ts";
import { firstUnread, hasOpenMerge, shortName } from "../../core/lead/merges.ts";
import type { State } from "../../core/state.ts";
import type { HookPart } from "../../hooks/points.ts";
import type { LeadServices } from "../services.ts";

export const mergePart: HookPart<LeadServices> = {
  waitsFor: ({ engine }, session) => ({
    hasBranch: mayBeMerged(engine.state, session),
    cameBack: () => returnedTo(engine.state, session),
  }),
};

/** Whether somebody may merge the session's branch: it has a worktree of its own, or a merge of its branch waits already. */
function mayBeMerged(state: State, session: string): boolean {
  const { worktree, project, branch } = state.sessions.live.get(session) ?? {
    worktree: "",
    project: "",
    branch: null,
  };
  const isLinked = branch !== null && project !== worktree && project !== join(worktree, ".git");
  return isLinked || hasOpenMerge(state, session);
}

function returnedTo(state: State, session: string): ReturnedMerge | null {
  const merge = firstUnread(state, session);
  if (merge === undefined) return null;
  const { id, branch, base } = merge;
  return { merge: id, branch: shortName(branch), base: shortName(base) };
}
