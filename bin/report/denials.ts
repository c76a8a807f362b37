/** Which steps Kite denied, and what became of each. */
import { BoundedMap } from "../../daemon/bounded-map.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { keyIn } from "../trail/filter.ts";
import { isTaking } from "../trail/lock-history.ts";
import { ruleOf } from "../trail/stats.ts";
import type { Fate } from "./figures.ts";

/** Agents whose denials may still come to something; of more, those denied longest ago stay open. */
const agentsMax = 10_000;
/** Different things that one agent was denied. */
const subjectsMax = 100;

/** What an agent was denied and did not get since. */
interface Denied {
  readonly session: string | null;
  /** How often, by what was denied. */
  readonly subjects: Map<string, number>;
  /** Those after which the agent did something else. */
  left: Set<string>;
}

/** Whether the line is a request of an agent or a person, and not an event of a client's hook. */
export function isRequest({ event }: TrailLine): boolean {
  return /^[a-z]+(?:_[a-z]+)*$/.test(event);
}

/**
 * Whether Kite denied a step: an edit, a shell line, a lock, or what a gate forbids. A request that was wrong, or came too early as a
 * claim without a ready task, is none.
 */
export function isDenial(line: TrailLine): boolean {
  if (line.decision !== "deny" || line.event === "file_unlock") return false;
  if (!isRequest(line) || line.event === "file_lock") return true;
  return line.event.startsWith("task_") && ruleOf(line) !== "task";
}

/** Follows denials to what became of them. One that the same agent gets again and again has one fate. */
export class DenialFates {
  readonly #open = new BoundedMap<string, Denied>({ entriesMax: agentsMax });
  readonly #ended = { got: 0, elsewhere: 0, gaveUp: 0 };
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Takes the next line, whether or not it is a denial. */
  add(line: TrailLine): void {
    if (line.event === "SessionEnd" || line.event === "session_ended") this.#end(line.id);
    else if (isDenial(line)) this.#deny(line);
    else if (isStep(line)) this.#goOn(line);
  }

  get counts(): Readonly<Record<Fate, number>> {
    const counts = { ...this.#ended, open: 0 };
    for (const denied of this.#open.values()) settle(counts, denied, "open");
    const { got, elsewhere, gaveUp } = counts;
    // Those that were forgotten are open, too.
    return { ...counts, open: this.#count - got - elsewhere - gaveUp };
  }

  #deny(line: TrailLine): void {
    this.#count += 1;
    const key = agentOf(line);
    const denied: Denied = this.#open.get(key) ?? { session: line.id, subjects: new Map(), left: new Set() };
    this.#open.set(key, denied);
    const subject = subjectOf(line);
    if (denied.subjects.has(subject) || denied.subjects.size < subjectsMax)
      denied.subjects.set(subject, (denied.subjects.get(subject) ?? 0) + 1);
    denied.left.delete(subject);
  }

  /** The agent took a file, wrote, or had a command let through. */
  #goOn(line: TrailLine): void {
    const denied = this.#open.get(agentOf(line));
    if (denied === undefined) return;
    const subject = subjectOf(line);
    const times = denied.subjects.get(subject);
    if (times !== undefined) {
      this.#ended.got += times;
      denied.subjects.delete(subject);
      denied.left.delete(subject);
    }
    denied.left = new Set(denied.subjects.keys());
  }

  #end(session: string | null): void {
    for (const [key, denied] of [...this.#open.entries()]) {
      if (denied.session !== session) continue;
      settle(this.#ended, denied, "gaveUp");
      this.#open.delete(key);
    }
  }
}

function settle<F extends Fate>(
  counts: Record<F | "elsewhere", number>,
  { subjects, left }: Denied,
  otherwise: F,
): void {
  for (const [subject, times] of subjects) counts[left.has(subject) ? "elsewhere" : otherwise] += times;
}

function isStep(line: TrailLine): boolean {
  if (isTaking(line)) return true;
  if (line.decision === "event") return line.rule === "write";
  const rule = ruleOf(line);
  return line.decision === "allow" && !isRequest(line) && (rule === "guard" || rule === "ignore");
}

/** What tells what was denied from other things that an agent does: the file; of the guard, the command. */
function subjectOf(line: TrailLine): string {
  if (ruleOf(line) === "guard") return `command ${line.type}`;
  return keyIn(line) ?? line.task ?? `${line.event} ${line.type}`;
}

function agentOf({ id, agent, name }: TrailLine): string {
  return `${id ?? name}\n${agent ?? ""}`;
}
