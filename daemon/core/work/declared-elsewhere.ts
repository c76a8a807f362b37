/**
 * Declarations of one node as the others know them.
 *
 * Invariants: a file is named by its path within its worktree, and one outside of any is left out. A declaration is no
 * longer than `limits.sharedDeclarationChars`, whatever was declared. A value that the shared log does not understand is no
 * declaration.
 */

import { limits } from "../../../protocol/limits.ts";
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { DeclaredFileRow, Overlap, UncertaintyRow } from "../../../protocol/schemas/declaration.ts";
import { isWithin } from "../frame/actors.ts";
import type { BaseState } from "../tables/base-state.ts";
import {
  addDeclaration,
  type Declaration,
  declarationsOf,
  endDeclaration,
  replaceDeclaration,
} from "../tables/declarations.ts";
import type { Part, Step } from "../tables/entries.ts";
import { noteKey, type Whose } from "../tables/messages.ts";
import { actorRow } from "../tables/naming.ts";
import { isMoved, without } from "./declare.ts";
import { declaredEvent, end, makeRoom } from "./declared-ends.ts";
import { overlapsOf, takeBackOverlaps, tellOverlaps } from "./overlaps.ts";

/** What other nodes know of a declaration. Its project is the shared one, and a path has no slash at either end. */
type SharedDeclaration = Omit<Declaration, keyof Whose | "name" | "ancestors" | "files" | "endedAt"> & {
  readonly files: readonly DeclaredFileRow[];
};

export const declarationPart: Part<BaseState> = {
  *agentsWith({ declarations }, session) {
    for (const { agent } of declarationsOf(declarations, session)) yield agent;
  },
  tell(state, session, agent) {
    const declaration = state.declarations.live.get(noteKey({ session, agent }));
    const published = declaration === undefined ? null : sharedDeclarationOf(state, declaration);
    return published === null ? null : (published as unknown as JsonValue);
  },
  take(state, session, agent, value, step) {
    const whose = { session, agent };
    const published = readTold(value);
    const known = state.declarations.live.get(noteKey(whose));
    if (published !== null) take(state, whose, known, published, step);
    else if (known !== undefined) end(state, known);
  },
};

/**
 * Returns where agents of other nodes declared the same files as this agent of this node's own log. `as`: its session's id
 * in the shared log.
 */
export function overlapsElsewhere(
  shared: BaseState,
  own: BaseState,
  mine: Declaration,
  as: string,
): Overlap[] {
  const published = sharedDeclarationOf(own, mine);
  return published === null
    ? []
    : overlapsOf(shared, declarationOf({ session: as, agent: mine.agent }, "", published));
}

function take(
  state: BaseState,
  whose: Whose,
  known: Declaration | undefined,
  published: SharedDeclaration,
  step: Step,
): void {
  const { declarations } = state;
  // A node tells its declarations again and again: what its agent did not change is not new to anybody.
  const isSame = known?.updatedAt === published.updatedAt;
  // Its machine may have another name meanwhile.
  const { name } = actorRow(state, { ...whose, incarnation: 0 });
  const after = declarationOf(whose, name, published);
  const isAnew = known !== undefined && known.declaredAt !== after.declaredAt;
  const isElsewhere = known !== undefined && isMoved(known, after);
  if (known !== undefined) {
    const struck = isElsewhere ? known.files : without(known.files, after.files);
    takeBackOverlaps(state, known, struck, known.project === after.project ? after.files : []);
  }
  if (known !== undefined && isAnew) endDeclaration(declarations, known, state.t);
  if (isSame) replaceDeclaration(declarations, after);
  else addDeclaration(declarations, after);
  makeRoom(state);
  const before = known === undefined || isElsewhere ? [] : known.files;
  const actor = { ...whose, incarnation: 0 };
  tellOverlaps(state, actor, after, without(after.files, before), step);
  if (!isSame) step.events.push(declaredEvent(state, known ?? { ...after, mismatches: [] }, after));
}

function declarationOf(whose: Whose, name: string, published: SharedDeclaration): Declaration {
  // No path of a machine has this key.
  const files = new Map(
    published.files.map(file => {
      const key = `${published.project}:/${file.path}`;
      return [key, { ...file, key }] as const;
    }),
  );
  return { ...whose, name, ancestors: [], ...published, files: [...files.values()], endedAt: null };
}

/** Returns the declaration as other nodes know it, or null if its project is not shared. */
function sharedDeclarationOf(state: BaseState, declaration: Declaration): SharedDeclaration | null {
  const project = state.outbox.projects.get(declaration.project);
  if (project === undefined) return null;
  const {
    session: _,
    agent: _agent,
    name: _name,
    ancestors: _ancestors,
    endedAt: _end,
    ...fields
  } = declaration;
  const files = new Map<string, DeclaredFileRow>();
  for (const { key: _key, within: path, ...file } of declaration.files) {
    if (path === undefined) continue;
    // Files of two worktrees may be one in the repository.
    const touched = file.touched || files.get(path)?.touched === true;
    files.set(path, { ...file, path, touched });
  }
  return bounded({ ...fields, project, files: [...files.values()] });
}

/** Shortens texts of a declaration that is too long, then leaves out its last files. */
function bounded(published: SharedDeclaration): SharedDeclaration {
  if (isShort(published)) return published;
  let short: SharedDeclaration = {
    ...published,
    ...{ task: cut(published.task), reason: cut(published.reason), plan: published.plan.map(cut) },
    mismatches: published.mismatches.map(cut),
    files: published.files.map(file => ({ ...file, sees: cut(file.sees), will: cut(file.will) })),
    uncertainties: published.uncertainties.map(({ question, settledBy, evidence, resolved }) => ({
      ...{ question: cut(question), settledBy: cut(settledBy), evidence: cut(evidence), resolved },
    })),
  };
  while (!isShort(short) && short.files.length > 0)
    short = { ...short, files: short.files.slice(0, Math.floor(short.files.length / 2)) };
  return short;
}

function isShort(published: SharedDeclaration): boolean {
  return JSON.stringify(published).length <= limits.sharedDeclarationChars;
}

function cut(text: string): string {
  return text.slice(0, limits.quoteChars);
}

/** Returns what another node said, or null if that is no declaration. */
function readTold(value: JsonValue): SharedDeclaration | null {
  const fields = fieldsOf(value);
  const [files, uncertainties] = [
    listOf(fields["files"], fileIn),
    listOf(fields["uncertainties"], uncertaintyIn),
  ];
  const [plan, mismatches] = [listOf(fields["plan"], textIn), listOf(fields["mismatches"], textIn)];
  const { confidence, declaredAt, updatedAt } = fields;
  const texts = textsOf(fields, ["project", "role", "team", "task", "reason"]);
  const isWhole = texts !== null && files !== null && uncertainties !== null && plan !== null;
  if (!isWhole || mismatches === null || typeof declaredAt !== "number" || typeof updatedAt !== "number")
    return null;
  const sure = typeof confidence === "number" ? confidence : null;
  const questions = new Map(uncertainties.map(one => [one.question, one]));
  const doubts = { uncertainties: [...questions.values()], mismatches };
  return { ...texts, confidence: sure, plan, files, ...doubts, declaredAt, updatedAt };
}

function fileIn(value: JsonValue): DeclaredFileRow | null {
  const fields = fieldsOf(value);
  const texts = textsOf(fields, ["path", "sees", "will"]);
  if (texts === null || !isWithin(texts.path)) return null;
  return { ...texts, dir: fields["dir"] === true, touched: fields["touched"] === true };
}

function uncertaintyIn(value: JsonValue): UncertaintyRow | null {
  const fields = fieldsOf(value);
  const texts = textsOf(fields, ["question", "settledBy", "evidence"]);
  const resolved = fields["resolved"] === true && texts?.evidence.trim() !== "";
  return texts === null ? null : { ...texts, resolved };
}

function textIn(value: JsonValue): string | null {
  return typeof value === "string" ? value : null;
}

type Fields = { readonly [field: string]: JsonValue | undefined };

function fieldsOf(value: JsonValue): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Returns these fields, or null if one of them is no text. */
function textsOf<Name extends string>(fields: Fields, names: readonly Name[]): Record<Name, string> | null {
  const texts = names.map(name => [name, fields[name]] as const);
  return texts.every(([, text]) => typeof text === "string")
    ? (Object.fromEntries(texts) as Record<Name, string>)
    : null;
}

/** Returns the list, or null if one of its values has no sense. */
function listOf<One>(value: JsonValue | undefined, read: (one: JsonValue) => One | null): One[] | null {
  if (!Array.isArray(value)) return null;
  const found = value.map(read);
  return found.some(one => one === null) ? null : (found as One[]);
}
