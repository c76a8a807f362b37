/**
 * Declarations with their indexes: the only file that adds or removes one.
 *
 * Invariants: an agent has at most one declaration that holds, and its session is alive. A declaration names a file once and
 * a question once. `limits.declarationsMax` ends the declaration that was changed longest ago. `limits.declarationsEndedMax`
 * forgets the one that ended longest ago.
 */

import type { Limits } from "../../../protocol/limits.ts";
import type { DeclaredFileRow, UncertaintyRow } from "../../../protocol/schemas/declaration.ts";
import type { Actor, FileRef, Retry } from "../frame/actors.ts";
import { dropOldest } from "../frame/collections.ts";
import { paths, Records, sets } from "../frame/records.ts";
import { numberHead, pairList, valueList } from "../frame/saved-rows.ts";
import { noteKey, type Whose } from "./messages.ts";
import { isLeadRole } from "./role-words.ts";
import type { Revisions } from "./sessions.ts";

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
  /** A sentence for each point in which its client says otherwise. */
  readonly mismatches: readonly string[];
  /** Wall time in milliseconds. */
  readonly declaredAt: number;
  readonly updatedAt: number;
  /** When its agent ended or began anew (core time, ms); null: it holds. */
  readonly endedAt: number | null;
}

export interface DeclaredFile extends DeclaredFileRow {
  readonly key: string;
  /** Its path within its worktree, as it was when it was declared: other machines know it by that. Absent: it is in none. */
  readonly within?: string;
}

export const declarationRecords = new Records("live", (one: Declaration) => noteKey(one), {
  bySession: sets(({ session }) => session),
  /** By the keys of their files. */
  byFile: sets(({ files }) => files.map(({ key }) => key)),
  /** The agents that declared to lead, by project. */
  leads: sets(({ role, project }) => (isLeadRole(role) ? project : null)),
  /** The declared files and folders. */
  paths: paths(({ files }) => files),
});

/** Declarations that hold, by `noteKey` of their agents, the latest change last. */
export interface Declarations extends ReturnType<typeof declarationRecords.empty> {
  readonly limits: Limits;
  /** Declarations that ended, by their numbers, oldest first. */
  readonly ended: Map<number, Declaration>;
  /** The number of declarations that ended so far; the next one's number is one more. */
  endedCount: number;
  /** `Sessions.revisions` */
  readonly revisions: Revisions;
}

export function noDeclarations(revisions: Revisions, limits: Limits): Declarations {
  return { ...declarationRecords.empty(), limits, ended: new Map(), endedCount: 0, revisions };
}

/** Adds a declaration that holds, as the latest one, or replaces the agent's. */
export function addDeclaration(table: Declarations, declaration: Declaration): void {
  declarationRecords.putLast(table, declaration);
  table.revisions.changed(declaration.session);
}

/** Marks files of a declaration as touched. It keeps its position: the agent itself declared nothing. */
export function touch(table: Declarations, declaration: Declaration, keys: ReadonlySet<string>): void {
  const files = declaration.files.map(file => (keys.has(file.key) ? { ...file, touched: true } : file));
  declarationRecords.put(table, { ...declaration, files });
}

/** Replaces the mismatches of a declaration. It keeps its position: the agent itself declared nothing. */
export function setMismatches(
  table: Declarations,
  declaration: Declaration,
  mismatches: readonly string[],
): void {
  declarationRecords.put(table, { ...declaration, mismatches });
}

/** Moves a declaration to the history at `endedAt` (core time, ms). */
export function endDeclaration(table: Declarations, declaration: Declaration, endedAt: number): void {
  removeDeclaration(table, declaration);
  noteEnded(table, declaration, endedAt);
}

/** Adds a declaration that holds no more to the history. */
export function noteEnded(table: Declarations, declaration: Declaration, endedAt: number): void {
  table.endedCount += 1;
  table.ended.set(table.endedCount, { ...declaration, endedAt });
  dropOldest(table.ended, table.limits.declarationsEndedMax);
}

export function removeDeclaration(table: Declarations, declaration: Declaration): void {
  declarationRecords.drop(table, declaration);
  table.revisions.changed(declaration.session);
}

/** Returns the declarations of a session that hold, in the order of their latest changes. */
export function declarationsOf(table: Declarations, session: string): Declaration[] {
  return [...(table.bySession.get(session) ?? [])].flatMap(key => table.live.get(key) ?? []);
}

export const declarationRows = {
  head: numberHead("endedDeclarations", "endedCount"),
  lists: {
    declarations: valueList((table: Declarations) => table.live, addDeclaration),
    endedDeclarations: pairList(
      ({ ended }: Declarations) => ended,
      ({ ended }, [n, one]) => ended.set(n, one),
    ),
  },
};

// The log's commands for declarations.

/** Changes parts of the actor's declaration; what is absent stays. */
export interface Declare {
  readonly actor: Actor;
  /** Agents of the session that the actor works for; null is the main agent. */
  readonly ancestors: readonly (string | null)[];
  /** Ends the declaration before and begins a new one. */
  readonly anew: boolean;
  readonly role?: string;
  readonly team?: string;
  readonly task?: string;
  readonly confidence?: number;
  readonly reason?: string;
  readonly plan?: readonly string[];
  readonly files: readonly ViewedFile[];
  readonly uncertainties: readonly UncertaintyPart[];
  /** Wall time in milliseconds. */
  readonly wallMs: number;
  readonly retry?: Retry;
}

/** A file to add to the code view, to change in it, or with `drop` to strike off. */
export interface ViewedFile {
  readonly ref: FileRef;
  readonly sees?: string;
  readonly will?: string;
  readonly drop?: boolean;
}

export type UncertaintyPart = Pick<UncertaintyRow, "question"> & Partial<UncertaintyRow>;

/** These commands by name. */
export interface DeclarationCommands {
  declare: Declare;
}
