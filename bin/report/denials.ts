/** Which steps Kite denied, and what became of each. */
import { BoundedMap } from "../../daemon/bounded-map.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { keyIn } from "../trail/filter.ts";
import { isTaking } from "../trail/lock-history.ts";
import { ruleOf } from "../trail/stats.ts";
import type { Fate } from "./figures.ts";

/** Different denials that may still come to something; of more, the oldest stay open. */
const openMax = 20_000;
/** Agents whose steps are counted. */
const agentsMax = 10_000;

/** What an agent was denied and did not get since. */
interface Denied {
  readonly session: string | null;
  readonly agent: string;
  /** How often. */
  times: number;
  /** How many steps the agent had done when it was denied last. */
  steps: number;
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
  readonly #open = new BoundedMap<string, Denied>({
    entriesMax: openMax,
    onDelete: key => this.#forget(key),
  });
  /** Keys of open denials by the session that each begins with: a session's end looks at its own alone. */
  readonly #keys = new Map<string, Set<string>>();
  readonly #agents = new BoundedMap<string, { steps: number }>({ entriesMax: agentsMax });
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
    const counts = { ...this.#ended };
    for (const denied of this.#open.values()) if (this.#isLeft(denied)) counts.elsewhere += denied.times;
    const { got, elsewhere, gaveUp } = counts;
    // Those that were forgotten are open, too.
    return { ...counts, open: this.#count - got - elsewhere - gaveUp };
  }

  #deny(line: TrailLine): void {
    this.#count += 1;
    const agent = agentOf(line);
    const { steps } = this.#seen(agent);
    const key = `${agent}\n${subjectOf(line)}`;
    const denied = this.#open.get(key);
    if (denied === undefined) {
      this.#open.set(key, { session: line.id, agent, times: 1, steps });
      const keys = this.#keys.get(sessionOf(key));
      if (keys === undefined) this.#keys.set(sessionOf(key), new Set([key]));
      else keys.add(key);
    } else {
      denied.times += 1;
      denied.steps = steps;
    }
  }

  /** The agent took a file, wrote, or had a command let through. */
  #goOn(line: TrailLine): void {
    const agent = agentOf(line);
    this.#seen(agent).steps += 1;
    const key = `${agent}\n${subjectOf(line)}`;
    const denied = this.#open.get(key);
    if (denied === undefined) return;
    this.#ended.got += denied.times;
    this.#open.delete(key);
  }

  #end(session: string | null): void {
    for (const key of [...(this.#keys.get(session ?? "") ?? [])]) {
      const denied = this.#open.get(key);
      if (denied === undefined || denied.session !== session) continue;
      this.#ended[this.#isLeft(denied) ? "elsewhere" : "gaveUp"] += denied.times;
      this.#open.delete(key);
    }
  }

  #forget(key: string): void {
    const keys = this.#keys.get(sessionOf(key));
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(sessionOf(key));
  }

  #seen(agent: string): { steps: number } {
    const known = this.#agents.get(agent);
    if (known !== undefined) return known;
    const first = { steps: 0 };
    this.#agents.set(agent, first);
    return first;
  }

  /** Whether the agent did something else after the denial. */
  #isLeft({ agent, steps }: Denied): boolean {
    return (this.#agents.get(agent)?.steps ?? 0) > steps;
  }
}

function isStep(line: TrailLine): boolean {
  if (isTaking(line)) return true;
  if (line.decision === "event") return line.rule === "write";
  const rule = ruleOf(line);
  return line.decision === "allow" && !isRequest(line) && (rule === "guard" || rule === "ignore");
}

/** What tells what was denied from other things that an agent does: the file; of the guard, the command. */
function subjectOf(line: TrailLine): string {
  // What stopped a command until its files are kept lets it pass when it is sent again.
  if (ruleOf(line) === "guard" || (ruleOf(line) === "rescue" && line.decision === "deny"))
    return `command ${line.type}`;
  return keyIn(line) ?? line.task ?? `${line.event} ${line.type}`;
}

/** Returns what the key of a denial begins with: the session's id, or the name of who has none. */
function sessionOf(key: string): string {
  return key.slice(0, key.indexOf("\n"));
}

function agentOf({ id, agent, name }: TrailLine): string {
  return `${id ?? name}\n${agent ?? ""}`;
}
