/** The chapters of the manual: `kite help TOPIC`, and a part of the manual page. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { dist } from "../version.ts";
import { wrap } from "../view/text.ts";

/** What each chapter is about, by topic. Its text stands in the file `TOPIC.md`, which the build copies. */
export const topics = {
  "in-my-way": "when Kite is in your way: what waits, and how to let it through",
  git: "git with several agents in one checkout",
  install: "what kite install writes, and for whom",
  clients: "Codex, OpenCode, Copilot, Gemini CLI, and agents without hooks",
  web: "the page in a browser, and the report of what Kite did",
  rescue: "what Kite keeps of the agents' work, and how to have it back",
  settings: "every setting, and what a project may set",
  leading: "tasks, declarations, roles, gates and debates",
  agents: "agents that Kite starts",
  health: "agents that are quiet or stalled",
  merging: "how finished branches are merged",
  checks: "a project's own checks",
  teams: "Claude Code's own teams",
  store: "more than one machine: what is shared through a PostgreSQL, and how",
  security: "what Kite stops, tells and does not see",
} as const;

export type Topic = keyof typeof topics;

/** Returns the chapter that a word asks for; null: there is none. `waiting` is an earlier name. */
export function topicOf(word: string): Topic | null {
  const name = word === "waiting" ? "in-my-way" : word;
  return isTopic(name) ? name : null;
}

export function isTopic(name: string): name is Topic {
  return Object.hasOwn(topics, name);
}

/** Returns a chapter as plain text, in lines of at most `columns`; only tables and examples may be wider. */
export function chapter(topic: Topic, columns: number): readonly string[] {
  return plainLines(readFileSync(join(dist, `${topic}.md`), "utf8"), columns);
}

/** Returns Markdown as plain text: paragraphs wrapped again, headings in capitals, examples indented. */
function plainLines(markdown: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let paragraph = "";
  let isExample = false;
  const end = () => {
    if (paragraph !== "") lines.push(...wrap(unmarked(paragraph), columns, /^- /.test(paragraph) ? 2 : 0));
    paragraph = "";
  };
  for (const line of markdown.trimEnd().split("\n")) {
    if (line.startsWith("```")) {
      end();
      isExample = !isExample;
    } else if (isExample) {
      lines.push(`  ${line}`.trimEnd());
    } else if (/^(?:#|\||$)/.test(line)) {
      end();
      if (!/^\| *-/.test(line))
        lines.push(line.startsWith("#") ? line.replace(/^#+ /, "").toUpperCase() : unmarked(line));
    } else {
      if (line.startsWith("- ")) end();
      paragraph = paragraph === "" ? line : `${paragraph} ${line.trim()}`;
    }
  }
  end();
  return lines;
}

/** Returns a line without marks of emphasis and addresses of links; what stands between backquotes stays. */
function unmarked(line: string): string {
  return line
    .split(/(`[^`]*`)/)
    .map((part, i) => (i % 2 === 1 ? part : withoutMarks(part)))
    .join("");
}

function withoutMarks(text: string): string {
  return text
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replace(/\*\*([^*]+)\*\*/g, "$1")
    .replace(/(?<![\w*])[*_]([^*_]+)[*_](?![\w*])/g, "$1");
}
