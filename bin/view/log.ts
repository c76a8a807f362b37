/** Lines of the trail as text. */

import type { TrailLine } from "../../daemon/trail/line.ts";
import { trailReason } from "../refusal-text.ts";
import type { Worded } from "../tasks/numbering.ts";
import { actorIn, nobody } from "../trail/lock-history.ts";
import { paint, type Style } from "./color.ts";
import { projectRoot, tilde } from "./places.ts";
import { clean, clock, cut, pad, precise, type Screen, wrap } from "./text.ts";

const styles: Readonly<Record<TrailLine["decision"], Style>> = {
  allow: "green",
  deny: "red",
  wait: "blue",
  note: "dim",
  event: "dim",
};

const asIs: Worded = text => text;

/** The log omits shorter times, in milliseconds: every answer takes that long. */
const shownMs = 100;
/** Columns of an agent's name on a terminal. */
const nameColumns = 20;
/** Column at which a wrapped line continues. */
const indent = 10;

/** Returns one decision on a line of any length, without its time. */
export function logText(line: TrailLine, home: string, worded: Worded = asIs): string {
  const parts = [
    whoOf(line),
    whatOf(line),
    line.file === null ? "" : fileOf(line, home),
    worded(whyOf(line)),
    timeOf(line),
  ];
  return `${pad(line.decision, 8)}  ${parts.flatMap(part => clean(part) || []).join("  ")}`;
}

/** Returns one decision as lines: time, decision, agent, what it did, and the reason. */
export function logLines(line: TrailLine, screen: Screen, worded: Worded = asIs): string[] {
  const parts = [
    // In a pipe a line has any length, and grep finds the whole name.
    pad(Number.isFinite(screen.width) ? cut(whoOf(line), nameColumns) : whoOf(line), 16),
    pad(clean(whatOf(line)), 12),
    line.file === null ? "" : fileOf(line, screen.home),
    clean(worded(whyOf(line))),
    timeOf(line),
  ];
  const at = clock(line.at, screen.now);
  const text = `${at}  ${pad(line.decision, 5)}  ${parts.filter(part => part !== "").join("  ")}`;
  const [first = "", ...rest] = wrap(text.trimEnd(), screen.width, indent);
  const painted = first.replace(
    `  ${line.decision}`,
    `  ${paint(screen, styles[line.decision], line.decision)}`,
  );
  return [painted, ...rest];
}

function whoOf(line: TrailLine): string {
  const who = actorIn(line);
  return who === nobody ? "-" : clean(who);
}

/** The events whose names on the wire are not the words of people. */
const words: ReadonlyMap<string, string> = new Map([
  ["hold_began", "freeze"],
  ["hold_ended", "thaw"],
  ["resume", "thaw"],
  ["same_file_began", "same file"],
  ["same_file_ended", "same file"],
  ["store_changed", "store"],
  ["machine_changed", "store"],
  ["machine_refused", "store"],
]);

/** Returns an event or a request in words: `task claim`. */
export function eventWords(event: string): string {
  return words.get(event) ?? event.replaceAll("_", " ");
}

/** Returns the tool or the git command if there is one, because it says more than the hook's event. */
function whatOf({ event, type, decision }: TrailLine): string {
  if (decision === "event") return type === null ? event : `${event} ${type}`;
  const isTool = type !== null && (type.startsWith("git ") || event === "PreToolUse");
  return isTool ? type : eventWords(event);
}

/** Returns the reason as a sentence; the code alone is for programs. */
function whyOf(line: TrailLine): string {
  const why = trailReason(line) ?? (line.decision === "event" && line.rule === "write" ? "wrote it" : "");
  return [why, line.perhaps ?? ""].filter(part => part !== "").join(", ");
}

/** Returns how long it took, if that is worth a word. */
function timeOf({ decision, ms, waitedMs, heldMs }: TrailLine): string {
  if (heldMs !== undefined) return `held ${precise(heldMs)}`;
  if (decision === "event") return ms === undefined ? "" : `${ms} ms`;
  const took = waitedMs ?? ms ?? 0;
  return took >= shownMs ? `after ${precise(took)}` : "";
}

function fileOf(line: TrailLine, home: string): string {
  const file = line.file ?? "";
  const root = line.project === null ? "" : `${projectRoot(line.project)}/`;
  const inside = root !== "/" && root !== "" && file.startsWith(root) ? file.slice(root.length) : file;
  return clean(tilde(inside, home));
}
