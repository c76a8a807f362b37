/**
 * The table of gates: in which order they are asked, and when.
 *
 * Invariants: a gate is pure and knows no agent client. Reading and declaring pass no gate. An agent that supplies what a
 * gate's sentences ask for passes it. If the agent's given role forbids the step, the gate asks for nothing else.
 */

import {
  type GateFinding,
  type GateName,
  type Gates,
  gatesFor,
  type Role,
  type RoleSource,
  rights,
  roles,
} from "../../../protocol/lead/roles.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Declaration, DeclaredFile } from "../tables/declarations.ts";
import type { OthersFile } from "./checks.ts";
import { identityMissing, understandingMissing, viewMissing } from "./declarations.ts";

// What gates decide by: facts of one agent and of what it is about to do.

/** An agent is about to write a file. */
export interface WriteFacts {
  readonly declaration: Declaration | undefined;
  /** The file's key; its path as the agent knows it; whether it is code, or a document; whether it belongs to the tests. */
  readonly file: {
    readonly key: string;
    readonly path: string;
    readonly isCode: boolean;
    readonly isTest: boolean;
  };
  readonly role: RoleFacts;
  /** Why the agent counts as a lead, and to whom it may delegate, by name; null: it is none. */
  readonly lead: Lead | null;
}

export interface Lead {
  /** `declared`: it said so. `leads`: it began the agents that work now, and declared no role. */
  readonly why: "given" | "declared" | "leads";
  readonly delegates: readonly string[];
}

/** The agent's role, and what a sentence about it names. */
export interface RoleFacts {
  readonly role: Role;
  readonly by: RoleSource;
  /** The agent's name for people. */
  readonly name: string;
  /** Names of other agents whose role may do more: at most `limits.takersMax`. */
  readonly others: readonly string[];
}

/** An agent is about to run a shell line; `git` and `runs` name the programs in it that a role may forbid. */
export interface ShellFacts {
  readonly role: RoleFacts;
  /** Git commands that write. */
  readonly git: readonly string[];
  /** Those of them that are not `git add` or `git commit` in a worktree of the agent's own. */
  readonly beyondOwn: readonly string[];
  /** Tests and builds. */
  readonly runs: readonly string[];
}

/** An agent is about to create tasks. */
interface CreationFacts {
  readonly role: RoleFacts;
}

/** An agent is about to stop. */
export interface StopFacts {
  /** The tool whose last call failed and after which no call succeeded; null: there is none. */
  readonly failure: { readonly tool: string; readonly error: string } | null;
}

/** An agent says that a task is done. */
export interface CompletionFacts {
  readonly declaration: Declaration | undefined;
  readonly checks: readonly CheckFact[];
  /** Absolute path of the worktree for which the checks count. */
  readonly worktree: string;
  /** Why Kite could not look at the checks, or at the worktree; null: it could. */
  readonly unseen: Unseen | null;
  /** The checks' text is no longer the one that a person trusted. */
  readonly checksChanged: boolean;
  /** The task's debate, if it is still open. */
  readonly openDebate: string | null;
}

interface Unseen {
  readonly why: string;
  /** The agent was held back for it as often as it may be, or cannot end it. */
  readonly isSpent: boolean;
}

/** A check that the task needs. */
export type CheckFact = Unsettled | Overtaken | { readonly name: string; readonly state: Plain };

type Plain = "green" | "red" | "stale" | "never_run";

/** It was green, and since then only others changed files. */
interface Overtaken {
  readonly name: string;
  readonly state: "overtaken";
  /** The changed files, and who wrote each last; none: only the commit is another one. */
  readonly files: readonly OthersFile[];
}

/** It was green each time that the agent ran it, and each time files changed again; nobody is known to have written them. */
interface Unsettled {
  readonly name: string;
  readonly state: "unsettled";
}

/** An agent changes code only in files that it declared, alone or with their folder. */
function codeView({ declaration, file }: WriteFacts): readonly string[] {
  if (!file.isCode) return [];
  const covers = ({ key, dir }: DeclaredFile) => key === file.key || (dir && file.key.startsWith(`${key}/`));
  const lacks = (declaration?.files ?? []).filter(covers).map(declared => viewMissing([declared]));
  // One declaration that says everything is enough, whatever was declared around it.
  const [least] = lacks.sort((a, b) => a.length - b.length);
  if (least !== undefined) return least;
  return [`codeView: ${file.path}, with what is there now (sees) and what you will do there (will)`];
}

/** A lead reads, plans, delegates and writes documents; it does not change code. */
function delegation({ lead, file }: WriteFacts): readonly string[] {
  if (lead === null || !file.isCode) return [];
  const { why, delegates } = lead;
  const whom = delegates.length === 0 ? "begin an agent for it" : `give it to ${delegates.join(", ")}`;
  const you = {
    given: "your user gave you the role of a lead",
    declared: "you declared that you lead",
    leads: "you lead the agents that you began",
  }[why];
  const other =
    why === "given"
      ? "ask your user for another role (kite role)"
      : "declare another identity.role, for example implementer";
  return [`a lead delegates code: ${you}, so ${whom}; or, to change ${file.path} yourself, ${other}`];
}

/** An agent says what it is in its team before it writes. */
function identity({ declaration }: WriteFacts): readonly string[] {
  return identityMissing(declaration);
}

/** A task is done when it is understood, its files are written, its questions are answered and its checks are green. */
function quality({
  declaration,
  checks,
  worktree,
  unseen,
  checksChanged,
  openDebate,
}: CompletionFacts): readonly string[] {
  const files = declaration?.files ?? [];
  const open = (declaration?.uncertainties ?? []).filter(({ resolved }) => !resolved);
  return [
    ...understandingMissing(declaration),
    ...viewMissing(files.filter(({ touched }) => touched)),
    ...files
      .filter(({ touched }) => !touched)
      .map(
        ({ path }) =>
          `codeView: you declared ${path} and did not write it; write it, or strike it off (drop)`,
      ),
    ...open.map(({ question, settledBy }) => {
      const by = settledBy === "" ? "" : ` (${settledBy} settles it)`;
      return `uncertainties: "${question}" is open${by}; resolve it with evidence`;
    }),
    ...(checksChanged ? [changed] : []),
    ...checks.flatMap(check => missingCheck(check, worktree)),
    ...(unseen === null || unseen.isSpent ? [] : [blind(unseen)]),
    ...(openDebate === null ? [] : [`debate: ${openDebate} is open; close it with a verdict`]),
  ];
}

/** An agent may write the file that names them: to change a check is no way around it. */
export const changed =
  "checks: they changed since a person trusted them, or the gates beside them did; trusted gates stay in force; ask your user to read them and run: kite check --trust";

function blind({ why }: Unseen): string {
  return `checks: Kite could not look at them (${why}); put that right, then complete the task again`;
}

/** What an agent is told that passes all the same, and what the trail keeps. */
function passedOver({ checks, unseen }: CompletionFacts): readonly string[] {
  const blindly = `checks unseen: Kite could not look at them (${unseen?.why}); the task passes without them`;
  return [...(unseen?.isSpent === true ? [blindly] : []), ...checks.flatMap(passedCheck)];
}

function passedCheck(check: CheckFact): readonly string[] {
  const { name } = check;
  if (check.state === "unsettled")
    return [
      `checks unsettled: ${name} was green each time, and then files changed again; the task passes, and ${name} says nothing of the files as they are now`,
    ];
  if (check.state !== "overtaken" || check.files.length === 0) return [];
  const shown = check.files.slice(0, limits.overtakenFilesMax);
  const more = check.files.length - shown.length;
  const which = shown.map(({ file, by }) => `${file} (${by})`).join(", ");
  const rest = more === 0 ? "" : ` and ${more} more`;
  return [`checks overtaken: ${name} was green with your work; later others changed ${which}${rest}`];
}

/** Names the worktree: the agent that runs the check may stand in another one. */
function missingCheck({ name, state }: CheckFact, worktree: string): readonly string[] {
  switch (state) {
    case "green":
    case "overtaken":
    case "unsettled":
      return [];
    case "red":
      return [
        `checks: ${name} failed in ${worktree}; mend what it found, then run there: kite check ${name}`,
      ];
    case "stale":
      return [`checks: files changed in ${worktree} since ${name} ran; run there: kite check ${name}`];
    case "never_run":
      return [`checks: ${name} was not run in ${worktree}; run there: kite check ${name}`];
  }
}

/** An agent whose last call failed does something about it, or says why not, before it stops. */
function recovery({ failure }: StopFacts): readonly string[] {
  return failure === null ? [] : [`your last ${failure.tool} call failed: ${failure.error}`];
}

// An agent keeps to its role: what that may not do, another agent does, or a person gives it another role.

function roleAtWrite({ role, file }: WriteFacts): readonly string[] {
  const { writes } = rights[role.role];
  if (writes === "all" || (writes === "tests" && file.isTest)) return [];
  const what = writes === "tests" ? `changes tests only, and ${file.path} is none` : "changes no files";
  return [sentence(role, what, "the change", mayWrite)];
}

function roleAtShell({ role, git, beyondOwn, runs }: ShellFacts): readonly string[] {
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

function roleAtCreation({ role }: CreationFacts): readonly string[] {
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

/** An agent says how it understands its task, how sure it is, and its plan, before it writes. */
function understanding({ declaration }: WriteFacts): readonly string[] {
  return understandingMissing(declaration);
}

/** Returns what is missing, one sentence each; empty: the agent passes. */
type Gate<Facts> = (facts: Facts) => readonly string[];

type Row<Facts> = readonly (readonly [GateName, Gate<Facts>])[];

const roleBeforeWrite: Row<WriteFacts> = [["role", roleAtWrite]];
const atShell: Row<ShellFacts> = [["role", roleAtShell]];
const atCreation: Row<CreationFacts> = [["role", roleAtCreation]];
const atWrite: Row<WriteFacts> = [
  ["delegation", delegation],
  ["identity", identity],
  ["understanding", understanding],
  ["codeView", codeView],
];
const atStop: Row<StopFacts> = [["recovery", recovery]];
const atCompletion: Row<CompletionFacts> = [["quality", quality]];

/** Whether any gate applies before a write, of an agent that was given no role. */
export function gatesWrites(modes: Gates): boolean {
  return [...roleBeforeWrite, ...atWrite].some(([gate]) => modes[gate] !== "off");
}

export function beforeWrite(gates: Gates, facts: WriteFacts): GateFinding[] {
  const modes = gatesFor(gates, facts.role.by);
  const role = find(roleBeforeWrite, modes, facts);
  // It cannot change that role itself, so that it declares the rest would be for nothing.
  if (facts.role.by !== "declared" && role.some(({ mode }) => mode === "enforce")) return role;
  const found = find(atWrite, modes, facts);
  return [...role, ...found.filter(({ gate }) => gate !== "codeView" || !givesAway(modes, found))];
}

/** Whether a lead is to give the file away, so that it need not view it: unless it may keep it once it did. */
function givesAway({ delegation, codeView }: Gates, found: readonly GateFinding[]): boolean {
  const isLeads = found.some(({ gate }) => gate === "delegation");
  return isLeads && (delegation === "enforce" || codeView !== "enforce");
}

export function beforeShell(gates: Gates, facts: ShellFacts): GateFinding[] {
  return find(atShell, gatesFor(gates, facts.role.by), facts);
}

export function beforeCreation(gates: Gates, facts: CreationFacts): GateFinding[] {
  return find(atCreation, gatesFor(gates, facts.role.by), facts);
}

export function beforeStop(modes: Gates, facts: StopFacts): GateFinding[] {
  return find(atStop, modes, facts);
}

/** With nothing missing, a finding tells what passes all the same. */
export function beforeCompletion(modes: Gates, facts: CompletionFacts): GateFinding[] {
  const found = find(atCompletion, modes, facts);
  if (found.length > 0 || modes.quality === "off") return found;
  const passed = passedOver(facts);
  return passed.length === 0 ? [] : [{ gate: "quality", mode: "warn", missing: passed }];
}

function find<Facts>(row: Row<Facts>, modes: Gates, facts: Facts): GateFinding[] {
  const found: GateFinding[] = [];
  for (const [gate, find] of row) {
    const mode = modes[gate];
    if (mode === "off") continue;
    const missing = find(facts);
    if (missing.length > 0) found.push({ gate, mode, missing });
  }
  return found;
}

// Which files are documents, by their names; all others are code. A lead writes documents. Which files belong to the
// tests, by their names and folders. A tester writes these.

const endings: ReadonlySet<string> = new Set([
  "adoc",
  "asciidoc",
  "log",
  "markdown",
  "md",
  "mdx",
  "org",
  "pdf",
  "rst",
  "tex",
  "txt",
]);

const names: ReadonlySet<string> = new Set([
  "authors",
  "changelog",
  "contributing",
  "copying",
  "license",
  "notice",
  "readme",
  "todo",
]);

/** Programs read these, whatever their endings say. */
const code: ReadonlySet<string> = new Set([
  "cmakelists.txt",
  "constraints.txt",
  "requirements.txt",
  "robots.txt",
]);

export function isDocument(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (code.has(name)) return false;
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? names.has(name) : endings.has(name.slice(dot + 1));
}

/** Folders of tests and of what tests use. */
const testFolders: ReadonlySet<string> = new Set([
  "__fixtures__",
  "__mocks__",
  "__snapshots__",
  "__tests__",
  "cypress",
  "e2e",
  "fixtures",
  "spec",
  "specs",
  "test",
  "testdata",
  "tests",
]);

/** `a.test.ts`, `a_test.go`, `test_a.py`, `ATest.java`, `a_spec.rb`, `conftest.py`. */
const testNames: readonly RegExp[] = [
  /[._-](?:test|tests|spec|specs|e2e)\.[^/]+$/i,
  /^tests?[._-][^/]*$/i,
  /^conftest\.py$/,
  /[a-z0-9](?:Test|Tests|TestCase|Spec|IT)\.(?:java|kt|kts|scala|groovy|cs|swift|php|m|mm)$/,
];

/** Whether the file belongs to the tests; `path` is relative to the top of the worktree. */
export function isTest(path: string): boolean {
  const names = path.split("/");
  const name = names.pop() ?? "";
  return names.some(folder => testFolders.has(folder.toLowerCase())) || testNames.some(one => one.test(name));
}
