/** What the page asks for besides its stream: `GET /api/NAME`. */
import type { Commands } from "../../entry.ts";
import type { ProcessContext } from "../../process-context.ts";
import type { Viewer } from "../wire.ts";
import { runWords } from "./deeds.ts";
import type { Site } from "./http.ts";

export function answersOf(world: ProcessContext, _viewer: Viewer, commands: Commands): Site["answers"] {
  return new Map([
    [
      "explain",
      async query => {
        const [entry, ...more] = [...query];
        if (entry === undefined || more.length > 0) return null;
        const [kind, name] = entry;
        if (!["file", "agent", "task"].includes(kind) || name.includes("\0")) return null;
        return runWords(world, commands, ["explain", `--${kind}`, name]);
      },
    ],
  ]);
}
