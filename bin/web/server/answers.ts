/** What the page asks for besides its stream: `GET /api/NAME`. */
import { isResource } from "../../../protocol/names.ts";
import type { Commands } from "../../entry.ts";
import type { ProcessContext } from "../../process-context.ts";
import { projectRoot } from "../../view/places.ts";
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
    const place = inProject(world, viewer.project ?? query.get("project"));
    const asks = (...more: readonly string[]) =>
      runWords(place, commands, ["explain", ...more, `--${kind}`, name]);
    if (viewer.project === null) return asks();
    // Kite tells of the whole machine; this page of one project.
    const { ok, text } = await asks("--json");
    const isOwn = !ok || isOfProject(JSON.parse(text), kind === "file" ? name : null, viewer.project);
    return isOwn ? asks() : { ok: false, text: "This page shows one project, and that is of another one." };
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

/** What `kite explain --json` says, as far as it tells of projects. */
interface Explanation {
  readonly explained: readonly { readonly project: string | null }[];
  readonly now: {
    readonly session?: { readonly project: string } | null;
    readonly task?: { readonly project: string } | null;
  };
}

/** Whether all that is explained is of the project; where nothing tells of one, `file` lies in it. */
function isOfProject({ explained, now }: Explanation, file: string | null, project: string): boolean {
  const told = [...explained.map(one => one.project), now.session?.project, now.task?.project];
  const projects = told.filter(one => one != null);
  const root = projectRoot(project);
  if (projects.length > 0) return projects.every(one => projectRoot(one) === root);
  return file === null || file.startsWith(`${root}/`) || isResource(file);
}
