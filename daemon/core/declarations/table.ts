/**
 * Declarations with their indexes: the only file that adds or removes one.
 *
 * Invariants: an agent has at most one declaration that holds, and its session is alive; a declaration names a file
 * once and a question once; `limits.declarationsMax` ends the one that was changed longest ago, and
 * `limits.declarationsEndedMax` forgets the one that ended longest ago.
 */
import type { DeclaredFileRow, UncertaintyRow } from "../../../protocol/declaration.ts";
import type { Limits } from "../../../protocol/limits.ts";
import { noteKey, type Whose } from "../messages/notice-table.ts";
import { dropOldest } from "../oldest.ts";
import { PathIndex } from "../path-index.ts";
import { Revisions } from "../sessions/revisions.ts";
import { addToSet, removeFromSet, type Sets } from "../sets.ts";
import { isLeadRole } from "./role-words.ts";

/** The state's table of declarations. */
export interface Declarations {
  readonly limits: Limits;
  /** Declarations that hold, by `noteKey` of their agents, the latest change last. */
  readonly live: Map<string, Declaration>;
  /** Declarations that ended, by their numbers, oldest first. */
  readonly ended: Map<number, Declaration>;
  /** The number of declarations that ended so far; the next one's number is one more. */
  endedCount: number;
  /** derived: keys of `live` by session, and by the keys of their files. */
  readonly bySession: Sets<string, string>;
  readonly byFile: Sets<string, string>;
  /** derived: keys of `live` of those that declared to lead, by project. */
  readonly leads: Sets<string, string>;
  /** derived: the declared files and folders. */
  readonly paths: PathIndex;
  /** `Sessions.revisions` */
  readonly revisions: Revisions;
}

export interface Declaration extends Whose {
  /** The agent's name for people at its latest change; its session may have ended since. */
  readonly name: string;
  readonly project: string;
  /** The agents of the session that this one works for; null is the main agent. */
  readonly ancestors: readonly (string | null)[];
  readonly role: string;
  readonly team: string;
  readonly task: string;
  readonly confidence: number | null;
  readonly reason: string;
  readonly plan: readonly string[];
  readonly files: readonly DeclaredFile[];
  readonly uncertainties: readonly UncertaintyRow[];
  /** Where its client says otherwise, a sentence each. */
  readonly mismatches: readonly string[];
  /** Wall time in milliseconds. */
  readonly declaredAt: number;
  readonly updatedAt: number;
  /** When its agent ended or began anew (core time, ms); null: it holds. */
  readonly endedAt: number | null;
}

export interface DeclaredFile extends DeclaredFileRow {
  readonly key: string;
}

export function noDeclarations(revisions: Revisions, limits: Limits): Declarations {
  const [live, ended, bySession, byFile] = [new Map(), new Map(), new Map(), new Map()];
  const [leads, paths] = [new Map(), new PathIndex()];
  return { limits, live, ended, endedCount: 0, bySession, byFile, leads, paths, revisions };
}

/** Adds a declaration that holds, as the latest one, or replaces the agent's. */
export function addDeclaration(table: Declarations, declaration: Declaration): void {
  const key = noteKey(declaration);
  const before = table.live.get(key);
  if (before !== undefined) removeDeclaration(table, before);
  table.live.set(key, declaration);
  table.revisions.changed(declaration.session);
  addToSet(table.bySession, declaration.session, key);
  if (isLeadRole(declaration.role)) addToSet(table.leads, declaration.project, key);
  for (const file of declaration.files) {
    addToSet(table.byFile, file.key, key);
    table.paths.add(file.key, file.dir);
  }
}

/** Marks files of a declaration as touched. It keeps its position: the agent itself declared nothing. */
export function touch(table: Declarations, declaration: Declaration, keys: ReadonlySet<string>): void {
  const files = declaration.files.map(file => (keys.has(file.key) ? { ...file, touched: true } : file));
  table.live.set(noteKey(declaration), { ...declaration, files });
}

/** Replaces the mismatches of a declaration. It keeps its position: the agent itself declared nothing. */
export function setMismatches(
  table: Declarations,
  declaration: Declaration,
  mismatches: readonly string[],
): void {
  table.live.set(noteKey(declaration), { ...declaration, mismatches });
}

/** Moves a declaration to the history at `endedAt` (core time, ms). */
export function endDeclaration(table: Declarations, declaration: Declaration, endedAt: number): void {
  removeDeclaration(table, declaration);
  table.endedCount += 1;
  table.ended.set(table.endedCount, { ...declaration, endedAt });
  dropOldest(table.ended, table.limits.declarationsEndedMax, n => table.ended.delete(n));
}

export function removeDeclaration(table: Declarations, declaration: Declaration): void {
  const key = noteKey(declaration);
  table.live.delete(key);
  table.revisions.changed(declaration.session);
  removeFromSet(table.bySession, declaration.session, key);
  removeFromSet(table.leads, declaration.project, key);
  for (const file of declaration.files) {
    removeFromSet(table.byFile, file.key, key);
    table.paths.remove(file.key, file.dir);
  }
}

/** Returns the declarations of a session that hold, in the order of their latest changes. */
export function declarationsOf(table: Declarations, session: string): Declaration[] {
  return [...(table.bySession.get(session) ?? [])].flatMap(key => table.live.get(key) ?? []);
}

/** Returns the table with its derived fields rebuilt. */
export function rebuiltDeclarations({ live, limits }: Declarations): Declarations {
  const fresh = noDeclarations(new Revisions(), limits);
  for (const declaration of live.values()) addDeclaration(fresh, declaration);
  return fresh;
}
