/** What the trail says of spawned agents. */
import type { EventLines } from "../../trail/event-fields.ts";

export const spawnLines: EventLines = {
  spawn_changed: ({ session, name, spawn, state: type }) => {
    const by = session === null ? null : { id: session, name };
    const why = `spawned agent ${name} (${spawn}): ${type.replaceAll("_", " ")}`;
    return [{ by, rule: "spawn", type, why }];
  },
};
