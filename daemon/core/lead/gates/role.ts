/** An agent keeps to its role: what that may not do, another agent does, or a person gives it another role. */
import { type Role, rights, roles } from "../../../../protocol/lead/roles.ts";
import type { CreationFacts, RoleFacts, ShellFacts, WriteFacts } from "./facts.ts";

export function roleAtWrite({ role, file }: WriteFacts): readonly string[] {
  const { writes } = rights[role.role];
  if (writes === "all" || (writes === "tests" && file.isTest)) return [];
  const what = writes === "tests" ? `changes tests only, and ${file.path} is none` : "changes no files";
  return [sentence(role, what, "the change", mayWrite)];
}

export function roleAtShell({ role, git, beyondOwn, runs }: ShellFacts): readonly string[] {
  const may = rights[role.role];
  const refused = { all: [], own: beyondOwn, none: git }[may.git];
  const what =
    may.git === "own"
      ? "runs git add and git commit in a worktree of its own, and no other git command that writes"
      : "runs no git command that writes";
  return [
    ...(refused.length === 0 ? [] : [sentence(role, `${what} (${named(refused)})`, "that", writesGit)]),
    ...(may.runs || runs.length === 0
      ? []
      : [sentence(role, `runs no tests and no builds (${named(runs)})`, "that", one => rights[one].runs)]),
  ];
}

export function roleAtCreation({ role }: CreationFacts): readonly string[] {
  if (rights[role.role].creates) return [];
  return [sentence(role, "creates no tasks", "what is to be done", one => rights[one].creates)];
}

/** Returns the roles that may do more than this one; empty: it may do all that this gate looks at. */
export function rolesBeyond(role: Role): readonly Role[] {
  const { writes, runs, git, creates } = rights[role];
  if (writes === "all" && runs && git === "all" && creates) return [];
  return roles.filter(one => mayWrite(one));
}

function writesGit(role: Role): boolean {
  return rights[role].git === "all";
}

function mayWrite(role: Role): boolean {
  return rights[role].writes === "all";
}

/** Says what the role does not do, and the ways on: another agent, another role. */
function sentence(
  { role, by, name, others }: RoleFacts,
  what: string,
  it: string,
  may: (role: Role) => boolean,
): string {
  const [able = role] = roles.filter(may);
  const whom = others.length === 0 ? `an agent that is ${able}` : others.join(" or ");
  const source =
    by === "person"
      ? "your user gave you that role"
      : by === "spawn"
        ? "you began with it"
        : "you declared it";
  const ask = `ask your user: kite role ${name} ${able}`;
  const other =
    by === "declared"
      ? `declare another identity.role if that is not what you are, for example ${able}`
      : ask;
  return `role: you are ${role} (${source}), which ${what}; leave ${it} to ${whom} (kite message send), or ${other}`;
}

function named(programs: readonly string[]): string {
  return [...new Set(programs)].join(", ");
}
