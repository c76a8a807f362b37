/** What the rescue of work does at events of hooks. Where the person's setting is off, none of it is called. */
import { actorRow, pathOf } from "../core/locks/replies.ts";
import type { HookPart } from "../hooks/points.ts";
import type { RescueServices } from "./services.ts";

export const rescuePart: HookPart<RescueServices> = {
  written: ({ rescue, engine, clock }, { actor, file, by, tool, text }) => {
    const { id: session, agent, name } = actorRow(engine.state, actor);
    rescue?.queue.add({
      path: pathOf(file),
      key: file.key,
      by: { session, agent, name },
      tool,
      kind: "write",
      isEdit: by === "edit",
      session,
      text,
      atMs: clock.wall(),
    });
  },
};
