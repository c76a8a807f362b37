/** What happened, as sentences. */
import { trailReason } from "../refusal-text.ts";
import type { Explained } from "../trail/explained.ts";
import { nobody } from "../trail/lock-history.ts";
import { eventWords } from "./log.ts";
import { projectRoot, tilde } from "./places.ts";
import { clean, clock, counted, precise, type Screen, wrap } from "./text.ts";

/** Shorter times, in milliseconds, are only the time of an answer. */
const noticedMs = 100;

/**
 * Returns the sentence with its time in front, wrapped to the width. `it`: what the sentence calls a task; without it,
 * its id, for which `worded` puts its number.
 */
export function explainLines(
  one: Explained,
  screen: Screen,
  it?: string,
  worded: (text: string) => string = text => text,
): string[] {
  return wrap(`${clock(one.at, screen.now)}  ${worded(sentence(one, screen, it))}`, screen.width, 10);
}

/** Returns the sentence of one thing that happened, on a line of any length. */
export function sentence(one: Explained, screen: Screen, it?: string): string {
  const who = clean(one.who);
  const file = one.file === null ? "" : fileName(one.file, one.project, screen.home);
  const command = one.command === null ? null : `\`${clean(one.command)}\``;
  const waited = one.waitedMs >= noticedMs ? ` after ${precise(one.waitedMs)}` : "";
  const reason = reasonOf(one);
  const why = reason === null ? "" : `: ${clean(reason)}`;
  const again =
    one.again === 0 ? "" : `, and again ${counted(one.again, "time")} until ${clock(one.until, screen.now)}`;
  switch (one.what) {
    case "took":
      return `${who} took ${file} at once${again}.`;
    case "waits":
      return ended(`${who} began to wait for ${file}${again}${why}`);
    case "waited":
      return `${who} waited ${precise(one.waitedMs)} for ${file}, then had it.${earlier(one, screen)}`;
    case "denied":
      return `${who} was denied ${command ?? file}${waited}${again}${ended(why)}${earlier(one, screen)}`;
    case "released":
      return releaseOf(one, who, file, again);
    case "not_released":
      return `${who} could not release ${file}${again}${ended(why)}`;
    case "began":
      return `${who}'s session began${again}.`;
    case "ended":
      return `${who}'s session ended${why === "" ? "" : ` (${clean(one.why ?? "")})`}.`;
    case "task":
      return taskSentence(one, who, why, it);
    case "noted":
      if (one.event === "lock_granted" && one.waitedMs >= noticedMs)
        return `${who} waited ${precise(one.waitedMs)} for ${file}, then ${ended(clean(reason ?? "had it"))}${earlier(one, screen)}`;
      if (command !== null) return `${who} ran ${command}${waited}${again}${ended(why)}`;
      if (file === "" && why === "") return `${who}: ${clean(eventWords(one.event))}${again}.`;
      return `${[one.who === nobody ? "" : who, file].filter(part => part !== "").join(", ")}${again}${ended(why)}`;
  }
}

/** A lock's end; an unlock needs no reason. */
function releaseOf({ heldMs, type, why }: Explained, who: string, file: string, again: string): string {
  const held = heldMs === null ? "" : ` after ${precise(heldMs)}`;
  if (why === null || type === "unlocked") return `${who} released ${file}${held}${again}.`;
  return `${who}'s lock on ${file} ended${held}${again}${ended(`: ${clean(why)}`)}`;
}

/** What was done to a task, `%`, and what could not be; one without a `%` has the task behind it. */
const taskVerbs: ReadonlyMap<string, readonly [did: string, could: string]> = new Map([
  ["task_create", ["created", "create"]],
  ["task_import", ["imported", "import"]],
  ["task_claim", ["claimed", "claim"]],
  ["task_claimed", ["claimed", "claim"]],
  ["task_release", ["gave % back", "give % back"]],
  ["task_remove", ["removed", "remove"]],
  ["active", ["began", "begin"]],
  ["done", ["finished", "finish"]],
  ["failed", ["gave % up as failed", "fail"]],
  ["pending", ["made % pending again", "make % pending"]],
]);

/** The reason in words; who had the file is left out where the sentence says it. */
function reasonOf({ code, why, before, holder }: Explained): string | null {
  return trailReason({ code, why, holder: before === null ? holder : null });
}

function taskSentence(one: Explained, who: string, reason: string, it?: string): string {
  const { event, type, task, why, isRefused } = one;
  const named = it ?? (task === null ? tasksIn(why) : clean(task));
  const [did, could] = taskVerbs.get(type ?? "") ?? taskVerbs.get(event) ?? ["changed", "change"];
  const said = (verb: string) => (verb.includes("%") ? verb.replace("%", () => named) : `${verb} ${named}`);
  if (isRefused) return `${who} could not ${said(could)}${ended(reason)}`;
  // The end of a claim that nobody asked for.
  if (event === "task_released" || event === "task_failed")
    return ended(`${who} lost ${named}: ${clean(why ?? "")}`);
  return `${who} ${said(did)}.`;
}

/** The tasks that a line of several lists with their status. */
function tasksIn(why: string | null): string {
  return why === null || why === "" ? "tasks" : clean(why);
}

function earlier({ before }: Explained, screen: Screen): string {
  return before === null ? "" : ` ${clean(before.who)} had taken it at ${clock(before.at, screen.now)}.`;
}

/** `text` with a full stop. */
export function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Returns a file's name for people: inside its project, else from the home directory. */
export function fileName(file: string, project: string | null, home: string): string {
  const root = project?.startsWith("/") === true ? `${projectRoot(project)}/` : "";
  return clean(root !== "" && file.startsWith(root) ? file.slice(root.length) : tilde(file, home));
}
