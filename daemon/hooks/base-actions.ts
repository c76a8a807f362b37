/** The actions of the base. */
import type { HookAction } from "../../hooks/seam/slices.ts";
import { type ActionHandler, actorOfAction, propose } from "./action.ts";
import { clientIdle, clientTask } from "./client-task-actions.ts";
import { lock } from "./edit-action.ts";
import { glance } from "./glance.ts";
import { guard, releaseIndex } from "./guard/guard.ts";
import { plainFiles, releaseLineFiles } from "./guard/plain-files.ts";
import { inbox, notes } from "./inbox.ts";
import { checkOwnFiles } from "./own-files-action.ts";
import { listPeersInTurn } from "./peers.ts";
import {
  awaitRelease,
  begin,
  contextLost,
  end,
  heartbeat,
  promptSubmitted,
  reconcile,
  recordResult,
  recordToolUse,
  suspend,
  turnEnd,
} from "./session-actions.ts";
import { flightEnd, shellEnd } from "./write-actions.ts";

export const baseActions = {
  begin,
  heartbeat,
  check_own_files: checkOwnFiles,
  lock,
  client_task: clientTask,
  client_idle: clientIdle,
  record_result: recordResult,
  context_lost: contextLost,
  guard,
  plain_files: plainFiles,
  release_line_files: releaseLineFiles,
  flight_end: flightEnd,
  shell_end: shellEnd,
  release_index: releaseIndex,
  renew: (run, action) => propose(run, "renew", { type: "lease_renew", actor: actorOfAction(run, action) }),
  record_tool_use: recordToolUse,
  turn_end: turnEnd,
  reconcile,
  suspend,
  inbox,
  notes,
  end,
  list_peers: listPeersInTurn,
  glance,
  prompt_submitted: promptSubmitted,
  await_release: awaitRelease,
} satisfies { readonly [D in HookAction["do"]]?: ActionHandler<D> };
