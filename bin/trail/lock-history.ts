/** Which agent holds which file, as far as the trail tells. */

import { BoundedMap } from "../../daemon/bounded-map.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { isCommandsSession, personName, personOnWire } from "../../protocol/names.ts";
import { keyIn } from "./filter.ts";

/** Files whose holders are kept; of more, the longest untouched are forgotten. */
const filesMax = 10_000;

/** An agent that took a file, and when: wall time in milliseconds. */
export interface Taken {
  /** Absolute; of a resource its key. */
  readonly file: string;
  readonly who: string;
  readonly session: string | null;
  readonly project: string | null;
  readonly at: number;
}

/** The name in a line that names no agent. */
export const nobody = "somebody";

/** Returns the agent's name. Lines of earlier versions may lack the agent's part. */
export function actorIn({ name, id, agent }: TrailLine): string {
  const who = isPersons({ name, id }) ? personName() : (name ?? id?.slice(0, 8) ?? nobody);
  return agent === null || who.includes("/") ? who : `${who}/${agent.slice(0, 8)}`;
}

/** Whether it is the person's line: of no session, or of a command at a terminal that had ended. */
export function isPersons({ name, id }: Pick<TrailLine, "name" | "id">): boolean {
  return name === personOnWire || id === "" || (id !== null && isCommandsSession(id));
}

/** Follows the trail's lines. A file has one holder; a session's end releases all that it held. */
export class LockHistory {
  readonly #taken = new BoundedMap<string, Taken>({ entriesMax: filesMax });

  /** The holders of files that `isMeant` selects, the longest first. */
  holders(isMeant: (taken: Taken) => boolean): readonly Taken[] {
    return [...this.#taken.values()].filter(isMeant).sort((a, b) => a.at - b.at);
  }

  /** The file's holder, if that is not `who`. */
  otherHolder(file: string, who: string): Taken | null {
    const taken = this.#taken.get(file);
    return taken === undefined || taken.who === who ? null : taken;
  }

  add(line: TrailLine): void {
    if (line.event === "SessionEnd" || line.event === "session_ended") {
      for (const { file } of this.holders(taken => taken.session === line.id)) this.#taken.delete(file);
      return;
    }
    const file = keyIn(line);
    if (file === null) return;
    const who = actorIn(line);
    const isRelease = line.event === "lock_released" || line.event === "file_unlock";
    const before = this.#taken.get(file);
    if (isRelease && line.decision !== "deny") {
      if (before?.who === who) this.#taken.delete(file);
    } else if (isTaking(line)) {
      // A lock that its holder asks for again is as old as it was.
      const at = before?.who === who ? before.at : line.at;
      this.#taken.set(file, { file, who, session: line.id, project: line.project, at });
    }
  }
}

/** Whether the line gives its actor a file. */
export function isTaking({ event, decision, rule, type }: TrailLine): boolean {
  if (event === "lock_granted") return true;
  if (decision !== "allow" || event === "file_unlock" || type?.startsWith("git ") === true) return false;
  // Lines of earlier versions have no rule.
  return rule === "lock" || (rule === undefined && (event === "file_lock" || event === "PreToolUse"));
}
