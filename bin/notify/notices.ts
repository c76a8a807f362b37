/** What a person is to be told: each thing once, as long as it lasts. */

import type { EventLine } from "../../protocol/events.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { duration, plain } from "../../protocol/text.ts";
import { projectName } from "../view/places.ts";

/** One notice; both texts are one line without control characters. */
export interface Notice {
  readonly title: string;
  readonly text: string;
}

export interface NoticeBounds {
  readonly personMs: number;
  readonly waitMs: number;
}

const nameChars = 60;

/** Remembers since when a session needs a person, and what was told. */
export class NoticeWatch {
  readonly #bounds: NoticeBounds;
  /** Since when each need lasts, in milliseconds of the caller's clock; and the needs and waits that were told. */
  readonly #since = new Map<string, number>();
  #told = new Set<string>();
  /** Who needed a person before the first look has waited for nobody knows how long, and is told at once. */
  #isFirst = true;

  constructor(bounds: NoticeBounds) {
    this.#bounds = bounds;
  }

  /** Returns what has lasted for long enough and was not told yet. */
  look(sessions: readonly SessionRow[], locks: readonly LockRow[], nowMs: number): Notice[] {
    const lasting = new Map<string, Notice | null>();
    for (const { id, name, attention, project } of sessions) {
      if (attention === null) continue;
      const key = `person ${id} ${attention}`;
      const since = this.#since.get(key) ?? (this.#isFirst ? Number.NEGATIVE_INFINITY : nowMs);
      this.#since.set(key, since);
      const isDue = nowMs - since >= this.#bounds.personMs;
      lasting.set(key, isDue ? notice(`${name} needs you in ${projectName(project)}`, attention) : null);
    }
    for (const key of this.#since.keys()) if (!lasting.has(key)) this.#since.delete(key);
    for (const { file, holder, waiters, project } of locks) {
      for (const { id, agent, name, waitedMs, attached } of waiters) {
        if (!attached) continue;
        const isDue = waitedMs >= this.#bounds.waitMs;
        const behind = holder === null ? "" : ` behind ${holder.name}`;
        const text = `for ${file}${behind}, ${duration(waitedMs)} now`;
        lasting.set(
          `wait ${id} ${agent} ${file}`,
          isDue ? notice(`${name} waits in ${projectName(project)}`, text) : null,
        );
      }
    }
    this.#isFirst = false;
    const due = [...lasting].filter(([key, what]) => what !== null && !this.#told.has(key));
    // What is over is forgotten: it is told again when it comes again.
    this.#told = new Set([...this.#told].filter(key => lasting.has(key)));
    for (const [key] of due) this.#told.add(key);
    return due.flatMap(([, what]) => what ?? []);
  }
}

/** The projects of sessions by their ids. */
export type Projects = ReadonlyMap<string, string>;

/** Returns the notice for an event: work that was wiped or overwritten; null for any other event. */
export function eventNotice(event: EventLine, projects: Projects): Notice | null {
  if (event.event === "work_taken" && event.how === "discarded") {
    const more = event.more === undefined ? "" : ` and ${event.more} more`;
    return notice(
      `${event.owner.name}'s work was wiped${placeOf(event.by.id, projects)}`,
      `${event.by.name}, ${event.command}: ${event.files.join(", ")}${more}`,
    );
  }
  // Of a git command that the guard saw, `work_taken` tells already.
  if (event.event === "work_wiped" && !(event.by !== null && event.command.startsWith("git "))) {
    const more = event.more === undefined ? "" : ` and ${event.more} more`;
    return notice(
      `${event.owner.name}'s work was wiped${placeOf(event.owner.id, projects)}`,
      `kite rescue restore ${event.wipe}: ${event.files.join(", ")}${more}`,
    );
  }
  if (event.event === "lost_update") {
    const over = event.holder === null ? "" : `, which ${event.holder.name} holds`;
    return notice(
      `a write came too late${placeOf(event.writer.id, projects)}`,
      `${event.writer.name} wrote ${event.file}${over}`,
    );
  }
  return null;
}

function placeOf(id: string, projects: Projects): string {
  const project = projects.get(id);
  return project === undefined ? "" : ` in ${projectName(project)}`;
}

function notice(title: string, text: string): Notice {
  return { title: word(title, nameChars), text: word(text, 3 * nameChars) };
}

/** One line for a program's argument: agents choose names, and no program may take one for an option. */
function word(text: string, max: number): string {
  return plain(text.replace(/^[\s-]+/, ""), max);
}
