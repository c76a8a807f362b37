/** The graph of tasks in Mermaid's language. */
import type { TaskRow } from "../../protocol/schemas/task.ts";
import { handles } from "../tasks/numbers.ts";
import { standing, standings } from "../tasks/standing.ts";
import { clean, cut } from "./text.ts";

const titleColumns = 60;

const fills: Readonly<Record<string, string>> = {
  active: "fill:#fff3bf,stroke:#e67700",
  ready: "fill:#d3f9d8,stroke:#2b8a3e",
  blocked: "fill:#f1f3f5,stroke:#868e96",
  failed: "fill:#ffe3e3,stroke:#c92a2a",
  done: "fill:#dbe4ff,stroke:#364fc7",
};

/** The graph in Mermaid's language: an arrow leads from a task to those that need it. */
export function mermaidView(tasks: readonly TaskRow[]): string[] {
  const handle = handles(tasks);
  const known = new Set(tasks.map(({ id }) => id));
  const used = standings.filter(one => tasks.some(task => standing(task) === one));
  return [
    "graph TD",
    ...tasks.map(task => `  ${nodeOf(task.id)}["${textOf(task, handle)}"]:::${standing(task)}`),
    ...tasks.flatMap(task => {
      const needed = task.dependsOn.filter(id => known.has(id));
      return needed.map(id => `  ${nodeOf(id)} --> ${nodeOf(task.id)}`);
    }),
    ...used.map(one => `  classDef ${one} ${fills[one]}`),
  ];
}

function nodeOf(id: string): string {
  return id.replace(/\W/g, "_");
}

/** Returns a node's text, with Mermaid's special characters as numeric entities. */
function textOf(task: TaskRow, handle: (id: string) => string): string {
  const who = task.status === "active" && task.assigneeName !== null ? ` (${clean(task.assigneeName)})` : "";
  const text = `${handle(task.id)}: ${cut(clean(task.description), titleColumns)}${who}`;
  return text.replace(/[^\p{L}\p{N} .,:!?'()/_…-]/gu, character => `#${character.codePointAt(0)};`);
}
