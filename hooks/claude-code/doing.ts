/** What an event says that the agent does, for a list of sessions: a file that it writes, a program that it runs. */
import { limits } from "../../protocol/limits.ts";
import type { Doing } from "../../protocol/session.ts";
import { type Event, inputPath, inputText } from "./payload.ts";
import { writes } from "./rows/tool.ts";

/** Returns null for an event that says nothing of it. Of a shell line it keeps the name of the first program only. */
export function doingOf(event: Event): Doing | null {
  const begins = event.name === "PreToolUse";
  if (!begins && event.name !== "PostToolUse") return null;
  const tool = event.tool ?? "";
  const input = writes.get(tool);
  const file = input === undefined ? null : inputPath(event, input);
  if (file !== null) return { verb: begins ? "writes" : "wrote", what: file };
  const program = tool === "Bash" ? programOf(inputText(event, "command") ?? "") : null;
  return program === null ? null : { verb: begins ? "runs" : "ran", what: program };
}

/** Returns the first program of a shell line, behind changes of the directory and variables. */
function programOf(line: string): string | null {
  for (const part of line.slice(0, limits.typedChars).split(/&&|\|\||[;|\n]/)) {
    const word = part
      .trim()
      .split(/\s+/)
      .find(one => !/^\w+=/.test(one));
    if (word === undefined || word === "" || word === "cd") continue;
    const name = word.slice(word.lastIndexOf("/") + 1);
    return /^[\w.+-]+$/.test(name) ? name.slice(0, limits.sayableChars) : null;
  }
  return null;
}
