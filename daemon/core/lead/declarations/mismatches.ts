/** Whether what an agent declared fits what its client says of it. Where either says nothing, nothing is compared. */
import type { Role } from "../../../../protocol/lead/roles.ts";

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

/** The role of each kind, in the same order; null: none of the table of roles. */
const kindRoles: readonly (Role | null)[] = [
  null,
  "implementer",
  "reviewer",
  "tester",
  "researcher",
  "architect",
  null,
];

const leadKind = kinds.findIndex(words => words.includes("lead"));

const kindOf: ReadonlyMap<string, number> = new Map(
  kinds.flatMap((words, kind) => words.map(word => [word, kind] as const)),
);

interface Declared {
  readonly role: string;
  readonly team: string;
}

interface Said {
  readonly name: string | null;
  readonly team: string | null;
}

/** Returns a sentence for the role and one for the team, if the client says otherwise. */
export function mismatchesIn({ role, team }: Declared, { name, team: saidTeam }: Said): string[] {
  const [declared, said] = [kindsIn(role), kindsIn(name ?? "")];
  const isOtherRole = declared.size > 0 && said.size > 0 && [...declared].every(kind => !said.has(kind));
  const isOtherTeam = saidTeam !== null && team.trim() !== "" && plain(team) !== plain(saidTeam);
  return [
    ...(isOtherRole ? [`identity.role: declared ${role}, but the client calls this agent ${name}`] : []),
    ...(isOtherTeam ? [`identity.team: declared ${team}, but the client says its team is ${saidTeam}`] : []),
  ];
}

/** Whether a role is that of a lead and of nothing else: `team lead` is, `lead developer` is not. */
export function isLeadRole(role: string): boolean {
  const named = kindsIn(role);
  return named.size === 1 && named.has(leadKind);
}

/** Returns the one role that a text names; null: it names none, or several. */
export function roleNamed(text: string): Role | null {
  const named = [...kindsIn(text)].flatMap(kind => kindRoles[kind] ?? []);
  return named.length === 1 ? (named[0] ?? null) : null;
}

/** The kinds of roles that a text names: `code-reviewer` and `CodeReviewer` name that of a reviewer. */
function kindsIn(text: string): ReadonlySet<number> {
  const words = text
    .replace(/(?<=[a-z])(?=[A-Z])/gu, " ")
    .toLowerCase()
    .split(/[^a-z]+/u);
  return new Set(words.flatMap(word => kindOf.get(word) ?? []));
}

function plain(text: string): string {
  return text.trim().toLowerCase();
}
