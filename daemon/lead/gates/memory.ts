/** What gates told each agent. In memory only: after a restart an agent is told in full once more. */
import { createHash } from "node:crypto";
import type { GateFinding } from "../../../protocol/lead/roles.ts";
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import { type Actor, actorKey } from "../../core/frame/actors.ts";

interface ActorMemory {
  /** The findings that held the agent back last; null: none did. */
  readonly held: string | null;
  /** Sentences that it was warned with, the oldest first. */
  readonly warned: ReadonlySet<string>;
}

const nothing: ActorMemory = { held: null, warned: new Set() };

/** An agent is held back in full once, and again in short for the same findings; it is warned once of each finding. */
export class GateMemory {
  readonly #told = new BoundedMap<string, ActorMemory>({ entriesMax: limits.gatedActorsMax });

  /** Whether these findings are the ones that held the agent back last. */
  isHeldAgain(actor: Actor, findings: readonly GateFinding[]): boolean {
    return this.#of(actor).held === mark(JSON.stringify(findings));
  }

  /** An answer that held the agent back for these findings reached it. */
  held(actor: Actor, findings: readonly GateFinding[]): void {
    this.#told.set(actorKey(actor), { ...this.#of(actor), held: mark(JSON.stringify(findings)) });
  }

  /**
   * Returns the findings of which the agent was not warned yet. The same of another file is no other finding; `files` are the
   * names of the file that these are about.
   */
  unwarned(actor: Actor, findings: readonly GateFinding[], files: readonly string[]): GateFinding[] {
    const { warned } = this.#of(actor);
    return findings.flatMap(finding => {
      const missing = finding.missing.filter(sentence => !warned.has(markOf(finding, sentence, files)));
      return missing.length === 0 ? [] : [{ ...finding, missing }];
    });
  }

  /** An answer with these warnings reached the agent. */
  warned(actor: Actor, findings: readonly GateFinding[], files: readonly string[]): void {
    const told = this.#of(actor);
    const marks = findings.flatMap(finding => finding.missing.map(one => markOf(finding, one, files)));
    const warned = [...new Set([...told.warned, ...marks])].slice(-limits.gateWarningsMax);
    this.#told.set(actorKey(actor), { ...told, warned: new Set(warned) });
  }

  /** The agent no longer knows what it was told. */
  forget(actor: Actor): void {
    this.#told.delete(actorKey(actor));
  }

  #of(actor: Actor): ActorMemory {
    return this.#told.get(actorKey(actor)) ?? nothing;
  }
}

/** Names a sentence without the file that it is about. */
function markOf({ gate }: GateFinding, sentence: string, files: readonly string[]): string {
  return mark(`${gate} ${files.reduce((text, file) => text.replaceAll(file, ""), sentence)}`);
}

/** A short name of a text, so that the memory of an agent has a bound. */
function mark(text: string): string {
  return createHash("sha256").update(text).digest("base64").slice(0, 16);
}
