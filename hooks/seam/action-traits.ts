/** What each action is like, for code that treats actions differently. An action without a row does not compile. */
import type { BaseAction } from "./actions.ts";

export interface ActionTraits {
  /** It may wait: until another agent is done, or until git has answered. */
  readonly waits: boolean;
  /**
   * Whether its outcome has something to tell. `only`: the daemon runs the action for that alone. `also`: the daemon
   * runs it even if no answer can carry its outcome.
   */
  readonly tells: "nothing" | "also" | "only";
  /** The daemon runs it even if an action before it was refused. */
  readonly afterRefusal: boolean;
  /** Its verdict may hold the agent back, so that nothing after it may happen. */
  readonly holdsBack: boolean;
}

/** It waits for nothing, and has nothing to tell. */
export const plain = { waits: false, tells: "nothing", afterRefusal: false, holdsBack: false } as const;
/** It is run for what it tells alone. */
export const telling = { waits: false, tells: "only", afterRefusal: false, holdsBack: false } as const;

export const baseTraits = {
  begin: { waits: false, tells: "also", afterRefusal: false, holdsBack: false },
  heartbeat: plain,
  // An edit that has its lock is stopped where it would undo a change.
  lock: { waits: true, tells: "also", afterRefusal: false, holdsBack: true },
  client_task: plain,
  client_idle: plain,
  record_result: plain,
  context_lost: plain,
  // It waits for nothing and asks nobody, so it holds where Kite is off, too: an agent may switch off its own session.
  check_own_files: { waits: false, tells: "also", afterRefusal: true, holdsBack: true },
  // A session that cannot be registered may wipe others' work like any other.
  guard: { waits: true, tells: "also", afterRefusal: true, holdsBack: true },
  plain_files: { waits: true, tells: "also", afterRefusal: true, holdsBack: true },
  // What a line wipes is kept whether or not its session is known.
  keep_work: { waits: true, tells: "also", afterRefusal: true, holdsBack: true },
  release_line_files: plain,
  record_tool_use: plain,
  flight_end: plain,
  shell_end: plain,
  release_index: plain,
  renew: plain,
  reconcile: plain,
  suspend: plain,
  turn_end: plain,
  // A refusal is an answer, too: what the actor was shown before counts as read, and the next messages go with it.
  inbox: { waits: false, tells: "only", afterRefusal: true, holdsBack: false },
  notes: telling,
  end: plain,
  prompt_submitted: plain,
  await_release: { waits: true, tells: "only", afterRefusal: false, holdsBack: false },
  list_peers: telling,
  glance: telling,
} as const satisfies { readonly [D in BaseAction["do"]]: ActionTraits };
