/** What an event says that the agent does, for a list of sessions: a file that it writes, a program that it runs. */
import { limits } from "../../protocol/limits.ts";
import type { Doing } from "../../protocol/schemas/session.ts";
import { type Event, inputText, isShell } from "./event.ts";

/**
 * Returns null for an event that says nothing of it; `file` is the file that the event is about, if it is about one. Of a
 * shell line this keeps the name of the first program only.
 */
export function doingOf(event: Event, file: string | null): Doing | null {
  const verbs = verbsOf(event);
  if (verbs === null) return null;
  const [ofFile, ofProgram] = verbs;
  if (file !== null) return { verb: ofFile, what: file };
  const program = isShell(event) ? programOf(inputText(event, "command") ?? "") : null;
  return program === null ? null : { verb: ofProgram, what: program };
}

/** Returns what the event says of a file, and of a program; null if it says nothing. */
function verbsOf({ step, raw }: Event): readonly [Doing["verb"], Doing["verb"]] | null {
  if (step === "before") return ["writes", "runs"];
  if (step === "after") return ["wrote", "ran"];
  if (step === null) return null;
  return raw["is_interrupt"] === true ? ["interrupted", "interrupted"] : ["failed", "failed"];
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
