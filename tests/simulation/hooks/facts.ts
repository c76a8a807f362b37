/** The outside world of the daemon in which hooks are simulated: one repository, files that only edits change. */
import { resolve } from "node:path";
import type { Anchor } from "../../../daemon/core/frame/actors.ts";
import type { Clock } from "../../../daemon/engine/clock.ts";
import type { Facts } from "../../../daemon/facts/facts.ts";
import type { BudgetedFs } from "../../../daemon/facts/filesystem.ts";
import type { LifeQuestion, LifeSigns } from "../../../daemon/facts/processes.ts";

/** What the agent client shows of itself outside its events. */
export interface Shown {
  isAlive(anchor: Anchor): boolean;
  lifeSigns(asked: LifeQuestion): LifeSigns;
}

const repository = { project: "/p", worktree: "/p", branch: "main", gitDir: "/p/.git" };

/** Returns the facts that hooks ask for; any other throws, so that nobody takes an answer for granted. */
export function simulatedFacts(shown: Shown): Facts {
  const path = (cwd: string, file: string) => {
    const real = resolve(cwd, file);
    return { lexical: real, real, key: real, dir: false };
  };
  const unchanged = { stamp: "as it was", changedAt: 0 };
  const facts: Partial<Facts> = {
    lexical: (cwd, file) => resolve(cwd, file),
    pathNow: path,
    path: async (cwd, file) => path(cwd, file),
    stamped: async () => unchanged,
    stampedNow: () => unchanged,
    parentAgent: async () => null,
    repository: async () => repository,
    history: {
      headLog: async () => ({ head: null, bytes: null, moves: [] }),
      between: async () => [],
      refs: async () => new Map(),
      small: async () => null,
      settings: async () => new Map(),
    },
    heads: {
      latest: () => undefined,
      now: async () => ({ ref: "refs/heads/main", commit: "0".repeat(40), operation: null, of: null }),
      isAhead: async () => true,
      isAncestor: async () => true,
      revision: async () => null,
      remoteBranches: async () => [],
      setting: async () => null,
      worktreeOn: async () => null,
    },
    anchor: pid => ({ pid, startTime: "1" }),
    isAlive: anchor => shown.isAlive(anchor),
    lifeSigns: async asked => shown.lifeSigns(asked),
  };
  return new Proxy(facts as Facts, {
    get: (known, name) => {
      const fact: unknown = Reflect.get(known, name);
      if (fact === undefined) throw new Error(`no simulated hook asks for the fact ${String(name)}`);
      return fact;
    },
  });
}

/** A filesystem without a file: no settings of a project, nothing trusted. */
export function emptyFilesystem(clock: Clock): BudgetedFs {
  const none = { now: () => clock.now(), fact: async () => null };
  // Settings are read through these two alone.
  return none as unknown as BudgetedFs;
}
