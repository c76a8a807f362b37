/** What a declaration lacks. Invariant: whoever supplies what these sentences ask for lacks it no more. */

import { declarationExample } from "../../../protocol/codes.ts";
import type { Role } from "../../../protocol/lead/roles.ts";
import { quote } from "../../../protocol/text.ts";
import { isSame } from "../frame/records.ts";
import type { Rules } from "../tables/base-state.ts";
import type { Declaration, DeclaredFile } from "../tables/declarations.ts";
import type { Whose } from "../tables/messages.ts";
import { isShortId } from "../tables/naming.ts";
import { kindsIn } from "../tables/role-words.ts";
import { compared } from "../work/declared-ends.ts";
import type { State } from "./state.ts";

const copied = new Set(Object.values(declarationExample).map(plain));

/** Words that stand for text to come. */
const placeholder =
  /^(?:todo|tbd|tba|fixme|xxx+|n\/?a|none|null|undefined|unknown|placeholder|\?+|-+|…|\.{2,})$/;

/** No placeholder and no example is longer, however its words are spaced. */
const longest = 2 * Math.max(...[...copied].map(({ length }) => length));

/** Whether a text says something: it is not empty, no placeholder, and not the example copied back. */
function isFilled(text: string): boolean {
  if (text.trim().length > longest) return true;
  const words = plain(text);
  return words !== "" && !placeholder.test(words) && !copied.has(words);
}

/** Returns what is wrong with a text that is there and says nothing; empty if it is not there. */
function because(text: string): string {
  const words = plain(text);
  if (words === "") return "";
  return copied.has(words) ? `; ${quote(text)} is the example's` : `; ${quote(text)} is a placeholder`;
}

/** Returns one sentence for each part that is missing, in the order of the form. */
export function missingIn(declaration: Declaration | undefined): string[] {
  return [
    ...identityMissing(declaration),
    ...understandingMissing(declaration),
    ...viewMissing(declaration?.files ?? []),
  ];
}

/** Returns what the identity lacks. */
export function identityMissing(declaration: Declaration | undefined): string[] {
  const role = declaration?.role ?? "";
  return isFilled(role)
    ? []
    : [`identity.role: what you are in the team, for example implementer${because(role)}`];
}

/** Returns what the understanding lacks. */
export function understandingMissing(declaration: Declaration | undefined): string[] {
  const missing: string[] = [];
  const { task = "", reason = "" } = declaration ?? {};
  if (!isFilled(task)) missing.push(`understanding.task: your task in your own words${because(task)}`);
  if (declaration === undefined || declaration.confidence === null)
    missing.push("understanding.confidence: from 0 to 1, how sure you are of it");
  if (!isFilled(reason))
    missing.push(`understanding.reason: why the confidence is as it is${because(reason)}`);
  if (declaration?.plan.some(isFilled) !== true) missing.push("understanding.plan: your steps, at least one");
  return missing;
}

/** Returns which of these declared files lack what is there, or what will be done. */
export function viewMissing(files: readonly DeclaredFile[]): string[] {
  const missing: string[] = [];
  for (const { path, sees, will } of files) {
    if (!isFilled(sees)) missing.push(`codeView: what is in ${path} now (sees)${becauseSeen(sees)}`);
    if (!isFilled(will)) missing.push(`codeView: what you will do in ${path} (will)${because(will)}`);
  }
  return missing;
}

/** A placeholder often means that there is nothing to see yet. */
function becauseSeen(sees: string): string {
  const why = because(sees);
  return why === "" ? "" : `${why}; if the file is new, say that it is new`;
}

function plain(text: string): string {
  return text.trim().replace(/\s+/gu, " ").replace(/[.!]$/u, "").toLowerCase();
}

// Whether what an agent declared fits what its client says of it. If either says nothing, nothing is compared.

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

/** What an agent client says of an agent; null: it says nothing. */
interface ClientWord {
  /** A teammate's own name, or a subagent's type, with a number if others of its session have it. */
  readonly name: string | null;
  readonly team: string | null;
}

/** Returns a sentence for the role and one for the team, if the client says otherwise. */
function mismatchesIn({ role, team }: Declared, { name, team: saidTeam }: ClientWord): string[] {
  const [roleKinds, nameKinds] = [kindsIn(role), kindsIn(name ?? "")];
  const isOtherRole =
    roleKinds.size > 0 && nameKinds.size > 0 && [...roleKinds].every(kind => !nameKinds.has(kind));
  const isOtherTeam = saidTeam !== null && team.trim() !== "" && normalized(team) !== normalized(saidTeam);
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

function normalized(text: string): string {
  return text.trim().toLowerCase();
}

// What is said of a declaration when it is made.

export const comparisonRules: Rules<object, State> = {
  commands: {},
  points: {
    mismatchesIn: (state, declaration) => mismatchesIn(declaration, clientWord(state, declaration)),
    declaredFields: (_state, declaration) => ({ missing: missingIn(declaration) }),
  },
};

/** Returns what the client says of an agent. */
function clientWord(state: State, { session: id, agent }: Whose): ClientWord {
  const session = state.sessions.live.get(id);
  const teammate = state.teammates.get(id)?.get(agent);
  if (teammate !== undefined) return teammate;
  const name = agent === null ? undefined : session?.agents.get(agent);
  const isSaid = name !== undefined && agent !== null && !isShortId(name, agent);
  return { name: isSaid ? name : null, team: null };
}

/** Yields a sentence for each declaration whose mismatches are not those that there are. */
export function* checkMismatches(state: State): Generator<string> {
  for (const [key, one] of state.declarations.live)
    if (!isSame(one.mismatches, compared(state, one).mismatches))
      yield `the mismatches of ${key} are not those that there are`;
}
