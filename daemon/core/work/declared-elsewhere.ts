/**
 * Declarations of one machine as the others of a shared project know them.
 *
 * Invariants: a file is named by its path within its worktree, and one outside of any is left out. A declaration is no
 * longer than `limits.sharedDeclarationChars`, whatever was declared. A part that has no sense is no declaration.
 */

import { limits } from "../../../protocol/limits.ts";
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { DeclaredFileRow, Overlap, UncertaintyRow } from "../../../protocol/schemas/declaration.ts";
import { isWithin } from "../frame/actors.ts";
import type { BaseState } from "../tables/base-state.ts";
import {
  type Declaration,
  declarationRecords,
  declarationsOf,
  noteEnded,
  removeDeclaration,
} from "../tables/declarations.ts";
import type { Part, Step } from "../tables/entries.ts";
import { noteKey, type Whose } from "../tables/messages.ts";
import { actorRow } from "../tables/naming.ts";
import { isMoved, without } from "./declare.ts";
import { declaredEvent } from "./declared-ends.ts";
import { overlapsOf, tellOverlaps } from "./overlaps.ts";

/** What other machines know of a declaration. A path has no slash at either end. */
type SharedDeclaration = Omit<
  Declaration,
  keyof Whose | "name" | "project" | "ancestors" | "files" | "endedAt"
> & {
  readonly files: readonly DeclaredFileRow[];
};

export const declarationPart: Part<BaseState> = {
  *tell({ declarations, sessions }, session) {
    const project = sessions.live.get(session)?.project;
    for (const one of declarationsOf(declarations, session))
      if (one.project === project) yield [one.agent, sharedDeclarationOf(one) as unknown as JsonValue];
  },
  take(state, whose, told, step) {
    const known = state.declarations.live.get(noteKey(whose));
    const published = told === null ? null : readTold(told);
    if (published !== null) take(state, whose, known, published, step);
    else if (known !== undefined) removeDeclaration(state.declarations, known);
  },
};

/** Takes other rows of parts from the store, and keeps declarations of others that ended with that. */
export function keepingEnded(state: BaseState, { session, agent }: Whose, take: () => void): void {
  const { declarations } = state;
  const key = noteKey({ session, agent });
  const known = declarations.live.get(key);
  take();
  if (known !== undefined && declarations.live.get(key)?.declaredAt !== known.declaredAt)
    noteEnded(declarations, known, state.t);
}

/** Returns whether an agent of another machine has declared the file, by its path within a worktree. */
export function isDeclared({ declarations }: BaseState, project: string, path: string, by: string): boolean {
  for (const key of declarations.byFile.get(`${project}:/${path}`) ?? [])
    if (declarations.live.get(key)?.name === by) return true;
  return false;
}

/**
 * Returns where agents of other machines declared the same files as this agent of the own log. `as`: its session's id in the
 * copy.
 */
export function overlapsElsewhere(shared: BaseState, mine: Declaration, as: string): Overlap[] {
  const whose = { session: as, agent: mine.agent };
  return overlapsOf(shared, declarationOf(whose, "", mine.project, sharedDeclarationOf(mine)));
}

function take(
  state: BaseState,
  whose: Whose,
  known: Declaration | undefined,
  published: SharedDeclaration,
  step: Step | null,
): void {
  const { declarations, sessions, limits: bounds } = state;
  if (known === undefined && declarations.live.size >= bounds.declarationsMax) return;
  const { project = "", node = "" } = sessions.live.get(whose.session) ?? {};
  const actor = { ...whose, incarnation: 0 };
  const after = declarationOf(whose, actorRow(state, actor).name, project, published);
  declarationRecords.put(declarations, after);
  declarations.revisions.changed(whose.session);
  if (step === null) return;
  const before = known === undefined || isMoved(known, after) ? [] : known.files;
  tellOverlaps(state, actor, after, without(after.files, before), step);
  // Its machine tells its declarations again and again: what its agent did not change is not new to anybody.
  if (known?.updatedAt === published.updatedAt) return;
  step.events.push({ ...declaredEvent(state, known ?? { ...after, mismatches: [] }, after), from: node });
}

function declarationOf(
  whose: Whose,
  name: string,
  project: string,
  published: SharedDeclaration,
): Declaration {
  // No path of a machine has this key.
  const files = new Map(
    published.files.map(file => {
      const key = `${project}:/${file.path}`;
      return [key, { ...file, key }] as const;
    }),
  );
  return { ...whose, name, project, ancestors: [], ...published, files: [...files.values()], endedAt: null };
}

/** Returns the declaration as other machines know it. */
function sharedDeclarationOf(declaration: Declaration): SharedDeclaration {
  const known = sharedForms.get(declaration);
  if (known !== undefined) return known;
  const { session: _, agent: _agent, name: _name, project: _project, ...more } = declaration;
  const { ancestors: _ancestors, endedAt: _end, ...fields } = more;
  const files = new Map<string, DeclaredFileRow>();
  for (const { key: _key, within: path, ...file } of declaration.files) {
    if (path === undefined) continue;
    // Files of two worktrees may be one in the repository.
    const touched = file.touched || files.get(path)?.touched === true;
    files.set(path, { ...file, path, touched });
  }
  const form = bounded({ ...fields, files: [...files.values()] });
  sharedForms.set(declaration, form);
  return form;
}

/** Each step of a shared project asks for the forms, and a declaration is a value that a change replaces. */
const sharedForms = new WeakMap<Declaration, SharedDeclaration>();

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

/** Returns what another machine said, or null if that is no declaration. */
function readTold(value: JsonValue): SharedDeclaration | null {
  const fields = fieldsOf(value);
  const [files, uncertainties] = [
    listOf(fields["files"], fileIn),
    listOf(fields["uncertainties"], uncertaintyIn),
  ];
  const [plan, mismatches] = [listOf(fields["plan"], textIn), listOf(fields["mismatches"], textIn)];
  const { confidence, declaredAt, updatedAt } = fields;
  const texts = textsOf(fields, ["role", "team", "task", "reason"]);
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
