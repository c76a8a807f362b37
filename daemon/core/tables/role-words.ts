/** Words for the roles that agents declare. */

/** Words for roles, by kind: two roles of one kind do not contradict each other. Words that fit several are left out. */
const kinds: readonly (readonly string[])[] = [
  ["lead", "leader", "coordinator", "orchestrator"],
  ["implementer", "implementor", "developer", "coder", "programmer", "builder"],
  ["reviewer", "review", "critic", "auditor"],
  ["tester", "test", "qa"],
  ["researcher", "research", "explorer", "explore", "investigator"],
  ["planner", "plan", "architect", "designer"],
  ["writer", "documenter", "docs"],
];

const leadKind = kinds.findIndex(words => words.includes("lead"));

const kindOf: ReadonlyMap<string, number> = new Map(
  kinds.flatMap((words, kind) => words.map(word => [word, kind] as const)),
);

/** Whether a role is that of a lead and of nothing else: `team lead` is, `lead developer` is not. */
export function isLeadRole(role: string): boolean {
  const named = kindsIn(role);
  return named.size === 1 && named.has(leadKind);
}

/** Returns the numbers of the kinds of roles that a text names: `code-reviewer` and `CodeReviewer` name that of a reviewer. */
export function kindsIn(text: string): ReadonlySet<number> {
  const words = text
    .replace(/(?<=[a-z])(?=[A-Z])/gu, " ")
    .toLowerCase()
    .split(/[^a-z]+/u);
  return new Set(words.flatMap(word => kindOf.get(word) ?? []));
}
