/**
 * Messages that their readers acknowledged, and that so are in no inbox: kept for people who look on.
 *
 * Invariants: they are in memory alone, at most `limits.acknowledgedMax` and `limits.acknowledgedBytes`; one whose readers have all
 * ended is shown no more, as those in their inboxes.
 */
import { limits } from "../../protocol/limits.ts";
import type { PostedRow } from "../../protocol/schemas/message.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Actor } from "../core/frame/actors.ts";
import { inboxOf } from "../core/messages/inbox.ts";
import { type Logs, mailLogs } from "../engine/log-view.ts";
import { postedRow } from "../views/messages.ts";

interface Kept {
  readonly row: PostedRow;
  readonly bytes: number;
}

export class Acknowledged {
  readonly #kept = new BoundedMap<string, Kept>({
    entriesMax: limits.acknowledgedMax,
    weightMax: limits.acknowledgedBytes,
    weightOf: ({ bytes }) => bytes,
  });
  /** What requests that are under way acknowledge. */
  readonly #asked = new WeakMap<object, readonly Kept[]>();

  /** Notes what the request is about to acknowledge. */
  asked(request: object, logs: Logs, actor: Actor, ids: readonly string[]): void {
    const found: Kept[] = [];
    for (const log of mailLogs(logs, actor.session))
      for (const id of ids) {
        const message = log.state.messages.all.get(id);
        const letter = message?.letters.get(inboxOf(log.actor(actor)));
        if (message === undefined || letter === undefined) continue;
        const row = { ...postedRow(message), to: [{ ...letter.to, state: "acknowledged" as const }] };
        found.push({ row: log.outward(row), bytes: message.bytes });
      }
    this.#asked.set(request, found);
  }

  /** The request was granted. */
  granted(request: object): void {
    for (const { row, bytes } of this.#asked.get(request) ?? []) {
      const key = `${row.id} ${row.at}`;
      const to = [...(this.#kept.get(key)?.row.to ?? []), ...row.to];
      this.#kept.set(key, { row: { ...row, to }, bytes });
    }
  }

  /** Returns the latest `max`, the oldest first; `project`, `id`: only those of the project, and of the session. */
  rows(
    { state }: Pick<Logs, "state">,
    {
      project,
      id,
      max,
    }: { readonly project?: string | undefined; readonly id?: string | undefined; readonly max: number },
  ): PostedRow[] {
    const rows = [...this.#kept.values()].map(({ row }) => row);
    return rows
      .filter(
        ({ project: of, from, to }) =>
          (project === undefined || project === of) &&
          (id === undefined || from?.id === id || to.some(one => one.id === id)) &&
          to.some(one => state.sessions.live.has(one.id)),
      )
      .slice(-max);
  }
}
