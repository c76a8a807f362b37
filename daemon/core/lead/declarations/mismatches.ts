/** Whether what an agent declared fits what its client says of it. Where either says nothing, nothing is compared. */
import type { Role } from "../../../../protocol/lead/roles.ts";
import { kindsIn } from "../../declarations/role-words.ts";

/** The role of each kind, in the order of `kinds`; null: none of the table of roles. */
const kindRoles: readonly (Role | null)[] = [
  null,
  "implementer",
  "reviewer",
  "tester",
  "researcher",
  "architect",
  null,
];

interface Declared {
  readonly role: string;
  readonly team: string;
}

/** What an agent client says of an agent; null where it says nothing. */
export interface ClientWord {
  /** A teammate's own name, or a subagent's type, with a number if others of its session have it. */
  readonly name: string | null;
  readonly team: string | null;
}

/** Returns a sentence for the role and one for the team, if the client says otherwise. */
export function mismatchesIn({ role, team }: Declared, { name, team: saidTeam }: ClientWord): string[] {
  const [declared, said] = [kindsIn(role), kindsIn(name ?? "")];
  const isOtherRole = declared.size > 0 && said.size > 0 && [...declared].every(kind => !said.has(kind));
  const isOtherTeam = saidTeam !== null && team.trim() !== "" && plain(team) !== plain(saidTeam);
  return [
    ...(isOtherRole ? [`identity.role: declared ${role}, but the client calls this agent ${name}`] : []),
    ...(isOtherTeam ? [`identity.team: declared ${team}, but the client says its team is ${saidTeam}`] : []),
  ];
}

/** Returns the one role that a text names; null: it names none, or several. */
export function roleNamed(text: string): Role | null {
  const named = [...kindsIn(text)].flatMap(kind => kindRoles[kind] ?? []);
  return named.length === 1 ? (named[0] ?? null) : null;
}

function plain(text: string): string {
  return text.trim().toLowerCase();
}
