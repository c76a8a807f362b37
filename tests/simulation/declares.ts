/**
 * What simulated agents declare, and agents that do what the gates tell them: whatever was declared before, by whom and
 * in which order, one declaration with all that the gates ask for lets its agent write.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { beforeCompletion, beforeWrite } from "../../daemon/core/lead/gates.ts";
import { roleOf } from "../../daemon/core/lead/roles.ts";
import type { State } from "../../daemon/core/state.ts";
import type { CommandOf, Entry, Step } from "../../daemon/core/tables/entries.ts";
import { gatePresets } from "../../protocol/lead/roles.ts";
import { ancestorsOf } from "./families.ts";
import type { Random } from "./random.ts";

const files = ["a", "b", "src/d", "src/"] as const;
const questions = ["is it called twice?", "who owns it?"] as const;
const texts = ["", "TODO", "...", "add", "cut"] as const;

type Declare = CommandOf<"declare">;

export class DeclareLives {
  readonly #random: Random;
  /** The commands of agents that follow the gates, each with the file to write. */
  readonly #following = new Map<string, string>();

  /** `random` is of its own, so that all else happens as it would without declarations. */
  constructor(random: Random) {
    this.#random = random;
  }

  /** The next declaration, or null if nobody declares anything now. */
  next(state: State, sessions: readonly string[]): Declare | null {
    const random = this.#random;
    if (!random.chance(0.04)) return null;
    const agent = random.pick([null, null, "child", "mate"]);
    const actor = { session: random.pick(sessions), agent, incarnation: 0 };
    if (random.chance(0.3)) return this.#follow(state, actor);
    const evidence = random.pick(["", "a test"]);
    const uncertainty = { question: random.pick(questions), evidence, resolved: random.chance(0.5) };
    return {
      ...plain(actor),
      anew: random.chance(0.1),
      role: random.pick(["lead", "tester", "?"]),
      task: random.pick(texts),
      plan: [random.pick(texts)],
      files: files.filter(() => random.chance(0.3)).map(file => this.#viewed(file)),
      uncertainties: random.chance(0.3) ? [uncertainty] : [],
    };
  }

  /** Everything that is wrong after an entry. */
  *observe(state: State, { command }: Entry, { reply, events }: Step): Generator<string, void> {
    if (command.type === "agent_end") this.#forget(actor => sameAgent(actor, command.actor));
    for (const { event } of events)
      if (event.event === "session_ended") this.#forget(({ session }) => session === event.id);
    // The gates would have told those that follow them something else, now that another role counts.
    if (command.type === "role_set" && reply?.ok) this.#following.clear();
    if (command.type !== "declare" || reply === null || !reply.ok) return;
    const target = this.#following.get(JSON.stringify(command));
    // What was declared for the same agent in between, the others that follow did not know.
    this.#forget(actor => sameAgent(actor, command.actor));
    const declaration = state.declarations.live.get(keyOf(command.actor));
    if (declaration === undefined) {
      yield `${nameOf(command.actor)} declared something, and nothing is there`;
      return;
    }
    const missing: unknown = reply["missing"];
    const isAll = Array.isArray(missing) && missing.length === 0;
    const { understanding } = gatePresets.strict;
    const done = beforeCompletion(gatePresets.strict, {
      declaration,
      checks: [],
      worktree: "/",
      unseen: null,
      checksChanged: false,
      openDebate: null,
    });
    const said = done.flatMap(found => found.missing).some(sentence => sentence.startsWith("understanding"));
    if (isAll && understanding === "enforce" && said)
      yield `${nameOf(command.actor)} was told that nothing is missing, and is not done for its understanding`;
    if (target === undefined) return;
    // Its role may have been given to it since.
    const isGiven = roleOf(state, command.actor).by !== "declared";
    const left = isGiven ? [] : ask(state, command.actor, target);
    if (left.length > 0)
      yield `${nameOf(command.actor)} did what the gates told it, and they hold it back: ${left}`;
  }

  /** A life has ended: what agents declared just before may be gone with it. */
  restarted(): void {
    this.#following.clear();
  }

  #forget(isOf: (actor: Actor) => boolean): void {
    for (const one of this.#following.keys()) if (isOf(JSON.parse(one).actor)) this.#following.delete(one);
  }

  /** Supplies all that the gates ask for before a write, and nothing else. */
  #follow(state: State, actor: Actor): Declare | null {
    const target = this.#random.pick(["a", "b", "src/d"]);
    const supplied: { -readonly [K in keyof Declare]?: Declare[K] } = {};
    for (const sentence of ask(state, actor, target)) {
      if (sentence.startsWith("identity.role")) supplied.role = "coder";
      // The role that a person gave stays: then the change is another agent's.
      else if (sentence.startsWith("role: ") && !sentence.includes("declare another")) return null;
      else if (sentence.startsWith("role: ")) supplied.role = "coder";
      else if (sentence.startsWith("understanding.task")) supplied.task = "paging";
      else if (sentence.startsWith("understanding.confidence")) supplied.confidence = 0.5;
      else if (sentence.startsWith("understanding.reason")) supplied.reason = "read it";
      else if (sentence.startsWith("understanding.plan")) supplied.plan = ["test"];
      else if (sentence.startsWith("codeView"))
        supplied.files = [{ ref: refOf(target), sees: "a list", will: "pages" }];
      else throw new Error(`nobody can follow: ${sentence}`);
    }
    const command = { ...plain(actor), ...supplied };
    this.#following.set(JSON.stringify(command), target);
    return command;
  }

  #viewed(file: string): Declare["files"][number] {
    const ref = refOf(file);
    return this.#random.chance(0.1) ? { ref, drop: true } : { ref, will: this.#random.pick(texts) };
  }
}

function sameAgent(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent;
}

/** What the gates ask for before this agent writes the file. */
function ask(state: State, actor: Actor, target: string): string[] {
  const declaration = state.declarations.live.get(keyOf(actor));
  const file = { key: refOf(target).key, path: target, isCode: true, isTest: false };
  const role = { ...roleOf(state, actor), name: nameOf(actor), others: [] };
  const found = beforeWrite(gatePresets.strict, { declaration, lead: null, role, file });
  return found.flatMap(({ missing }) => missing);
}

function plain(actor: Actor): Declare {
  const ancestors = ancestorsOf(actor.agent);
  return { type: "declare", actor, ancestors, anew: false, files: [], uncertainties: [], wallMs: 0 };
}

function refOf(file: string) {
  const path = `/p/${file}`.replace(/\/$/, "");
  return { file, lexical: path, key: `local:${path}`, dir: file.endsWith("/") };
}

function keyOf({ session, agent }: Actor): string {
  return agent === null ? session : `${session}\n${agent}`;
}

function nameOf({ session, agent }: Actor): string {
  return agent === null ? session : `${session}/${agent}`;
}
