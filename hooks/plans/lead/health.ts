/** What an agent is told of the health of agents that it leads, and of its own. */

import { limits } from "../../../protocol/limits.ts";
import { personName, personOnWire } from "../../../protocol/names.ts";
import { duration, frame, quote } from "../../../protocol/text.ts";
import type { HealthNote } from "../../seam/lead/notices.ts";
import { howToWrite, type Reader } from "../answers/reader.ts";

export function healthText(notes: readonly HealthNote[], reader: Pick<Reader, "isTeammate">): string {
  return [`Kite: ${headline(notes)}.`, frame, ...notes.map(note => line(note, reader))].join("\n");
}

function headline(notes: readonly HealthNote[]): string {
  const has = (wanted: HealthNote["what"]) => notes.some(({ what }) => what === wanted);
  const all = [
    has("stalled") ? "an agent that you lead gives no sign of life" : null,
    has("back") ? "an agent that you lead is back" : null,
    has("ended") ? "an agent that you lead has ended" : null,
    has("released") ? "what you had was given back" : null,
    has("asked") ? "nothing was heard of you for long" : null,
  ];
  return all.filter(text => text !== null).join("; ");
}

function line(note: HealthNote, reader: Pick<Reader, "isTeammate">): string {
  const who = note.name === personOnWire ? personName("agent") : quote(note.name, limits.nameBytes);
  if (note.what === "back") return `- ${who} gave a sign of life: what you were told of it no longer holds.`;
  if (note.what === "ended") return `- ${who} has ended: what you were told of it no longer holds.`;
  if (note.what === "released") return `- ${who} gave back ${hadText(note)}: ${againText(note)}.`;
  if (note.what === "asked")
    return `- you gave no sign for ${duration(note.forMs)}: if you are stuck or wait for someone, say so (${howToWrite(reader)}), and release what you will not finish (kite task release).`;
  return `- ${who} ${stalledText(note)}; it has ${hadText(note)}. Ask it or look at it; to give back what it has: kite release ${who}${note.spawned ? `; to resume it, or put another agent in its place: kite agents replace ${who}` : ""}`;
}

/** Returns what the agent has to do before it goes on; a task that it has still needs no claim. */
function againText({ tasks, locks }: HealthNote): string {
  const parts = [
    tasks.length === 0 ? "" : "claim a task anew before you go on with it",
    locks === 0 && tasks.length > 0 ? "" : "read files again before you edit them",
  ];
  return parts.filter(part => part !== "").join(", and ");
}

function stalledText({ state, forMs }: HealthNote): string {
  if (state === "stopped") return `is stopped by a signal for ${duration(forMs)}`;
  return `has given no sign of life for ${duration(forMs)}`;
}

function hadText({ tasks, taskNumbers, locks }: HealthNote): string {
  const named = taskNumbers.map(number => `#${number}`).join(", ");
  const parts = [
    tasks.length === 0 ? "" : `the ${tasks.length === 1 ? "task" : "tasks"} ${named}`,
    locks === 0 ? "" : `${locks} ${locks === 1 ? "lock" : "locks"}`,
  ].filter(part => part !== "");
  return parts.length === 0 ? "no task and no lock" : parts.join(" and ");
}
