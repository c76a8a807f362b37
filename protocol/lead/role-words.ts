/** Says to an agent what its role means, and which of that Kite holds it to. */
import type { GateMode } from "./gates.ts";
import { type Role, rights } from "./roles.ts";

/** Returns what an agent of this role does not do, and the tasks that it takes. */
export function rightsOf(role: Role): string {
  const { takes } = rights[role];
  return [...limitsOf(role).map(one => `you ${one}`), `you take tasks that are ${takes.join(", ")}`].join(
    "; ",
  );
}

/** Returns a sentence that tells what of the role is refused from what is left to the agent. */
export function heldTo(role: Role, mode: GateMode): string {
  if (limitsOf(role).length === 0) return "Kite refuses claims beyond it";
  const rest = {
    enforce:
      "Kite refuses edits, git commands, new tasks and claims beyond it; it does not see every shell line, so keep to it there yourself",
    warn: "Kite refuses claims beyond it and warns you of the rest, to which you keep yourself",
    off: "Kite refuses claims beyond it; to the rest you keep yourself",
  };
  return rest[mode];
}

function limitsOf(role: Role): string[] {
  const { writes, runs, git, creates } = rights[role];
  const not = [
    writes === "none" ? "change no files" : writes === "tests" ? "change tests only" : null,
    runs ? null : "run no tests or builds",
    {
      all: null,
      own: "run git add and git commit in a worktree of your own, and no other git command that writes",
      none: "run no git commands that write",
    }[git],
    creates ? null : "create no tasks",
  ];
  return not.filter(one => one !== null);
}
