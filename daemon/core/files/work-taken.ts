/**
 * Tells actors that another actor's git command took their uncommitted work.
 * Invariant: a writer hears only of its own files, and only of writes from before the command began.
 */

import { limits } from "../../../protocol/limits.ts";
import { actorKey } from "../actor.ts";
import type { DirtyFile, Writer } from "../base-state.ts";
import { actorRow } from "../locks/replies.ts";
import { tellLater } from "../messages/notices.ts";
import type { Handler } from "../rules.ts";
import { isAlive, sameLineage } from "../sessions/kinship.ts";
import { pathOfWork } from "./dirty-files.ts";

interface Taken {
  readonly writer: Writer;
  readonly works: DirtyFile[];
}

export const workTaken: Handler<"work_taken"> = (state, command, _meta, step) => {
  const { actor, ancestors, how, commit, files } = command;
  step.reply = { ok: true };
  const owners = new Map<string, Taken>();
  for (const { key, seq } of files) {
    const work = state.writes.files.get(key);
    for (const writer of work?.writers ?? []) {
      const isTold =
        writer.seq <= seq && isAlive(state, writer.actor) && !sameLineage({ actor, ancestors }, writer);
      if (work === undefined || !isTold) continue;
      const owner = actorKey(writer.actor);
      const taken = owners.get(owner) ?? { writer, works: [] };
      taken.works.push(work);
      owners.set(owner, taken);
    }
  }
  const by = { ...actorRow(state, actor), name: command.name };
  for (const { writer, works } of owners.values()) {
    const shown = works.slice(0, limits.guardFilesMax);
    const more = works.length - shown.length;
    const paths = shown.map(pathOfWork);
    const lists = { files: shown.map(({ file }) => file), paths, ...(more === 0 ? {} : { more }) };
    const owner = actorRow(state, writer.actor);
    step.events.push({
      event: { event: "work_taken", how, command: command.command, commit, ...lists, by, owner },
      about: [...new Set([actor.session, writer.actor.session])],
      project: works[0]?.project ?? "",
    });
    const note = { what: how, files: paths, more, other: by.name, command: command.command, commit } as const;
    tellLater(state, writer.actor, note);
  }
};
