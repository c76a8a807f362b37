/** What was made of each session's work and kept, compared with what is made of it now. */
import type { State } from "../../daemon/core/state.ts";
import { SessionWorks } from "../../daemon/hooks/session-work.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { oneLog } from "../one-log.ts";

export class KeptWorks {
  readonly #presence = new PresenceTable({ now: () => 0, wall: () => 0, at: () => () => {} });
  readonly #kept = new SessionWorks();

  /** The sessions whose work changed, and the number of its changes did not; a sentence each. */
  *wrongs(state: State): Generator<string, void> {
    const source = { engine: oneLog({ state, now: state.t }), presence: this.#presence };
    const fresh = new SessionWorks();
    for (const session of state.sessions.live.values()) {
      const [before, now] = [this.#kept, fresh].map(works => {
        const { holds, paths, mark } = works.of(source, session);
        return JSON.stringify([holds.map(({ key }) => key), paths, mark]);
      });
      if (before !== now) yield `the work of ${session.id} is kept as ${before}, and is ${now}`;
    }
  }
}
