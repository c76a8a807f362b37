/**
 * Notes who made commits, and tells their authors what became of them.
 *
 * Invariant: a session hears only of its own commits, and never of what it did to them itself.
 */

import { type Actor, actorKey } from "../frame/actors.ts";
import type { BaseState, Meta, Rules } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { type Commands, passing } from "../tables/entries.ts";
import { actorRow, answererOf, isAlive } from "../tables/naming.ts";
import { tellLater } from "../tables/notices.ts";
import {
  addCommit,
  type CommitActor,
  commitKey,
  eachOnce,
  type MadeCommit,
  type TakenCommit,
} from "../tables/uncommitted.ts";

function commitsMade(state: BaseState, command: CommandOf<"commits_made">, meta: Meta, step: Step): void {
  step.reply = { ok: true };
  const { actor, beside, project, commits, isSure, wallMs } = command;
  const named = [actor, ...beside].map(one => ({ actor: one, name: actorRow(state, one).name }));
  for (const { commit, of } of commits) {
    const known = state.commits.made.get(commitKey({ project, commit }));
    const before = of === undefined ? undefined : state.commits.made.get(commitKey({ project, commit: of }));
    if (known?.isSure && before === undefined) continue;
    // What is rewritten stays its author's.
    const actors = before?.actors ?? eachOnce([...(known?.actors ?? []), ...named]);
    addCommit(state.commits, {
      project,
      commit,
      actors: actors.slice(0, state.limits.commitActorsMax),
      ...(isSure ? { isSure } : {}),
      wallMs,
      seq: meta.seq,
    });
  }
}

const whats = { lost: "commit_lost", rewritten: "commit_rewritten", pushed: "commit_pushed" } as const;

function commitsTaken(state: BaseState, command: CommandOf<"commits_taken">, _meta: Meta, step: Step): void {
  step.reply = { ok: true };
  const { actor, project, how, command: name, commits } = command;
  const authors = new Map<string, { readonly author: Actor; readonly taken: TakenCommit[] }>();
  for (const taken of commits) {
    const row = state.commits.made.get(commitKey({ project, commit: taken.commit }));
    for (const author of row === undefined ? [] : foreignAuthors(state, actor, row)) {
      const key = actorKey(author);
      const found = authors.get(key) ?? { author, taken: [] };
      found.taken.push(taken);
      authors.set(key, found);
    }
  }
  const other = actor === null ? null : actorRow(state, actor).name;
  for (const { author, taken } of authors.values()) {
    const shown = taken.slice(0, state.limits.commitsShownMax);
    const more = taken.length - shown.length;
    tellLater(state, author, { what: whats[how], commits: shown, more, other, command: name });
  }
}

/** The living authors of other sessions, each once; the main agent in the place of one that has ended. */
function foreignAuthors(state: BaseState, by: Actor | null, { actors }: MadeCommit): readonly Actor[] {
  const others = actors.filter(one => isForeignAuthor(state, by, one));
  const answering = others.map(one => ({ ...one, actor: answererOf(state, one.actor) }));
  return eachOnce(answering).map(({ actor }) => actor);
}

/** Whether this author is another live session than the actor's. */
export function isForeignAuthor(state: BaseState, by: Actor | null, { actor }: CommitActor): boolean {
  if (!isAlive(state, actor)) return false;
  return by === null || actor.session !== by.session || actor.incarnation !== by.incarnation;
}

export const commitAuthorRules: Rules<Pick<Commands, "commits_made" | "commits_taken">> = {
  commands: { commits_made: passing(commitsMade), commits_taken: passing(commitsTaken) },
};
