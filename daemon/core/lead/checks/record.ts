/** Records the result of a check. Invariant: a result replaces the one before, green or red. */
import type { Commands } from "../../commands.ts";
import { lasting } from "../../durability.ts";
import { actorRow } from "../../locks/replies.ts";
import type { Handler, Rules } from "../../rules.ts";
import type { State } from "../../state.ts";
import { addResult } from "./table.ts";

const checkRecord: Handler<"check_record", State> = (state, command, { seq }, step) => {
  const { project, worktree, name, exit, ranMs, commit, dirty, files, actor, wallMs } = command;
  const by = actor === null ? null : actorRow(state, actor);
  const { command: text } = command;
  addResult(state.checks, {
    project,
    worktree,
    name,
    command: text,
    exit,
    ranMs,
    commit,
    dirty,
    files,
    by,
    at: wallMs,
    seq,
  });
  step.reply = { ok: true, green: exit === 0 };
  const event = { event: "check_recorded", project, worktree, check: name, exit, commit, by } as const;
  step.events.push({ event, about: actor === null ? [] : [actor.session], project });
};

export const checkRules: Rules<Pick<Commands, "check_record">, State> = {
  commands: { check_record: lasting(checkRecord) },
};
