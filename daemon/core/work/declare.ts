/**
 * What agents declare, part by part.
 *
 * Invariants: a refused declaration changes nothing. An uncertainty is resolved with evidence only. A file is in the code
 * view once, a question among the uncertainties once. A question stays open until it is resolved, also in a declaration that
 * begins anew.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { Limits } from "../../../protocol/limits.ts";
import type { UncertaintyRow } from "../../../protocol/schemas/declaration.ts";
import type { Actor, FileRef } from "../frame/actors.ts";
import type { BaseState, Meta } from "../tables/base-state.ts";
import {
  addDeclaration,
  type Declaration,
  type Declare,
  type DeclaredFile,
  endDeclaration,
  type UncertaintyPart,
} from "../tables/declarations.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { noteKey } from "../tables/messages.ts";
import { actorRow, noSession, pathOf } from "../tables/naming.ts";
import { worktreeAround } from "../tables/sessions.ts";
import { compared, declaredEvent, makeRoom } from "./declared-ends.ts";
import { declarationRow, overlapsOf, takeBackOverlaps, tellOverlaps } from "./overlaps.ts";

export function declare(state: BaseState, command: CommandOf<"declare">, _meta: Meta, step: Step): void {
  const { declarations } = state;
  const { actor } = command;
  const session = state.sessions.live.get(actor.session);
  if (session === undefined) {
    step.reply = noSession(state, actor.session);
    return;
  }
  const known = declarations.live.get(noteKey(actor));
  const name = actorRow(state, actor).name;
  const begun = blank(
    command,
    name,
    session.project,
    known?.uncertainties.filter(one => !one.resolved),
  );
  const before = known === undefined || command.anew ? begun : known;
  const changed = merged(state, before, command, name, session.project);
  if ("code" in changed) {
    step.reply = changed;
    return;
  }
  const after = compared(state, changed);
  if (known !== undefined) {
    const struck = isMoved(known, after) ? known.files : without(known.files, after.files);
    takeBackOverlaps(state, known, struck, known.project === after.project ? after.files : []);
  }
  if (known !== undefined && command.anew) endDeclaration(declarations, known, state.t);
  addDeclaration(declarations, after);
  makeRoom(state);
  state.partsRevision += 1;
  const overlaps = overlapsOf(state, after);
  const declared = isMoved(before, after) ? [] : before.files;
  tellOverlaps(state, actor, after, without(after.files, declared), step);
  step.events.push(declaredEvent(state, before, after));
  const declaration = declarationRow(after, state.t);
  const { mismatches } = after;
  const besides = state.points.map(({ declaredFields }) => declaredFields?.(state, after));
  step.reply = Object.assign({ ok: true as const, declaration, overlaps, mismatches }, ...besides);
}

/** Whether the agent declares in another project now, or has another name: then others have to be told anew. */
export function isMoved(before: Declaration, after: Declaration): boolean {
  return before.project !== after.project || before.name !== after.name;
}

/** Returns the files that are not among the others; a folder is another thing than a file of its name. */
export function without(files: readonly DeclaredFile[], others: readonly DeclaredFile[]): DeclaredFile[] {
  const keys = new Set(others.map(({ key, dir }) => `${dir} ${key}`));
  return files.filter(({ key, dir }) => !keys.has(`${dir} ${key}`));
}

/** Returns a declaration that says nothing yet, with the questions that the one before left open. */
function blank(
  { actor, ancestors, wallMs }: Declare,
  name: string,
  project: string,
  uncertainties: readonly UncertaintyRow[] = [],
): Declaration {
  const { session, agent } = actor;
  const texts = { role: "", team: "", task: "", reason: "" };
  const parts = { confidence: null, plan: [], files: [], uncertainties, mismatches: [] };
  const times = { declaredAt: wallMs, updatedAt: wallMs, endedAt: null };
  return { session, agent, name, project, ancestors, ...texts, ...parts, ...times };
}

function merged(
  state: BaseState,
  before: Declaration,
  command: Declare,
  name: string,
  project: string,
): Declaration | Refusal {
  const files = mergedFiles(state, command, before.files, project);
  if ("code" in files) return files;
  const uncertainties = mergedUncertainties(before.uncertainties, command.uncertainties, state.limits);
  if ("code" in uncertainties) return uncertainties;
  return {
    ...before,
    name,
    project,
    ancestors: command.ancestors,
    role: command.role ?? before.role,
    team: command.team ?? before.team,
    task: command.task ?? before.task,
    confidence: command.confidence ?? before.confidence,
    reason: command.reason ?? before.reason,
    plan: command.plan ?? before.plan,
    files,
    uncertainties,
    updatedAt: command.wallMs,
  };
}

function mergedFiles(
  state: BaseState,
  { actor, files: parts }: Declare,
  before: readonly DeclaredFile[],
  project: string,
): DeclaredFile[] | Refusal {
  const files = new Map(before.map(file => [file.key, file]));
  for (const { ref, sees, will, drop } of parts) {
    const known = files.get(ref.key);
    if (drop === true && known === undefined) {
      const error = `${ref.file} is not in your code view, so it cannot be struck off; send it without drop, or leave it out`;
      return refuse("not_declared", error, { file: ref.file });
    }
    if (drop === true) files.delete(ref.key);
    else
      files.set(ref.key, {
        key: ref.key,
        path: pathOf(ref),
        dir: ref.dir || known?.dir === true,
        sees: sees ?? known?.sees ?? "",
        will: will ?? known?.will ?? "",
        touched: known?.touched ?? hasWork(state, actor, ref),
        ...(state.rules < 3 ? {} : withinWorktree(state, project, pathOf(ref))),
      });
  }
  if (files.size <= state.limits.declaredFilesMax) return [...files.values()];
  const error = `a code view has at most ${state.limits.declaredFilesMax} files and folders; declare a folder instead of its files, or strike some off (drop)`;
  return refuse("declaration_full", error, { files: files.size });
}

function withinWorktree(state: BaseState, project: string, path: string): Pick<DeclaredFile, "within"> {
  const worktree = worktreeAround(state.sessions, project, path);
  return worktree === null ? {} : { within: path.slice(worktree.length).replace(/^\/+|\/+$/g, "") };
}

/** Whether the actor, or an agent that works for it, has uncommitted work in the file, or in one below the folder. */
function hasWork({ writes }: BaseState, { session, agent }: Actor, { key, dir }: FileRef): boolean {
  const isOwn = (written: string) =>
    writes.files
      .get(written)
      ?.writers.some(
        ({ actor, ancestors }) =>
          actor.session === session && (actor.agent === agent || ancestors.includes(agent)),
      ) === true;
  if (!dir) return isOwn(key);
  return [...(writes.byWriter.get(session) ?? [])].some(one => one.startsWith(`${key}/`) && isOwn(one));
}

function mergedUncertainties(
  before: readonly UncertaintyRow[],
  parts: readonly UncertaintyPart[],
  limits: Limits,
): UncertaintyRow[] | Refusal {
  const all = new Map(before.map(one => [one.question, one]));
  for (const part of parts) {
    const known = all.get(part.question) ?? { settledBy: "", evidence: "", resolved: false };
    const after = { ...known, ...part };
    if (after.resolved && after.evidence.trim() === "") {
      const error = `"${part.question}" is resolved with evidence only; say in evidence what you found`;
      return refuse("evidence_missing", error, { question: part.question });
    }
    all.set(part.question, after);
  }
  if (all.size <= limits.uncertaintiesMax) return [...all.values()];
  const error = `a declaration has at most ${limits.uncertaintiesMax} uncertainties; resolve some and begin anew, which drops what is resolved, or declare fewer`;
  return refuse("declaration_full", error, { uncertainties: all.size });
}
