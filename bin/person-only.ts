/** What only a person may do: one row each, which `person.ts` refuses to agents with the code `person_only`. */

/** A row: what is refused, as the end of the sentence "only a person ...". */
export interface PersonOnly {
  readonly does: string;
  /** An agent may under the name of its session: only one that hides it is refused. */
  readonly isNamed?: true;
  /** The tool of Kite that does it for an agent. */
  readonly tool?: string;
  /** Its command line means something else in another directory. */
  readonly isHere?: true;
}

const rows = {
  role: { does: "gives roles", isHere: true },
  lead: { does: "spawns an agent that leads", isHere: true },
  approve: { does: "says yes to a task", isHere: true },
  pr: { does: "pushes a branch for a pull request", isHere: true },
  trust: { does: "trusts checks" },
  revoke: { does: "revokes trust in checks" },
  config: { does: "changes Kite's settings" },
  store: { does: "joins or leaves a store, and shares projects", isHere: true },
  off: { does: "switches Kite off beyond an agent's own session", isHere: true },
  down: { does: "stops Kite's daemon for everybody" },
  empty: { does: "gives up what the missing journal held" },
  repair: { does: "gives up what a damaged journal lost" },
  fix: { does: "does this step" },
  install: { does: "connects agents to Kite for all projects" },
  uninstall: { does: "disconnects all projects from Kite" },
  purge: { does: "removes kept versions for good", isHere: true },
  go: { does: "goes to an agent's terminal" },
  unlock: { does: "takes a lock from its holder", isHere: true },

  rescue: { does: "sees and restores kept work", isNamed: true, tool: "kite_rescue" },
  thaw: { does: "ends the freezes of others", isNamed: true },
  freeze: { does: "freezes files", isNamed: true, tool: "kite_broadcast" },
  spawn: { does: "spawns an agent", isNamed: true, tool: "kite_spawn" },
  stop: { does: "stops an agent", isNamed: true },
  replace: { does: "replaces an agent", isNamed: true },
  prune: { does: "removes agents", isNamed: true },
  release: { does: "gives back what an agent has", isNamed: true },
  rename: { does: "renames a session", isNamed: true },
  edit: { does: "changes a task", isNamed: true },
  finish: { does: "ends a task", isNamed: true, tool: "kite_task_complete" },
  import: { does: "imports tasks that are done", isNamed: true },
  close: { does: "forces a debate to close", isNamed: true },
} as const satisfies Readonly<Record<string, PersonOnly>>;

export type PersonsDeed = keyof typeof rows;

export const personOnly: Readonly<Record<PersonsDeed, PersonOnly>> = rows;
