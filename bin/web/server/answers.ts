/** What the page asks for besides its stream: `GET /api/NAME`. */
import type { Commands } from "../../entry.ts";
import type { ProcessContext } from "../../process-context.ts";
import type { SharedValue, Viewer } from "../wire.ts";
import { inProject, runWords } from "./deeds.ts";
import type { Site } from "./http.ts";
import { TimelineSource } from "./timeline.ts";

const kinds: ReadonlySet<string> = new Set(["file", "agent", "task"]);

export function answersOf(world: ProcessContext, viewer: Viewer, commands: Commands): Site["answers"] {
  /** What `kite explain` says of a file, an agent or a task; `project`: the one in which a task's number counts. */
  const explain = async (query: URLSearchParams) => {
    const [kind, name] = [query.get("kind") ?? "", query.get("name") ?? ""];
    if (!kinds.has(kind) || name === "" || name.includes("\0")) return null;
    const project = viewer.project ?? query.get("project");
    return runWords(inProject(world, project), commands, ["explain", `--${kind}`, name]);
  };
  /** The shared value under a key. */
  const value = async (query: URLSearchParams): Promise<SharedValue | null> => {
    const [project, key] = [query.get("project") ?? "", query.get("key") ?? ""];
    const isForeign = viewer.project !== null && project !== viewer.project;
    if (isForeign || project === "" || key === "" || key.includes("\0")) return null;
    const words = ["context", "get", "--json", "--project", project, "--", key];
    const { ok, text } = await runWords(inProject(world, project), commands, words);
    const said = JSON.parse(text);
    return ok ? { ok, value: said.value } : { ok, error: said.error };
  };
  const timeline = new TimelineSource(world, viewer);
  return new Map<string, (query: URLSearchParams) => Promise<unknown>>([
    ["explain", explain],
    ["value", value],
    ["timeline", query => timeline.answer(query)],
  ]);
}
