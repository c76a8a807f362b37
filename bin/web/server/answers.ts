/** What the page asks for besides its stream: `GET /api/NAME`. */
import type { Commands } from "../../entry.ts";
import type { ProcessContext } from "../../process-context.ts";
import type { Viewer } from "../wire.ts";
import { inProject, runWords } from "./deeds.ts";
import type { Site } from "./http.ts";

const kinds: ReadonlySet<string> = new Set(["file", "agent", "task"]);

export function answersOf(world: ProcessContext, viewer: Viewer, commands: Commands): Site["answers"] {
  /** What `kite explain` says of a file, an agent or a task; `project`: the one in which a task's number counts. */
  const explain = async (query: URLSearchParams) => {
    const [kind, name] = [query.get("kind") ?? "", query.get("name") ?? ""];
    if (!kinds.has(kind) || name === "" || name.includes("\0")) return null;
    const project = viewer.project ?? query.get("project");
    return runWords(inProject(world, project), commands, ["explain", `--${kind}`, name]);
  };
  return new Map([["explain", explain]]);
}
