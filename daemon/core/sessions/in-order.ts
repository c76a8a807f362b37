/** Sessions of a project one by one, while others may begin and end. */
import { idOfKey, placeKey } from "./start-key.ts";
import type { Session, Sessions } from "./table.ts";

/** Yields the sessions of a project in the order they began, from the one that began with entry `begun`. */
export function* sessionsFrom(sessions: Sessions, project: string, begun: number): Generator<Session, void> {
  const first = placeKey(project, { begun, id: "" });
  for (
    let key = sessions.places.after(first);
    key?.startsWith(`${project}\n`);
    key = sessions.places.after(key)
  ) {
    const session = sessions.live.get(idOfKey(key.slice(project.length + 1)));
    if (session?.project === project) yield session;
  }
}
